"""TDY803: the allocator is out of memory again and again, or holds far more than is in use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tidy.finding import Obstacle, Severity
from tidy.trace import Capability, Event, Events, MemoryTable, Trace

from ..base import DevicePattern, Match, Matches, remark
from ..evidence.device import memory
from ..evidence.fixes import edits
from ..evidence.python import loops, places
from ..examples import AT, WORK, Abstains, Fires, Quiet, launch, looped, on_gpu, steps, under
from ..option import EASY_WARNING, Option, share, warning_share

# Where so much of the pool is in use, other blocks would not help: there are too many tensors.
_IN_USE = 0.7

_GIB = 1 << 30
_ONE_GIB = "# device 0 NVIDIA T4 7.5 1GiB\n"
_GRAPH = launch("graph", "gemm 9us", call="cudaGraphLaunch")
_TAKEN, _GIVEN = under("aten::mm > cudaMalloc 40us"), "cudaFree 9us"
_RETRIED = "out of memory, the allocator gives blocks back and asks again: {}"
_SPREAD = "expandable_segments:True in PYTORCH_CUDA_ALLOC_CONF, and batches of one size"


def _held(reserved: int, in_use: int = 900 << 20) -> str:
    return f"[memory] 512B at 7 of {in_use}/{reserved}"


def _retry(reserved: int = _GIB - 4096, in_use: int = 900 << 20) -> str:
    freed = under("aten::empty", "cudaFree 60us", "cudaMalloc 40us", _held(reserved, in_use))
    return freed + WORK


_IDLE = _held(_GIB // 2, _GIB // 8)


class MemoryNearLimit(DevicePattern):
    """The GPU's memory is full: the allocator gives blocks back to the driver to get others.

    What it does: It finds ops in which memory is given back to the driver and then taken from it,
    as the caching allocator does when there is none left, in two steps or more (three times where
    no steps are marked). As info it says where the allocator holds 30 % of the GPU's memory or more
    and no more than half of that was ever in use in this recording: blocks are too small for what
    is asked for, or something larger came before. Memory that is merely full is no fault,
    and graphs hold memory for themselves.
    Why it costs: `cudaFree` waits for the GPU, and the blocks that go are needed again a moment
    later. Then the next larger batch ends the run.
    Example: Steps whose memory does not fit, recorded with `profile_memory=True` as

        aten::empty                              in one step after the other
          cudaFree, cudaFree, ...
          cudaMalloc
          [memory]   Total Reserved is close to the GPU's memory

    Instead: Use a smaller batch, checkpoint layers (`torch.utils.checkpoint`), autocast; against
    blocks that do not fit, set `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`, and use batches
    of one size.
    Cannot see: It knows nothing of other processes on the GPU, and of memory that libraries take.
    """

    code = "TDY803"
    needs = frozenset({Capability.DEVICE, Capability.MEMORY})
    fix = "a smaller batch, or torch.utils.checkpoint: there is no memory left"
    why_no_edit = "memory that is not in use takes no time"
    large_pool = share(0.3, "a pool of this part of the device may be worth a word")
    far_above = Option(2.0, "a pool of so many times what is in use is worth a word", least=1)
    fewest_retries = Option(3, "retries that are a habit, where no steps are marked", least=1)
    warning_from = warning_share(EASY_WARNING)
    examples = (
        Fires("retries", looped(_retry(), lasts_us=300, gpu=_ONE_GIB), events=4, at=AT),
        Fires("half-of-it-idle", _ONE_GIB + steps(WORK, _IDLE), severity=Severity.INFO),
        Quiet("full-is-no-fault", _ONE_GIB + steps(WORK, _held(_GIB - 4096))),
        Quiet("small-pool", _ONE_GIB + steps(WORK, _held(_GIB // 8, _GIB // 32))),
        Quiet("pools-of-graphs", _ONE_GIB + _GRAPH + steps(WORK, _IDLE)),
        Quiet("once", _ONE_GIB + steps(_retry(), count=1) + steps(WORK)),
        Quiet("caching-is-off", _ONE_GIB + steps(_retry(reserved=0))),
        Quiet("taken-and-given-elsewhere", _ONE_GIB + steps(_TAKEN, _GIVEN, _held(_GIB), WORK)),
        Abstains("memory-not-recorded", on_gpu(WORK)),
        Abstains("cpu-run", steps("aten::mm", count=1)),
    )

    def lacks(self, trace: Trace) -> Obstacle | None:
        return memory.without_totals(trace)

    def find(self, trace: Trace) -> Matches:
        retries = Events(trace, memory.retries(trace))
        if _go_on(trace, retries, self.fewest_retries):
            for events in places.by_line(retries):
                said = _RETRIED.format(_pool(trace, memory.devices_with_memory(trace)[0]))
                edit = edits.without_ops(trace, events, "memory that suffices", edits.REMOVED)
                yield Match(events, said, edit=edit)
            return
        if len(trace.rows_named("*GraphLaunch*")):
            return  # graphs hold memory that no tensor has
        for device in memory.devices_with_memory(trace):
            changes = memory.changes_of(trace, device)
            if self._is_far_above(trace, device, changes):
                largest = int(changes.row[np.argmax(changes.reserved_nbytes)])
                yield remark([trace.event(largest)], _pool(trace, device))

    def fix_of(self, events: Sequence[Event]) -> str:
        trace = events[0].trace
        reserved, in_use = _most(memory.changes_of(trace, memory.devices_with_memory(trace)[0]))
        return self.fix if in_use > _IN_USE * reserved else _SPREAD

    def _is_far_above(self, trace: Trace, device: int, changes: MemoryTable) -> bool:
        total, (reserved, in_use) = memory.total_nbytes(trace, device), _most(changes)
        is_large = total > 0 and reserved >= self.large_pool * total
        return is_large and reserved >= self.far_above * in_use > 0


def _go_on(trace: Trace, retries: Sequence[Event], fewest: int) -> bool:
    """Tell whether there are retries in enough steps or, without steps, in enough ops."""
    if trace.steps:
        times = [event.start_ns for event in retries]
        return loops.count_steps(trace, times) >= loops.FEWEST_STEPS
    return len({int(trace.caller[event.row]) for event in retries}) >= fewest


def _most(changes: MemoryTable) -> tuple[int, int]:
    """Tell what the allocator held at the most, and what was in use at the most."""
    return int(changes.reserved_nbytes.max()), int(changes.allocated_nbytes.max())


def _pool(trace: Trace, device: int) -> str:
    """`it holds 70 GiB of the GPU's 80 GiB, and at most 30 GiB are in use`."""
    reserved, in_use = map(memory.in_units, _most(memory.changes_of(trace, device)))
    total = memory.total_nbytes(trace, device)
    of = f" of the GPU's {memory.in_units(total)}" if total else ""
    return f"it holds {reserved}{of}, and at most {in_use} are in use"
