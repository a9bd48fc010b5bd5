"""TDY603: gradients filled with zeros instead of being dropped."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from tidy.finding import Finding
from tidy.trace import Event, EventKind, Trace

from ..base import Pattern
from ..examples import Fires, Quiet


class ZeroedGradients(Pattern):
    """`zero_grad` fills every gradient with zeros instead of setting it to None.

        torch/optim/optimizer.py(...): zero_grad      or  Optimizer.zero_grad#SGD.zero_grad
          aten::zero_ for each parameter, NOT under aten::zeros
          or aten::_foreach_zero_

    Cost: writing every gradient once, and reading it again when backward adds to it.
    Instead: `zero_grad(set_to_none=True)`, the default since PyTorch 2.0. A parameter without a
    gradient is then skipped by the optimizer instead of being decayed or carried by momentum.
    Misses: loops of one's own over `p.grad.zero_()`; `model.zero_grad` without stacks.
    """

    code = "TDY603"
    fix = "call zero_grad(set_to_none=True)"
    examples = (
        Fires(
            "frame",
            """
            train.py(5): train
              torch/optim/optimizer.py(1023): zero_grad
                Optimizer.zero_grad#SGD.zero_grad
                  aten::zero_
                  aten::zero_
            """,
            at="train.py:5",
        ),
        Fires(
            "wrapper-of-the-same-name",
            """
            train.py(5): train
              torch/nn/modules/module.py(9): zero_grad
                torch/optim/optimizer.py(1023): zero_grad
                  aten::zero_
            """,
            at="train.py:5",
        ),
        Fires(
            "range-alone",
            """
            Optimizer.zero_grad#Adam.zero_grad
              aten::_foreach_zero_
                aten::zero_
            """,
        ),
        Quiet("dropped", "Optimizer.zero_grad#SGD.zero_grad\naten::linear"),
        Quiet(
            "other-zeros",
            """
            train.py(5): zero_grad
              aten::zeros
                aten::zero_
            aten::zero_
            """,
        ),
    )

    def check(self, trace: Trace) -> Iterable[Finding]:
        fills = trace.rows_named("aten::zero_", "aten::_foreach_zero_")
        names = trace.name_id
        zeros = trace.strings.names.get("aten::zeros", -1)
        parents = trace.parent[fills]
        fills = fills[(parents < 0) | (names[np.maximum(parents, 0)] != zeros)]
        if not len(fills):
            return
        calls = [e for e in trace.named("*: zero_grad") if _holds(e, fills)]
        # A wrapper of the same name says nothing that the call inside it does not.
        calls = [e for e, after in zip_longest(calls, calls[1:]) if not _above(e, after)]
        explained = trace.time_of(e.row for e in calls)
        is_fill = np.zeros(len(trace), bool)
        is_fill[fills] = True
        for event in trace.named("Optimizer.zero_grad#*"):
            if explained.overlaps(event.start_ns, event.end_ns) or event.kind == EventKind.PyCall:
                continue
            inside = trace.rows_within(event.start_ns, event.end_ns, int(trace.track_id[event.row]))
            if is_fill[inside].any():
                calls.append(event)
        yield from self.report_all(trace, calls)

    def message(self, events: object) -> str:
        return "gradients are filled with zeros, not dropped"


def _holds(call: Event, fills: NDArray[np.int64]) -> bool:
    """Whether one of the sorted rows `fills` is below `call`."""
    first, last = np.searchsorted(fills, (call.row + 1, int(call.trace.subtree_end[call.row])))
    return bool(last > first)


def _above(event: Event, other: Event | None) -> bool:
    return other is not None and event.row < other.row < int(event.trace.subtree_end[event.row])
