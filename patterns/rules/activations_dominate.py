"""TDY805: activations fill a GPU that has little memory left."""

from __future__ import annotations

import numpy as np

from tidy.finding import Obstacle, Severity
from tidy.trace import Capability, Trace

from ..base import DevicePattern, Matches, remark
from ..evidence.device import memory
from ..examples import WORK, Abstains, Fires, Quiet, on_gpu, steps, under
from ..option import share

_SAID = (
    "activations are {} of the {} in use at the peak, and the allocator holds {} of the GPU's {}"
)

_GPU = "# device 0 NVIDIA T4 7.5 1GiB\n"


def _run(mib: int, other_mib: int = 100, reserved_mib: int = 900, gpu: str = _GPU) -> str:
    nbytes, rest, reserved = (each << 20 for each in (mib, other_mib, reserved_mib))
    return gpu + steps(
        under("aten::linear seq=4", f"[memory] {nbytes}B at 7 of {nbytes + rest}/{reserved}", WORK),
        under("AddmmBackward0 seq=4/1", f"[memory] -{nbytes}B at 7 of {rest}/{reserved}"),
        count=2,
        lasts_us=30,
    )


class ActivationsDominate(DevicePattern):
    """Activations that the backward needs fill most of the memory of a GPU that is nearly full.

    What it does: It looks at the moment of a step at which most memory is in use, and adds up what
    was taken earlier in that step, before its backward, and given back in its backward. It reports
    them if they are half or more of what is in use, and the allocator holds 80 % or more of the
    GPU's memory.
    Why it costs: It limits the batch, the sequence or the model, and a GPU that is nearly full is
    one larger batch away from the end of the run.
    Example: A deep network on large inputs, recorded with `profile_memory=True` as

        ProfilerStep#1
          aten::linear, aten::gelu, ...
            [memory]   taken, and given back in the backward

    Instead: Checkpoint the largest layers (`torch.utils.checkpoint.checkpoint(layer, x,
    use_reentrant=False)`), which computes their forward a second time; use autocast, which halves
    activations, or a fused loss and attention, which keep less.
    Cannot see: It does not know which layers hold most, or what a smaller batch would cost.
    """

    code = "TDY805"
    severity = Severity.INFO
    needs = frozenset({Capability.DEVICE, Capability.MEMORY, Capability.STEPS})
    fix = "torch.utils.checkpoint for the largest layers, autocast, or a smaller batch"
    why_no_edit = "it saves memory, and takes time"
    nearly_full = share(
        0.8, "to compute a forward twice is worth it where the allocator holds this part of a GPU"
    )
    most_of_it = share(
        0.5, "activations that are less than this part of what is in use do not dominate it"
    )
    examples = (
        Fires("most-of-a-full-gpu", _run(700)),
        Quiet("little-of-it", _run(100, other_mib=700)),
        Quiet("memory-to-spare", _run(500, reserved_mib=700)),
        Quiet("memory-unknown", _run(700, gpu="# device 0 NVIDIA T4 7.5\n")),
        Quiet("no-backward", _run(700).replace("AddmmBackward0 seq=4/1", "aten::relu")),
        Abstains("memory-not-recorded", on_gpu(steps(WORK))),
        Abstains("cpu-run", steps("aten::mm", count=1)),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        return memory.without_totals(trace)

    def find(self, trace: Trace) -> Matches:
        for device in memory.devices_with_memory(trace):
            changes = memory.changes_of(trace, device)
            changes = changes.of(changes.row[trace.step_time.contains(trace.start_ns[changes.row])])
            total = memory.total_nbytes(trace, device)
            if not len(changes) or not total:
                continue
            peak = trace.event(int(changes.row[np.argmax(changes.allocated_nbytes)]))
            held, in_use = changes.reserved_nbytes.max(), changes.allocated_nbytes.max()
            activations = memory.activations_at(trace, device, peak.start_ns)
            if held >= self.nearly_full * total and activations >= self.most_of_it * in_use:
                sizes = map(memory.in_units, (activations, in_use, held, total))
                yield remark([peak], _SAID.format(*sizes))
