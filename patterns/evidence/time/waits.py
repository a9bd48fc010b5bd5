"""Calls in which the host waits for a device, which of them are asked for, and what that costs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidy.trace import Event, EventKind, Intervals, Rows, Trace
from tidy.trace.location import parse_frame

from ..device.devices import any_busy
from ..device.graphs import KERNEL_LAUNCHES
from ..device.launches import calls_of, calls_that_launched
from ..python.frames import is_front_door, is_of_framework
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
_INTERNAL_RANGES = re.compile(
    r"(nccl|gloo|mpi|ucc|c10d)[:_]|FSDP::|FullyShardedDataParallel|DistributedDataParallel\."
)

# Launches of short kernels, to tell by them how long a launch takes that hardly waits.
_FEWEST_SHORT, _MOST_OF_IT = 10, 0.5


class Wait(NamedTuple):
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
    """Return the devices' idle time after these waits, each for as long as the host waited.

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


def cost_of_waits(trace: Trace, waits: Sequence[Wait], warning_from: float) -> Cost:
    """Return the idle time after the waits, which matters where each step waits and it is so much
    of it.

    Where device work may be missing in the trace it is not known whether a device did idle.
    """
    idle = idle_after(waits, any_busy(trace)) & trace.step_time
    each_step = len(waits) >= len(trace.window.steps)
    known = each_step and not trace.may_lack_work
    matters = known and idle.total_ns >= warning_from * trace.window.time_ns
    return Cost(idle, matters, on_device=True)


def asked_for(trace: Trace) -> Iterator[Wait]:
    """Waits that the script asks for, on threads that run ops."""
    ops = trace.rows_of_kind(EventKind.TorchOp)
    working = set(np.unique(trace.track_id[ops]).tolist())
    last_op_ns = int(trace.start_ns[ops].max())
    calls = synchronizing_calls(trace)
    above = trace.caller[calls]
    in_op = (above >= 0) & (trace.kind[above] == EventKind.TorchOp)
    for event in trace.events(calls[~in_op]):
        if event.parent is None and event.start_ns > last_op_ns:
            continue  # the profiler's own, as the recording ends
        if int(trace.track_id[event.row]) in working and _is_asked_for(event):
            yield Wait(event, event.duration_ns, event.end_ns)


def _is_asked_for(call: Event) -> bool:
    """Tell whether the user's code, or a library other than PyTorch, called for it."""
    in_range = named = False
    for above in call.ancestors():
        if above.kind == EventKind.TorchOp:
            return False
        if above.kind == EventKind.Annotation:
            if _INTERNAL_RANGES.match(above.name):
                return False
            in_range = True
            continue
        if in_range and not named:
            return True  # the call is in no frame inside the range: there are no stacks to ask
        named = named or "synchronize" in above.name
        frame = parse_frame(above.name)
        if frame is not None and not is_front_door(frame):
            return named and not is_of_framework(frame.file)
    return named or in_range or call.parent is None


def until_their_kernels_end(trace: Trace, long_ns: int) -> tuple[Rows, Rows]:
    """Calls that launch long kernels in the window, and those that wait until the kernel ends.

    Where a host takes longer to return from any launch than kernels take, none is known to wait.
    """
    kernels = trace.rows_of_kind(EventKind.Kernel)
    kernels = kernels[trace.step_time.contains(trace.start_ns[kernels])]
    calls = trace.caller[kernels].astype(np.int64)
    known = np.isin(calls, calls_of(trace, *KERNEL_LAUNCHES))
    kernels, calls = kernels[known], calls[known]
    is_long = trace.duration_ns[kernels] >= long_ns
    until = is_long & (trace.end_ns[calls] >= trace.end_ns[kernels])
    until &= trace.start_ns[kernels] >= trace.start_ns[calls]  # else the clocks are not to be told
    is_short = trace.duration_ns[kernels] < long_ns / 2
    if until.any() and not _lasts_longer(trace, kernels, calls, until, is_short):
        until[:] = False
    return calls[is_long], calls[until]


def _lasts_longer(
    trace: Trace,
    kernels: Rows,
    calls: Rows,
    is_long: NDArray[np.bool_],
    is_short: NDArray[np.bool_],
) -> bool:
    """Tell whether launches of long kernels take longer by about as much as their kernels do.

    Without short ones to compare with, kernels have to take longer than they take to begin.
    """
    kernel_ns, call_ns = trace.duration_ns[kernels], trace.duration_ns[calls]
    longest_ns = float(np.median(kernel_ns[is_long]))
    if np.count_nonzero(is_short) < _FEWEST_SHORT:
        delay_ns = trace.start_ns[kernels[is_long]] - trace.start_ns[calls[is_long]]
        return longest_ns >= float(np.median(delay_ns))
    more_ns = np.median(call_ns[is_long]) - np.median(call_ns[is_short])
    return bool(more_ns >= _MOST_OF_IT * (longest_ns - np.median(kernel_ns[is_short])))


def right_after_launches(trace: Trace) -> tuple[Rows, Rows]:
    """Return all launches in the window, and the calls that synchronise right after one in
    its op.
    """
    rows = calls_of(
        trace, *KERNEL_LAUNCHES, *SYNCHRONIZE, "cu*Memcpy*", "hip*Memcpy*", "cu*Memset*"
    )
    rows = rows[trace.in_window(rows)] if len(rows) else rows
    rows = rows[np.lexsort((trace.start_ns[rows], trace.track_id[rows]))]
    is_launch = np.isin(rows, calls_of(trace, *KERNEL_LAUNCHES))
    is_wait = np.isin(rows, synchronizing_calls(trace))
    caller = trace.caller[rows]
    follows = is_launch[:-1] & is_wait[1:] & (caller[1:] == caller[:-1]) & (caller[1:] >= 0)
    follows &= trace.kind[caller[1:]] == EventKind.TorchOp
    return rows[is_launch], rows[1:][follows]
