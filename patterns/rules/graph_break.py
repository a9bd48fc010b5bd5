"""TDY002: a compiled function that falls apart into several graphs."""

from __future__ import annotations

import re

from tidy.finding import NotChecked, Obstacle, Severity
from tidy.trace import Capability, Event, Location, Trace
from tidy.trace.location import parse_frame

from ..base import Match, Matches, Pattern
from ..evidence.device import launches
from ..evidence.python import loops
from ..examples import Abstains, Fires, Quiet, steps, under

_RESUMES = re.compile(r".*\(\d+\): torch_dynamo_resume_in_(?P<function>\w+)_at_(?P<line>\d+)")
_REGIONS = "Torch-Compiled Region: *"
_NO_STACKS = (
    "several compiled regions in a step, and no Python stacks that tell whether a graph broke"
)

_WHOLE = under("Torch-Compiled Region: 0/0 20us", "aten::add")
_BROKEN = under(
    "train.py(7): train",
    "Torch-Compiled Region: 0/0 20us",
    under(
        "train.py(9): torch_dynamo_resume_in_train_at_9",
        "aten::item 30us",
        "Torch-Compiled Region: 1/0 20us",
    ),
)


class GraphBreak(Pattern):
    """A compiled function breaks into graphs, with Python between them in each step.

    What it does: It finds the functions that TorchDynamo makes of what follows a break, which are
    named after the line it broke at, where they are called in two steps.
    Why it costs: Between two graphs Python runs and guards are checked, nothing is fused across the
    break, and CUDA graphs end there.
    Example: A `print` in a compiled function, recorded as

        Torch-Compiled Region: 0/0
        train.py(9): torch_dynamo_resume_in_train_at_9
          Torch-Compiled Region: 1/0

    Instead: Move what breaks (`print`, `.item()`, conditions on values, calls of other libraries)
    out of the function; `torch.compile(fullgraph=True)` fails where it breaks, and
    `TORCH_LOGS=graph_breaks` tells why.
    Cannot see: It needs Python stacks. The trace does not tell why a graph broke, nor how long one
    whole graph would take. So it is info.
    """

    code = "TDY002"
    severity = Severity.INFO
    why_no_edit = "the trace does not tell what one graph would take"
    fix = "move what breaks the graph out of the function (fullgraph=True shows it)"
    examples = (
        Fires("a-read", steps(_BROKEN), events=3, at="train.py:9"),
        Quiet("whole", steps(_WHOLE)),
        Quiet("blocks", steps(_WHOLE * 4)),
        Quiet("once", _BROKEN + steps(_WHOLE, count=2)),
        Abstains("no-stacks", steps(_WHOLE, "Torch-Compiled Region: 1/0 20us")),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        regions = {name for name in trace.names if name.startswith(_REGIONS[:-1])}
        functions = {name.removeprefix(_REGIONS[:-1]).partition("/")[0] for name in regions}
        if len(functions) < 2 or Capability.STACKS in trace.capabilities:
            return None
        return NotChecked(_NO_STACKS, trace.info.remedy(Capability.STACKS))

    def find(self, trace: Trace) -> Matches:
        rows = launches.rows_matching(trace, _RESUMES, "*: torch_dynamo_resume_in_*")
        for events in loops.parts_in_steps(trace, trace.events(rows), _line_of):
            line = _line_of(events[0])
            said = f"the graph of {line.function if line else ''} breaks here"
            yield Match(events, said, cost=(), location=line)


def _line_of(resumed: Event) -> Location | None:
    """The line at which the graph broke."""
    frame, name = parse_frame(resumed.name), _RESUMES.fullmatch(resumed.name)
    if frame is None or name is None:
        return None
    return Location(frame.file, int(name["line"]), name["function"], True)
