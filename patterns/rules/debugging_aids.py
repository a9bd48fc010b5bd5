"""TDY009: anomaly mode, and other aids for debugging, left on."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tidy.savings import Edit
from tidy.trace import Event, Events, Intervals, Rows, Trace

from ..base import Match, Matches, Pattern
from ..evidence.device import launches
from ..evidence.fixes import edits
from ..evidence.python import loops
from ..evidence.python.made_places import turned_on_at
from ..evidence.time.timing import Cost
from ..examples import FRAME, Abstains, Fires, Quiet, steps, under
from ..option import EASY_WARNING, warning_share

_NODE = "autograd::engine::evaluate_function: *"
_CHECK = ("aten::isnan", "aten::_is_any_true", "aten::item")
_NOTES_A_STACK = "*torch/fx/traceback.py(*): format_stack"
# Modes that see each op; what they are to users.
_MODES = (
    (re.compile(r".*torch/utils/flop_counter\.py\(\d+\): __torch_dispatch__"), "FlopCounterMode"),
    (re.compile(r".*torch/cuda/_sanitizer\.py\(\d+\): __torch_dispatch__"), "the CUDA sanitizer"),
)
_REMOVE_MODE = "remove it from the loop; count or check in a run of its own"

_NODE_RAN = "autograd::engine::evaluate_function: AddmmBackward0"
_ANOMALY = under(_NODE_RAN, "AddmmBackward0", *_CHECK)
_COUNTED = under("torch/utils/flop_counter.py(800): __torch_dispatch__", "aten::mm")


class DebuggingAids(Pattern):
    """Anomaly mode or another aid for debugging is on, and makes each op slower.

    What it does: It finds the check for NaN that anomaly mode makes of each gradient in the
    backward, with the stacks that it notes in the forward pass, and modes that see each op:
    `FlopCounterMode`, the CUDA sanitizer.
    Why it costs: Each check is three ops and a wait for the GPU, for each node of the graph, and to
    note a stack takes longer than most ops.
    Example: `torch.autograd.set_detect_anomaly(True)` left from a debugging session, recorded as

        autograd::engine::evaluate_function: AddmmBackward0
          AddmmBackward0
          aten::isnan
          aten::_is_any_true
          aten::item

    Instead: Remove it, or switch it on for a step in which something went wrong.
    Cannot see: Modes show only with Python stacks, and on PyTorch; whether PyTorch itself was built
    for debugging does not show in a trace.
    """

    code = "TDY009"
    fix = "remove it: torch.autograd.set_detect_anomaly(False)"
    why_no_edit = "its calls hold the ops that they watch"
    warning_from = warning_share(EASY_WARNING)
    examples = (
        Fires("anomaly-mode", steps(_ANOMALY, count=2, lasts_us=90), events=6),
        Fires("flop-counter", under(FRAME, steps(_COUNTED, count=2)), events=2, at="train.py:7"),
        Quiet("a-hook-of-the-script", steps(_ANOMALY.replace("_is_any_true", "any"))),
        Quiet("a-check-of-the-loss", steps(*_CHECK)),
        Quiet("once", under(FRAME, _COUNTED, steps("aten::mm"))),
        Abstains("no-ops", "torch/utils/flop_counter.py(800): count"),
    )

    def find(self, trace: Trace) -> Matches:
        checks = _checks(trace)
        if len(checks):
            events = Events(trace, np.union1d(checks, trace.rows_named(_NOTES_A_STACK)))
            said = "anomaly mode looks for NaN in each gradient of the backward"
            yield Match(events, said, fix_place=turned_on_at(trace, "anomaly mode"))
        for pattern, what in _MODES:
            frames = launches.rows_matching(trace, pattern, "*: __torch_dispatch__")
            if loops.count_steps(trace, trace.start_ns[frames]) >= loops.FEWEST_STEPS:
                events = Events(trace, frames)
                yield Match(events, f"{what} sees each op", Cost(Intervals(), True), edit=None)

    def fix_of(self, events: Sequence[Event]) -> str:
        is_mode = any(pattern.fullmatch(events[0].name) for pattern, _ in _MODES)
        return _REMOVE_MODE if is_mode else self.fix

    def edit(self, trace: Trace, events: Sequence[Event]) -> Edit:
        return edits.without_ops(trace, events, "without anomaly mode", (0.0, 0.1))


def _checks(trace: Trace) -> Rows:
    """The ops of the checks: three in a row, directly in the running of a node."""
    first, second, third = (trace.rows_named(name) for name in _CHECK)
    if not len(first):
        return first
    before = trace.previous_sibling
    first = first[np.isin(trace.parent[first], trace.rows_named(_NODE))]
    second = second[np.isin(before[second], first)]
    third = third[np.isin(before[third], second)]
    return np.sort(np.concatenate([before[before[third]], before[third], third]))
