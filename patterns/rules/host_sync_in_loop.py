"""TDY301: the host reads a value of a device tensor, and waits, again and again."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from tidy.finding import Obstacle, Severity
from tidy.trace import Capability, Event, Trace

from ..base import DevicePattern, Match, Matches
from ..evidence.device import copies, obstacles
from ..evidence.fixes import edits
from ..evidence.python import frames, loops, places
from ..evidence.python.op_names import aten
from ..evidence.time import reads, waits
from ..examples import AFTER, AT, WORK, Abstains, Fires, Quiet, copy, looped, on_gpu, steps, under
from ..option import EASY_WARNING, habitual_reads, warning_share

_SHOWN = {
    "aten::item": ".item() or float(tensor)",
    "aten::_local_scalar_dense": ".item() or float(tensor)",
    "aten::is_nonzero": "a tensor as a condition (if tensor:)",
    "aten::index": "indexing with a mask",
    "aten::masked_select": "indexing with a mask",
    "aten::index_put_": "assignment to a mask",
} | dict.fromkeys(copies.ASKED, ".cpu(), .tolist() or .numpy()")

# The next operators cannot be launched before the number of selected elements is known: that cannot
# be read after the loop.
_BY_MASK = "keep the shape: torch.where, or multiply by the mask; topk for a fixed number"
_SELECTED = "needed, unless their number can be fixed: topk, torch.nonzero_static(size=...)"
_DISTINCT = "needed to find them on the GPU: find them once, or in the DataLoader"
_INSTEAD = {
    "aten::is_nonzero": "torch.where instead of the condition, or test it every N steps",
    "aten::index": _BY_MASK,
    "aten::masked_select": _BY_MASK,
    "aten::index_put_": "torch.where(mask, value, tensor), masked_fill_, masked_scatter_: no wait",
    "aten::repeat_interleave": "pass output_size=, where the sum of the repeats is known",
    "aten::bincount": "scatter_add_ into zeros, where the number of bins is known",
}
# A fixed number of results is more work of the device, or cannot be had.
_MAYBE_NEEDED = dict.fromkeys(aten("nonzero nonzero_numpy where"), _SELECTED) | dict.fromkeys(
    aten("_unique _unique2 unique_dim unique_consecutive unique_dim_consecutive"), _DISTINCT
)

_READ = "aten::item > aten::_local_scalar_dense"
_VALUE = "DtoH (Device -> Pageable) 1us 4B"
_ITEM = copy(_VALUE, op=_READ, call="cudaMemcpyAsync 100us", wait_us=5)
_MASK_CALL = "hipMemcpyWithStream 20us"
_MASK = copy("DtoD (Device -> Device) 1us", op="aten::index > aten::nonzero", call=_MASK_CALL)


def _selects(op: str) -> str:
    """Return steps in which what an operator returns is used by the next one."""
    selects = copy(_VALUE, op=op, call="cudaMemcpyAsync 100us", wait_us=5)
    return looped(WORK, selects, "aten::index\n" + AFTER, lasts_us=900)


_SCALER_FRAME = "torch/amp/grad_scaler.py(340): _maybe_opt_step"
_AMD = "# device 0 AMD-Instinct\n"
_PINNED = "DtoH (Device -> Pinned) 1us 32B"
_COPY = "aten::copy_ | float[8], float[8], =True"


class HostSyncInLoop(DevicePattern):
    """A value of a GPU tensor is read in the training loop, and the host waits for the GPU.

    What it does: It finds `.item()`, `float(t)`, `if t:`, `.cpu()`, `.tolist()`, `nonzero()`,
    `unique()` and `t[mask]` where the host did wait for a GPU, so that reading CPU tensors does not
    count, and where it repeats at one place, in two steps or three times. It is info where it is
    rarer than once a step, and inside an optimizer; so are `nonzero()` and `unique()`, of whose
    results the next operators need the number.
    Why it costs: When the host goes on the GPU has run out of work, and idles until the host has
    launched more. Idle time after a wait counts, for no longer than the host waited.
    Example: `total += loss.item()` in the loop, recorded as

        aten::item, aten::is_nonzero, aten::nonzero, aten::to, aten::index, ...
          cudaMemcpyAsync => Memcpy DtoH
          cudaStreamSynchronize

    Instead: Keep a value on the GPU and read it once, after the loop or every N steps. A selection
    cannot be read later: its size is needed to launch what comes next. What keeps the shape does
    not wait: `torch.where` instead of a condition or of an assignment to a mask,
    `(loss * mask).sum() / mask.sum()` instead of `loss[mask].mean()`, `topk` or
    `torch.nonzero_static` where the number of indices can be fixed. Pass `output_size=` to
    `repeat_interleave`.
    Cannot see: It cannot tell whether the script needs the number, as a criterion to stop, nor how
    much more a GPU computes that selects nothing. It misses waits inside ops of extensions. The
    gradient scaler of mixed precision is left alone, because it has to know whether gradients
    overflowed. Copies to the GPU are TDY103 and TDY104, norms of gradients TDY604.
    """

    code = "TDY301"
    needs = frozenset({Capability.OPS, Capability.DEVICE})
    why_no_edit = "the trace does not tell whether the optimizer can do without the value"
    fix = "keep it on the GPU; read once after the loop, or every N steps"
    fewest_reads = habitual_reads()
    warning_from = warning_share(EASY_WARNING)
    examples = (
        Fires("item", looped(WORK, _ITEM, AFTER, lasts_us=900), events=2, at=AT),
        Fires("mask", _selects("aten::index > aten::nonzero"), events=2, at=AT),
        Fires("nonzero", _selects("aten::nonzero"), 2, AT, Severity.INFO),
        Fires("unique", _selects("aten::_unique2"), 2, AT, Severity.INFO),
        Fires("mask-on-rocm", looped(_MASK, lasts_us=500, gpu=_AMD), 2, AT, Severity.INFO),
        Quiet("on-the-cpu", on_gpu(steps(under(_READ), WORK, count=2))),
        Quiet("mask-without-a-wait", looped(WORK, "aten::where\n" + AFTER)),
        Quiet("once", on_gpu(steps(WORK, count=1), under("ProfilerStep#2", _ITEM))),
        Quiet("gradient-scaler", looped(under(_SCALER_FRAME, _ITEM), count=3)),
        Quiet("asynchronous-read", on_gpu(steps(copy(_PINNED, op=_COPY)))),
        Abstains("cpu-run", steps(under(_READ), count=1)),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        return obstacles.without_calls(trace)

    def find(self, trace: Trace) -> Matches:
        values, event_of = reads.of_values(trace), attrgetter("event")
        for found in loops.Loop(trace).parts(values, event_of, self.fewest_reads):
            events = [wait.event for wait in found]
            name = events[0].name
            in_optimizer = places.owner_of(events[0]) == frames.Owner.OPTIMIZER
            is_info = in_optimizer or name in _MAYBE_NEEDED
            shown = _SHOWN.get(name, f"{name} on the GPU")
            counted = ", which counts the results" if name in _MAYBE_NEEDED else ""
            where = " inside the optimizer" if in_optimizer else places.within_range(events)
            yield Match(
                events,
                message=f"{shown} makes the host wait for the GPU{counted}{where}",
                severity=Severity.INFO if is_info else None,
                edit=None if in_optimizer else edits.without_waits(trace, events),
                cost=waits.cost_of_waits(trace, found, self.warning_from),
            )

    def fix_of(self, events: Sequence[Event]) -> str:
        return (_INSTEAD | _MAYBE_NEEDED).get(events[0].name, self.fix)
