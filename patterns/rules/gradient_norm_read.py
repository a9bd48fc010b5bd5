"""TDY604: the host reads the norm of the gradients in each step."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from tidy.finding import Obstacle, Severity
from tidy.trace import Capability, Event, Trace

from ..base import DevicePattern, Match, Matches
from ..evidence.device import obstacles
from ..evidence.fixes import edits
from ..evidence.python import loops
from ..evidence.time import reads, waits
from ..examples import AFTER, AT, WORK, Abstains, Fires, Quiet, copy, launch, looped, on_gpu, steps
from ..option import EASY_WARNING, habitual_reads, warning_share

_SEVERAL = 2.0  # reads a step

_VALUE = "DtoH (Device -> Pageable) 1us 4B"
_ITEM = copy(_VALUE, op="aten::item > aten::_local_scalar_dense", wait_us=100)
_NORM = launch("aten::linalg_vector_norm", "reduce_kernel 5us")
_TOTAL = launch("aten::_foreach_norm", "multi_tensor_apply_kernel 5us") + _NORM
_CLIP = launch("aten::_foreach_mul_", "multi_tensor_apply_kernel 5us")
_DIV = launch("aten::div", "elementwise_kernel 5us")
_READ_STEP = steps(WORK, _TOTAL, _CLIP, _ITEM, AFTER, count=1, lasts_us=500)
_STEP = steps(WORK, _TOTAL, _CLIP, AFTER, count=1, lasts_us=500)


class GradientNormRead(DevicePattern):
    """The norm of the gradients is read in each step, and the host waits for the whole backward.

    What it does: It finds reads of a value (`.item()`, `float()`, conditions) with nothing between
    them and the norms of three tensors or more but the arithmetic of clipping, in two steps or
    three times. These reads are not told as TDY301 again. Norms of one or two tensors do not count.
    Why it costs: The norm is known when all gradients are. The host waits for the backward, and
    the GPU then waits for the launches of the optimizer.
    Example: `norm = clip_grad_norm_(model.parameters(), 1.0).item()`, recorded as

        aten::_foreach_norm, aten::linalg_vector_norm, aten::_foreach_mul_, ...
        aten::item
          cudaMemcpyAsync => Memcpy DtoH

    Instead: Keep the norm on the GPU, as `clip_grad_norm_` gives it, and read it every N steps, or
    with the loss. Add up norms with `torch.nn.utils.get_total_norm` rather than one by one. Leave
    `error_if_nonfinite` off.
    Cannot see: It misses norms computed by other means (flat buffers, extensions), and reads after
    other ops. It does not tell norms of gradients from those of parameters.
    """

    code = "TDY604"
    needs = frozenset({Capability.OPS, Capability.DEVICE})
    fix = "keep the norm on the GPU; read it every N steps, or with the loss"
    fewest_reads = habitual_reads()
    warning_from = warning_share(EASY_WARNING)
    examples = (
        Fires("clipped-and-read", looped(WORK, _TOTAL, _CLIP, _ITEM, AFTER), events=2, at=AT),
        Fires("every-other-step", on_gpu((_READ_STEP + _STEP) * 2), 2, severity=Severity.INFO),
        Fires("one-by-one", looped(WORK, (_NORM + _ITEM) * 3, AFTER), events=6, at=AT),
        Quiet("not-read", on_gpu(steps(WORK, _TOTAL, _CLIP, AFTER, count=2))),
        Quiet("norm-of-one-tensor", on_gpu(steps(WORK, _NORM, _ITEM, AFTER, count=2))),
        Quiet("cosine", on_gpu(steps(WORK, _NORM, _NORM, _DIV, _ITEM, AFTER, count=2))),
        Quiet("the-loss", on_gpu(steps(_TOTAL, _CLIP, WORK, _ITEM, AFTER, count=2))),
        Quiet("once", on_gpu(steps(WORK, AFTER, count=2), _TOTAL, _CLIP, _ITEM)),
        Abstains("cpu-run", "aten::_foreach_norm"),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        return obstacles.without_calls(trace)

    def find(self, trace: Trace) -> Matches:
        norms, event_of = reads.of_norms(trace), attrgetter("event")
        for found in loops.Loop(trace).parts(norms, event_of, self.fewest_reads):
            events = [wait.event for wait in found]
            a_step, times = _how_often(trace, events)
            edit = edits.without_waits(trace, events)
            if a_step >= _SEVERAL:  # of many reads one is left, which takes the host's time, too
                edit = edits.without_ops(trace, events, "read once a step", (1 / a_step,) * 2)
            yield Match(
                events,
                f"the norm of the gradients is read {times}: the host waits for the GPU",
                waits.cost_of_waits(trace, found, self.warning_from),
                edit,
            )


def _how_often(trace: Trace, reads: Sequence[Event]) -> tuple[float, str]:
    """How many reads a step has, and in words; or in how many steps there are any."""
    counts = trace.in_window([each.row for each in reads]).any()
    steps = len(trace.window.steps if counts else trace.steps)
    reading = loops.count_steps(trace, [each.start_ns for each in reads])
    a_step = len(reads) / max(steps, 1)
    if 0 < reading < steps:
        return a_step, f"in {reading} of {steps} steps"
    return a_step, f"{a_step:.0f} times a step" if a_step >= _SEVERAL else "in each step"
