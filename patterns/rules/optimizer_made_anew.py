"""TDY606: an optimizer that is made anew for each step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tidy.finding import Severity
from tidy.savings import Edit
from tidy.trace import Capability, Event, Location, Trace, rows_of

from ..base import Match, Matches, Pattern
from ..evidence.device import launches
from ..evidence.device.updates import STEP
from ..evidence.fixes import edits
from ..evidence.python import loops, places
from ..examples import AT, FRAME, Abstains, Fires, Quiet, steps, under
from ..option import Option

# What every optimizer calls as it is made.
_MADE = re.compile(r"(.*/)?(torch|tidy/runtime)/optim/optimizer\.py\(\d+\): __init__")
_STEP = re.compile(r"Optimizer\.step#(\w+)\.step")
# They keep averages or sums of all gradients so far.
_KEEPS_STATE = frozenset(
    "Adadelta Adafactor Adagrad Adam Adamax AdamW ASGD Muon NAdam RAdam RMSprop Rprop"
    " SparseAdam".split()
)

_INIT = "torch/optim/optimizer.py(336): __init__ 30us"
_ANEW, _SGD = f"{_INIT}\nOptimizer.step#Adam.step 90us", "Optimizer.step#SGD.step 90us"


class OptimizerMadeAnew(Pattern):
    """An optimizer is made in each round of the loop, and makes one step.

    What it does: It finds optimizers that are made at one line in three steps or more, and make one
    step each. It is info where little time is saved, and for those that keep no state.
    Why it costs: The state is lost with the optimizer. Adam begins each time with no average of
    gradients, so that each step has the length of its very first one, whatever the gradients are;
    momentum has no effect. What the state takes is allocated anew for each parameter.
    Example: `optimizer = torch.optim.Adam(model.parameters())` within the loop, recorded as

        torch/optim/optimizer.py(...): __init__         in each step
        Optimizer.step#Adam.step

    Instead: Make it once, before the loop.
    Cannot see: It needs Python stacks. It cannot tell whether SGD has momentum, nor whether the
    model is new as well, as where one step is made for each task: then nothing is lost. LBFGS,
    which makes many steps in one, is left alone.
    """

    code = "TDY606"
    severity = Severity.INFO
    needs = frozenset({Capability.STACKS})
    fix = "make it once, before the loop"
    fewest_steps = Option(3, "in fewer steps it may be made for each phase of a training", least=2)
    examples = (
        Fires("in-the-loop", steps(under(FRAME, _ANEW)), events=3, at=AT),
        Fires(
            "without-a-state",
            steps(under(FRAME, f"{_INIT}\n{_SGD}")),
            events=3,
            at=AT,
        ),
        Quiet("once", under(FRAME, _ANEW) + steps("Optimizer.step#Adam.step 90us")),
        Quiet("for-each-task", steps(under(FRAME, _ANEW, *["Optimizer.step#Adam.step 9us"] * 4))),
        Quiet("of-two-phases", steps(under(FRAME, _ANEW), count=2)),
        Quiet("that-never-steps", steps(under(FRAME, _INIT))),
        Abstains("no-stacks", steps(_SGD)),
    )

    def find(self, trace: Trace) -> Matches:
        for same in places.grouped(_made(trace), lambda made: (made.location, made.name)):
            often = [made.event for made in same if made.steps <= 1]
            if 2 * len(often) < len(same):
                continue
            if loops.count_steps(trace, [each.start_ns for each in often]) >= self.fewest_steps:
                yield from self._of_place(often, same[0].name)

    def _of_place(self, made: Sequence[Event], name: str) -> Iterator[Match]:
        keeps = name in _KEEPS_STATE
        lost = ": what it knows of earlier gradients is lost" if keeps else ""
        for part in places.by_window(made):
            said = f"{name} is made anew for each step{lost}"
            most = Severity.WARNING if keeps else Severity.INFO
            yield Match(part, said, rows_of(part), severity=Severity.INFO, at_most=most)

    def edit(self, trace: Trace, events: Sequence[Event]) -> Edit:
        return Edit("made once", host=edits.host_time(trace, rows_of(events)), left=(0.0, 0.1))


@dataclass(frozen=True, slots=True)
class _Made:
    """An optimizer that is made.

    Attributes:
        name: its class.
        steps: how many steps of that class follow before the next one is made.
    """

    event: Event
    name: str
    steps: int

    @property
    def location(self) -> Location | None:
        return self.event.location


def _made(trace: Trace) -> Iterator[_Made]:
    """All optimizers of which a step follows, by start."""
    made = launches.by_start(trace, launches.rows_matching(trace, _MADE, "*: __init__"))
    ranges = launches.by_start(trace, launches.tree_rows(trace, STEP))
    begin = np.searchsorted(trace.start_ns[ranges], trace.start_ns[made])
    until = np.append(begin, len(ranges))[1:]
    names = trace.name_id[ranges]
    for row, first, last in zip(made.tolist(), begin.tolist(), until.tolist(), strict=True):
        match = first < len(ranges) and _STEP.fullmatch(trace.names[names[first]])
        if match and match[1] != "LBFGS":
            alike = int(np.count_nonzero(names[first:last] == names[first]))
            yield _Made(trace.event(row), match[1], alike)
