"""TDY004: a recording of one step."""

from __future__ import annotations

from collections.abc import Sequence

from tidy.finding import NotApplicable, Obstacle, Severity
from tidy.trace import Capability, Event, Trace

from ..base import Matches, Pattern, remark
from ..examples import Abstains, Fires, Quiet, steps


class SingleStep(Pattern):
    """Only one step was recorded, and nothing tells whether others are like it.

    What it does: It reports recordings in which a single step is marked.
    Why it costs: One step may be an exception, and no other tells. What goes on from step to step
    (waits, allocations, growing memory) looks as if it happened once, and rules about that find
    nothing.
    Example: `schedule(wait=0, warmup=0, active=1)`, recorded as

        ProfilerStep#0      and no other

    Instead: Record five steps or so, `schedule(wait=2, warmup=1, active=5)`. Where `tidy run` has
    ended early since the recording had grown large, give it a greater `--max-size`.
    Cannot see: It does not know how long the run was.
    """

    code = "TDY004"
    severity = Severity.INFO
    needs = frozenset[Capability]()
    fix = "record more: schedule(wait=2, warmup=1, active=5)"
    why_no_edit = "it is about the recording, not the run"
    examples = (
        Fires("one", steps("aten::mm", count=1)),
        Fires("by-tidy-run", "# tidy_notes []\n" + steps("aten::mm", count=1)),
        Quiet("two", steps("aten::mm", count=2)),
        Abstains("not-marked", "aten::mm"),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        return None if trace.steps else NotApplicable("no steps are marked")

    def find(self, trace: Trace) -> Matches:
        if len(trace.steps) != 1:
            return
        first = next(iter(trace.within(trace.steps[0].start_ns, trace.steps[0].end_ns)))
        what = "one step was recorded: what happens in each step looks as if it happened once"
        yield remark([first], what)

    def fix_of(self, events: Sequence[Event]) -> str:
        is_by_tidy = "tidy_notes" in events[0].trace.info.header
        return "record more steps: `tidy run` has --max-size, --seconds" if is_by_tidy else self.fix
