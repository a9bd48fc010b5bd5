"""Memory of devices: calls that ask the driver for it, who holds it, how much, and for how long."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidy.finding import NotChecked, Obstacle
from tidy.trace import Capability, EventKind, MemoryTable, Rows, Trace, number_text
from tidy.trace.kept import kept

from ..python.frames import EMPTY_CACHE
from ..python.loops import FEWEST_STEPS, count_steps, step_of
from .autograd import backward_ops
from .launches import by_start, calls_of, rows_matching

CPU = -1
TAKES = (
    "cudaMalloc cudaMallocManaged cudaMallocHost cudaHostAlloc cudaHostRegister "
    "cuMemCreate cuMemMap hipMalloc hipMallocManaged hipExtMallocWithFlags "
    "hipHostMalloc hipHostRegister hipMemCreate hipMemMap"
).split()
GIVES = (
    "cudaFree cudaFreeHost cudaHostUnregister cuMemUnmap cuMemRelease "
    "hipFree hipHostFree hipHostUnregister hipMemUnmap hipMemRelease"
).split()
_WRAPPED = NotChecked(
    "while shapes are recorded, the profiler keeps what tensors of torch.func wrap",
    "record without shapes (tidy run --no-shapes)",
)
# glibc returns blocks of this size to the kernel at once, page by page, which took 0.3 µs for a
# page of 4 KiB on an idle machine and up to 2 µs on a busy one.
_UNMAPPED_NBYTES, _PAGE_NBYTES, _UNMAP_PAGE_NS = 32 << 20, 4096, 2000
# When memory was given back that the recording saw no end of.
_NEVER_NS = np.iinfo(np.int64).max


class EmptiedCache(NamedTuple):
    """Frames of `torch.cuda.empty_cache()`, and calls in them or due to them, by start."""

    frames: Rows
    calls: Rows


def driver_calls(trace: Trace) -> Rows:
    """Calls that take memory from the driver or give it back, by start."""
    return by_start(trace, calls_of(trace, *TAKES, *GIVES))


def emptied_cache(trace: Trace) -> EmptiedCache:
    """Calls of `empty_cache`, and those of the driver that are due to them.

    These are the calls in them, and allocations up to the end of the step after.
    """
    frames = by_start(trace, rows_matching(trace, EMPTY_CACHE, "*: empty_cache"))
    if not len(frames):
        return EmptiedCache(frames, frames)
    rows = driver_calls(trace)
    starts = trace.start_ns[rows]
    last = np.searchsorted(trace.start_ns[frames], starts, side="right") - 1
    frame = frames[np.maximum(last, 0)]
    inside = (last >= 0) & (starts < trace.end_ns[frame])
    step, emptied_in = step_of(trace, starts), step_of(trace, trace.start_ns[frame])
    after = (last >= 0) & (step >= 0) & (emptied_in >= 0) & (step <= emptied_in + 1)
    after &= np.isin(rows, calls_of(trace, *TAKES))
    return EmptiedCache(frames, rows[inside | after])


class Lifetimes(NamedTuple):
    """Memory that was taken on one device, in the order in which it was.

    Attributes:
        row: the row of the allocation.
        start_ns, freed_ns: when it was taken and given back; where that was not recorded, never.
        nbytes: how much it is.
    """

    row: Rows
    start_ns: NDArray[np.int64]
    freed_ns: NDArray[np.int64]
    nbytes: NDArray[np.int64]


def changes_of(trace: Trace, device: int) -> MemoryTable:
    """Return what was taken and given back on one device, or by the CPU, by time."""
    rows = trace.memory.row
    own = (trace.device[rows] == device) & (trace.kind[rows] == EventKind.Allocation)
    return trace.memory.of(rows[own])


@kept
def devices_with_memory(trace: Trace) -> list[int]:
    """Return the devices whose memory was recorded; the CPU's is not among them."""
    used: list[int] = np.unique(trace.device[trace.memory.row]).tolist()
    return [device for device in used if device != CPU]


def total_nbytes(trace: Trace, device: int) -> int:
    """Return how much memory a device has; 0 where that is not known."""
    known = trace.devices.get(device)
    return (known.total_memory_nbytes or 0) if known is not None else 0


def without_totals(trace: Trace) -> Obstacle | None:
    """Say why it is not known what the allocator holds; None where totals were recorded."""
    is_known = bool((trace.memory.reserved_nbytes >= 0).any())
    return _unless(trace, is_known, "the file does not say what the allocator holds in all")


def caching_is_off(trace: Trace) -> bool:
    """Tell whether tensors take memory of devices and no allocator holds any for them.

    A caching allocator holds at least what tensors have of it.
    """
    changes = trace.memory
    taken = (trace.device[changes.row] != CPU) & (trace.nbytes[changes.row] > 0)
    return bool(taken.any()) and not changes.reserved_nbytes[taken].any()


def retries(trace: Trace) -> Rows:
    """Calls with which the allocator, out of memory, gives back what it holds and asks again.

    In one op memory is given back to the driver, and then taken. That an allocator holds memory
    has to be known, for without one each tensor does this.
    """
    if not (trace.memory.reserved_nbytes > 0).any():
        return np.empty(0, np.int64)
    rows = driver_calls(trace)
    rows = rows[~np.isin(rows, emptied_cache(trace).calls) & (trace.caller[rows] >= 0)]
    gives = np.isin(rows, calls_of(trace, *GIVES))
    takes = np.isin(rows, calls_of(trace, *TAKES))
    ops = trace.caller[rows]
    first_given, last_taken = np.full(len(trace), len(rows)), np.full(len(trace), -1)
    numbers = np.arange(len(rows))
    np.minimum.at(first_given, ops[gives], numbers[gives])
    np.maximum.at(last_taken, ops[takes], numbers[takes])
    found: Rows = rows[first_given[ops] < last_taken[ops]]
    return found


def churn(trace: Trace) -> Rows:
    """Calls of the driver for memory, where they go on when the allocator should have enough.

    They do in two steps after the first, or where it holds nothing. Left out is what is due to an
    emptied cache, or to a lack of memory.
    """
    rows = driver_calls(trace)
    rows = rows[~np.isin(rows, emptied_cache(trace).calls) & ~np.isin(rows, retries(trace))]
    later = rows[step_of(trace, trace.start_ns[rows]) > 0]
    goes_on = count_steps(trace, trace.start_ns[later]) >= FEWEST_STEPS or caching_is_off(trace)
    found: Rows = rows if goes_on else rows[:0]
    return found


def in_units(nbytes: float) -> str:
    """`3.2 GiB`, `512 KiB`."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes >= size:
            return f"{number_text(nbytes / size)} {unit}"
    return f"{nbytes:,.0f} bytes"


def without_addresses(trace: Trace) -> Obstacle | None:
    """Say why it is not known what stays; None where addresses were recorded."""
    missing = "the file does not say where memory is, so that it is not known when it goes"
    return _unless(trace, bool(trace.memory.address.any()), missing)


def _unless(trace: Trace, is_known: bool, missing: str) -> Obstacle | None:
    """Say what is missing, unless it is known or no memory was recorded at all."""
    if is_known or Capability.MEMORY not in trace.capabilities:
        return None
    return NotChecked(missing, "record with a newer PyTorch")


@kept
def of_device(trace: Trace, device: int) -> Lifetimes:
    """For how long memory of a device was in use: an address is in use once at a time."""
    changes = changes_of(trace, device)
    order = np.lexsort((changes.row, changes.address))
    row, address = changes.row[order], changes.address[order]
    nbytes, start = trace.nbytes[row], trace.start_ns[row]
    freed = np.full(len(row), _NEVER_NS)
    ends = (address[1:] == address[:-1]) & (nbytes[1:] < 0) & (nbytes[:-1] > 0)
    freed[:-1][ends] = start[1:][ends]
    taken = np.flatnonzero((nbytes > 0) & (address != 0))
    taken = taken[np.argsort(row[taken], kind="stable")]
    return Lifetimes(row[taken], start[taken], freed[taken], nbytes[taken])


def unmapping_ns(
    trace: Trace, starts_ns: NDArray[np.int64], ends_ns: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return for each interval how long it takes at most to return its CPU blocks to the kernel.

    The profiler records that a block is free after the kernel has it: what comes after the last
    such event of an interval is something else.
    """
    changes = changes_of(trace, CPU)
    freed_nbytes = -trace.nbytes[changes.row]
    is_unmapped = freed_nbytes >= _UNMAPPED_NBYTES
    times_ns = trace.start_ns[changes.row[is_unmapped]]
    order = np.argsort(times_ns, kind="stable")
    so_far = np.append(0, np.cumsum(freed_nbytes[is_unmapped][order] // _PAGE_NBYTES))
    first = np.searchsorted(times_ns[order], starts_ns, side="left")
    last = np.searchsorted(times_ns[order], ends_ns, side="right")
    found: NDArray[np.int64] = _UNMAP_PAGE_NS * (so_far[last] - so_far[first])
    last_ns = np.append(times_ns[order], 0)[last - 1]
    return np.where(last > first, np.minimum(found, last_ns - starts_ns), 0)


def kept_by_recording(trace: Trace) -> Obstacle | None:
    """Say why memory of `torch.func` stays in the recording alone; None where none does.

    For shapes the profiler refers to all inputs. That frees a tensor's own memory, but not what
    the wrappers of `grad` and `vmap` wrap. These hand each op on, which then is in one of its own
    name: twice and more often with wrappers, once under autocast.
    """
    if Capability.SHAPES not in trace.capabilities:
        return None
    ops = trace.rows_of_kind(EventKind.TorchOp)
    above = trace.parent[ops]
    over = np.where(above >= 0, trace.parent[above], -1)
    names = trace.name_id
    is_nested = (over >= 0) & (names[above] == names[ops]) & (names[over] == names[ops])
    nested = np.stack([over, above, ops])[:, is_nested]
    calls = np.unique(trace.inputs_id[nested], axis=1).T.tolist()
    return _WRAPPED if any(map(_are_handed_on, repeat(trace), calls)) else None


def _are_handed_on(trace: Trace, inputs_ids: Sequence[int]) -> bool:
    """Tell wrappers, which give an op as many inputs, or all of them twice, from its overloads.

    `torch.eye`, `linspace` and products of sparse tensors call two overloads of their own name,
    one of them with a tensor for the result.
    """
    shapes = [trace.inputs.shapes(number) for number in inputs_ids]
    return all(
        len(inner) == len(outer) or inner == outer * 2 or inner * 2 == outer
        for outer, inner in pairwise(shapes)
    )


def activations_at(trace: Trace, device: int, time_ns: int) -> int:
    """Bytes in use at one moment that a step took before its backward and that it gives back."""
    step = next((s for s in trace.window.steps if s.start_ns <= time_ns < s.end_ns), None)
    starts = trace.start_ns[backward_ops(trace)]
    starts = starts[(starts >= step.start_ns) & (starts < step.end_ns)] if step else starts[:0]
    if step is None or not len(starts):
        return 0
    begin_ns = int(starts.min())
    taken = of_device(trace, device)
    is_activation = (taken.start_ns >= step.start_ns) & (taken.start_ns < begin_ns)
    is_activation &= (taken.start_ns <= time_ns) & (taken.freed_ns > time_ns)
    is_activation &= (taken.freed_ns >= begin_ns) & (taken.freed_ns < step.end_ns)
    return int(taken.nbytes[is_activation].sum())
