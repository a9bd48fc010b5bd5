"""TDY603: gradients filled with zeros instead of being dropped."""

from __future__ import annotations

from dataclasses import replace

from tidy.finding import Severity
from tidy.savings import Edit
from tidy.trace import Event, Trace

from ..base import Match, Matches, Pattern
from ..evidence.fixes import edits, optimizers
from ..evidence.python import places
from ..examples import AT, FRAME, Fires, Quiet, launch, on_gpu, under

_FRAME = "torch/optim/optimizer.py(1023): zero_grad"
_WRAPPER = f"torch/nn/modules/module.py(9): zero_grad > {_FRAME}"
_ZERO = "aten::zero_"
_FILL = f"{_ZERO}\n"
_INFO = Severity.INFO
_RANGE = "Optimizer.zero_grad#SGD.zero_grad"


class ZeroedGradients(Pattern):
    """`zero_grad` fills every gradient with zeros instead of setting it to None.

    What it does: It finds calls of `zero_grad` with fills in them.
    Why it costs: Every gradient is written once, and read again when backward adds to it. On a
    CPU, PyTorch then takes memory for it from the system in each step, which was measured to cost
    more than the zeros for small and for large gradients: there it is info.
    Example: `optimizer.zero_grad(set_to_none=False)`, recorded as

        torch/optim/optimizer.py(...): zero_grad      or  Optimizer.zero_grad#SGD.zero_grad
          aten::zero_ for each parameter, NOT under aten::zeros
          or aten::_foreach_zero_

    Instead: Call `zero_grad(set_to_none=True)`, the default since PyTorch 2.0. A parameter without
    a gradient is then skipped by the optimizer instead of being decayed or carried by momentum.
    Cannot see: It misses loops of one's own over `p.grad.zero_()`, and `model.zero_grad` without
    stacks.
    """

    code = "TDY603"
    why_no_edit = "on a CPU gradients may take longer to allocate than to fill"
    fix = "call zero_grad(set_to_none=True)"
    examples = (
        Fires("frame", on_gpu(launch(f"{FRAME} > {_FRAME} > {_RANGE} > {_ZERO}", "fill")), at=AT),
        Fires("cpu", under(f"{FRAME} > {_FRAME} > {_RANGE}", _FILL * 2), at=AT, severity=_INFO),
        Fires("wrapper", under(f"{FRAME} > {_WRAPPER} > {_ZERO}"), at=AT, severity=_INFO),
        Fires("range-alone", on_gpu(launch(f"{_RANGE} > aten::_foreach_zero_ > {_ZERO}", "fill"))),
        Quiet("dropped", f"{_RANGE}\naten::linear"),
        Quiet("other-zeros", under("train.py(5): zero_grad > aten::zeros > aten::zero_") + _FILL),
    )

    def find(self, trace: Trace) -> Matches:
        calls, fills = optimizers.zeroing_calls(trace)
        # Of several optimizers it is not told which one's gradients an addition is to.
        is_alone = len({call.location for call in calls}) == 1
        adds = optimizers.additions_to_zeros(trace, fills).tolist() if is_alone else []
        for events in places.by_line(calls):
            rows = [*(event.row for event in events), *adds]
            what = "gradients are filled with zeros, not dropped"
            yield Match(events, what, rows, _without(trace, rows))

    def severity_of(self, event: Event) -> Severity:
        return self.severity if _saves_surely(event.trace) else Severity.INFO


def _without(trace: Trace, rows: list[int]) -> Edit | None:
    """Neither fills nor adds; parameters are still visited."""
    if not _saves_surely(trace):
        return None
    edit = edits.without_ops(trace, list(trace.events(rows)), "neither fill nor add", (0.0, 0.4))
    return replace(edit, work_left=(0.0, 0.1)) if len(edit.work) else edit


def _saves_surely(trace: Trace) -> bool:
    """Tell whether zeros take longer than new memory: on devices, and in tidy.runtime."""
    return bool(trace.devices_used) or trace.info.header.get("framework") == "tidy.runtime"
