"""Calls by which PyTorch's allocators ask the driver for memory, and give it back."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidy.trace import EventKind, Trace

from .timing import step_of

Rows = NDArray[np.int64]

_TAKES = (
    "cudaMalloc cudaMallocManaged cudaMallocHost cudaHostAlloc cudaHostRegister "
    "cuMemCreate cuMemMap hipMalloc hipMallocManaged hipExtMallocWithFlags "
    "hipHostMalloc hipHostRegister hipMemCreate hipMemMap"
).split()
_GIVES = (
    "cudaFree cudaFreeHost cudaHostUnregister cuMemUnmap cuMemRelease "
    "hipFree hipHostFree hipHostUnregister hipMemUnmap hipMemRelease"
).split()
_EMPTY_CACHE = re.compile(
    r"(.*/)?(torch|tidy/runtime)/(cuda|accelerator)/memory\.py\(\d+\): empty_cache"
)


@dataclass(frozen=True, slots=True)
class Emptied:
    """Calls of `torch.cuda.empty_cache()`, and what they cost.

    Attributes:
        frames: the Python frames, by start.
        calls: driver calls made in them, and allocations up to the end of the step after.
    """

    frames: Rows
    calls: Rows


def driver_rows(trace: Trace) -> Rows:
    """Calls that take memory from the driver or give it back, by start."""
    return _calls(trace, _TAKES + _GIVES)


def taking_rows(trace: Trace) -> Rows:
    return _calls(trace, _TAKES)


def giving_rows(trace: Trace) -> Rows:
    return _calls(trace, _GIVES)


def _calls(trace: Trace, names: list[str]) -> Rows:
    rows = trace.rows_named(*names)
    rows = rows[trace.kind[rows] == EventKind.Runtime]
    by_start: Rows = rows[np.argsort(trace.start_ns[rows], kind="stable")]
    return by_start


def emptied(trace: Trace) -> Emptied:
    """The calls of `empty_cache` and the driver calls that are due to them."""
    names = [name for name in trace.names if _EMPTY_CACHE.fullmatch(name)]
    frames = trace.rows_named(*names) if names else np.empty(0, np.int64)
    frames = frames[np.argsort(trace.start_ns[frames], kind="stable")]
    if not len(frames):
        return Emptied(frames, frames)
    rows = driver_rows(trace)
    starts = trace.start_ns[rows]
    last = np.searchsorted(trace.start_ns[frames], starts, side="right") - 1
    frame = frames[np.maximum(last, 0)]
    inside = (last >= 0) & (starts < trace.end_ns[frame])
    step, emptied_in = step_of(trace, starts), step_of(trace, trace.start_ns[frame])
    after = (last >= 0) & (step >= 0) & (emptied_in >= 0) & (step <= emptied_in + 1)
    after &= np.isin(rows, taking_rows(trace))
    return Emptied(frames, rows[inside | after])
