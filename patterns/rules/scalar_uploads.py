"""TDY304: numbers of Python that go to the GPU one by one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tidy.account.device_work import launching_ops
from tidy.finding import Finding, Obstacle
from tidy.replay import Edit
from tidy.trace import Capability, Event, Trace

from ..base import DevicePattern
from ..evidence import copies, edits, launches, loops, obstacles, places, timing
from ..examples import AT, FRAME, Abstains, Fires, Quiet, copy, joined, on_gpu, steps, under
from ..option import Option, warning_share

_MADE = re.compile(r"<built-in (method|function) (tensor|as_tensor|scalar_tensor)\b")
_MOVED = re.compile(r"<built-in (method|function) (to|cuda)\b")
# What torch.tensor() calls on its result.
_FRESH = frozenset({"aten::lift_fresh", "aten::detach_"})

_TENSOR = "<built-in method tensor of type object>"
_TO = copy("HtoD (Pageable -> Device) 1us 4B", op="aten::to 10us > aten::_to_copy > aten::copy_")
_MADE_ONE = under(_TENSOR, _TO)
_FRESH_ONE = under(_TENSOR, _TO, "aten::lift_fresh")
_MADE_THEN_MOVED = joined(
    under(f"{_TENSOR} > aten::lift_fresh"), under("<built-in method to of Tensor object>", _TO)
)


class ScalarUploads(DevicePattern):
    """Numbers of Python are made tensors on the GPU one by one, a copy and a wait for each.

    What it does: It finds copies of 64 bytes or less that `torch.tensor()` makes, from three at one
    place of the source in each of two steps.
    Why it costs: There are several calls on the host for each number, and the copy is from pageable
    memory, so that the host waits for it.
    Example: `scale = torch.tensor(0.5, device="cuda")` in the loop, recorded as

        <built-in method tensor of type ...>
          aten::to
            aten::copy_
              cudaMemcpyAsync => Memcpy HtoD      64 bytes or less
              cudaStreamSynchronize
          aten::lift_fresh

    Instead: Leave them Python numbers (an op takes those as arguments, without a copy), make them
    once before the loop, or send them together in one tensor.
    Cannot see: It misses runs without Python stacks, and numbers that become tensors on the CPU
    somewhere else and are moved later.
    """

    code = "TDY304"
    needs = frozenset({Capability.OPS, Capability.DEVICE})
    fix = "keep them Python numbers, or make one tensor of them before the loop"
    most_nbytes = Option(64, "more is no number of Python but a tensor", least=1)
    fewest_a_step = Option(
        3,
        "one or two numbers a step are what a loss and its scale take",
        least=1,
    )
    warning_from = warning_share(timing.WORTH_A_WARNING)
    examples = (
        Fires(
            "three-a-step",
            on_gpu(
                under(f"ProfilerStep#1 200us > {FRAME}", _FRESH_ONE, _MADE_ONE, _MADE_ONE),
                under(f"ProfilerStep#2 200us > {FRAME}", _MADE_ONE, _MADE_THEN_MOVED, _MADE_ONE),
            ),
            events=6,
            at=AT,
        ),
        Quiet("one-a-step", on_gpu(steps(_MADE_ONE, count=2, lasts_us=200), frame=FRAME)),
        Abstains("no-stacks", on_gpu(_TO * 6)),
        Abstains("cpu-run", "aten::to\n  aten::copy_"),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        wanted = (Capability.STACKS, Capability.STEPS)
        missing = [each for each in wanted if each not in trace.capabilities]
        may_be_many = missing and self._may_be_many(trace)
        return obstacles.not_recorded(*missing) if may_be_many else None

    def check(self, trace: Trace) -> Iterable[Finding]:
        of_python = (op for op in _small_uploads(trace, self.most_nbytes) if _is_of_python(op))
        known = [op for op in of_python if op.location is not None]
        for same in places.grouped(known, lambda op: op.location):
            often = _often(trace, same, self.fewest_a_step)
            for events in places.by_window(same) if len(often) >= loops.FEWEST_STEPS else ():
                message = f"Python numbers go to the GPU one by one, up to {max(often)} a step"
                yield self.report(
                    trace,
                    events,
                    message=message,
                    warning_from=self.warning_from,
                )

    def edit(self, trace: Trace, events: Sequence[Event]) -> Edit:
        """Ops take numbers without a copy; one tensor of all of them is a copy for many."""
        return edits.without_ops(trace, events, "kept as numbers of Python", (0.0, 0.3))

    def _may_be_many(self, trace: Trace) -> bool:
        """Whether there is something to report if all these copies are of one place."""
        events = list(_small_uploads(trace, self.most_nbytes))
        if not trace.steps:
            return len(events) >= self.fewest_a_step * loops.FEWEST_STEPS
        return len(_often(trace, events, self.fewest_a_step)) >= loops.FEWEST_STEPS


def _often(trace: Trace, events: list[Event], fewest: int) -> list[int]:
    """How many of the events are in each step, for steps that have enough of them."""
    steps_of_events = loops.step_of(trace, [event.start_ns for event in events]).tolist()
    counts = Counter(step for step in steps_of_events if step >= 0)
    return [count for count in counts.values() if count >= fewest]


def _small_uploads(trace: Trace, most_nbytes: int) -> Iterator[Event]:
    """The outermost op around each small copy to a device."""
    rows = copies.copy_rows(trace, "HtoD")
    for row, op in zip(rows.tolist(), launching_ops(trace, rows).tolist(), strict=True):
        if op >= 0 and 0 < copies.nbytes_of(trace.event(row), trace.event(op)) <= most_nbytes:
            yield launches.outermost_op(trace.event(op))


def _is_of_python(op: Event) -> bool:
    """Whether torch.tensor() makes the copy, or has made what is copied right before.

    What an op copies that indexes with a tensor on the CPU is its index.
    """
    if op.name in copies.LOOK_UP_INSIDE:
        return False
    above, after = op.parent, op.next_sibling
    if (above is not None and _MADE.match(above.name)) or (
        after and after.name == "aten::lift_fresh"
    ):
        return True
    before = op.previous_sibling
    if before is None and above is not None and _MOVED.match(above.name):
        before = above.previous_sibling
    return before is not None and (bool(_MADE.match(before.name)) or before.name in _FRESH)
