"""Calls by which PyTorch's allocators ask the driver for memory, and give it back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tidy.trace import Rows, Trace

from .frames import EMPTY_CACHE
from .launches import by_start, calls_of, rows_matching
from .loops import step_of

TAKES = (
    "cudaMalloc cudaMallocManaged cudaMallocHost cudaHostAlloc cudaHostRegister "
    "cuMemCreate cuMemMap hipMalloc hipMallocManaged hipExtMallocWithFlags "
    "hipHostMalloc hipHostRegister hipMemCreate hipMemMap"
).split()
GIVES = (
    "cudaFree cudaFreeHost cudaHostUnregister cuMemUnmap cuMemRelease "
    "hipFree hipHostFree hipHostUnregister hipMemUnmap hipMemRelease"
).split()


@dataclass(frozen=True, slots=True)
class EmptiedCache:
    """Calls of `torch.cuda.empty_cache()`, and the calls of the driver that are due to them.

    Attributes:
        frames: the Python frames, by start.
        calls: driver calls made in them, and allocations up to the end of the step after, by start.
    """

    frames: Rows
    calls: Rows


def driver_calls(trace: Trace) -> Rows:
    """Calls that take memory from the driver or give it back, by start."""
    return by_start(trace, calls_of(trace, *TAKES, *GIVES))


def emptied_cache(trace: Trace) -> EmptiedCache:
    """The calls of `empty_cache` and what is due to them."""
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
