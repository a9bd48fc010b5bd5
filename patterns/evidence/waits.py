"""Calls in which the host waits for a device, and what that costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tidy.trace import Event, Intervals, Trace

from .launches import Rows, calls_of, calls_that_launched
from .timing import Cost

# They return when the work of a stream, of an event or of the device is done.
SYNCHRONIZE = (
    "cudaStreamSynchronize*", "cudaDeviceSynchronize*", "cudaEventSynchronize*",
    "cuStreamSynchronize*", "cuCtxSynchronize*", "cuEventSynchronize*",
    "hipStreamSynchronize*", "hipDeviceSynchronize*", "hipEventSynchronize*",
)  # fmt: skip
# Copies that return when they are done (the last is what PyTorch calls on ROCm).
_BLOCKING_COPY = (
    "cudaMemcpy", "cudaMemcpy_*", "cudaMemcpy2D", "hipMemcpy", "hipMemcpyDtoH",
    "hipMemcpyWithStream",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wait:
    """An event in which the host waits.

    Attributes:
        event: the op that waits, or the call itself.
        waited_ns: time in the calls that wait.
        end_ns: when the host goes on.
    """

    event: Event
    waited_ns: int
    end_ns: int


def synchronizing_calls(trace: Trace) -> Rows:
    """Calls that return when the work of a stream, an event or a device is done."""
    return calls_of(trace, *SYNCHRONIZE)


def waiting_calls(trace: Trace) -> Rows:
    """Calls that wait: synchronising ones, blocking copies, reads into pageable memory.

    `cudaMemcpyAsync` to pageable memory returns when the copy is done (CUDA Runtime API, "API
    synchronization behavior").
    """
    reads = calls_that_launched(trace, "Memcpy DtoH (Device -> Pageable)*")
    return np.union1d(calls_of(trace, *SYNCHRONIZE, *_BLOCKING_COPY), reads)


def idle_after(waits: Iterable[Wait], busy: Intervals) -> Intervals:
    """When the devices idle after these waits, each for as long as the host waited.

    Without a wait the host would have been ahead by that much; what keeps a device idle for longer
    is not the fault of the wait. Nothing is lost where a device works on as the wait ends, or
    where no work follows.

    Args:
        busy: when any device has work.
    """
    known = np.array([(wait.end_ns, wait.waited_ns) for wait in waits], np.int64).reshape(-1, 2)
    known = known[~busy.contains(known[:, 0])]
    last_ns = busy.starts_ns[-1] if len(busy) else 0
    ends = known[:, 0]
    return Intervals(ends, np.minimum(ends + known[:, 1], last_ns)) - busy


def cost_of_waits(
    trace: Trace, waits: Sequence[Wait], busy: Intervals, warning_from: float
) -> Cost:
    """The idle time after the waits, which matters where each step waits and it is so much of it.

    Where device work may be missing in the trace it is not known whether a device did idle.
    """
    idle = idle_after(waits, busy) & trace.step_time
    each_step = len(waits) >= len(trace.window.steps)
    known = each_step and not trace.may_lack_work
    matters = known and idle.total_ns >= warning_from * trace.window.time_ns
    return Cost(idle, matters, on_device=True)
