"""What a modelled device did, for those who record it: the counterpart of CUPTI's activity records.

Beside it the calls that launch no work: they take the host time, or have it wait.

    log = ActivityLog()
    add_log(log)
    ...
    remove_log(log)

All times are modelled ones, on the scale of `time.perf_counter_ns`; `log.turns` maps real times to
them (see clock.py). A call and the work that it launched have the same correlation number.
Source: libkineto/src/CuptiActivity.cpp, ActivityType.h.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from . import clock
from .stream_timelines import StreamTimeline


class RuntimeCall(NamedTuple):
    """A call of the CUDA runtime by the host (`cudaLaunchKernel`, `cudaStreamSynchronize`, ...).

    `ident` is the thread's, as `threading.get_ident` numbers it.
    """

    name: str
    start_ns: int
    end_ns: int
    ident: int
    correlation: int


class DeviceWork(NamedTuple):
    """A piece of work on a stream.

    `kind` is Kineto's category: kernel, gpu_memcpy, gpu_memset, cuda_sync. `nbytes` is the size of
    a copy or a fill. `args` are the further ones that a trace has (grid, block, cuda_sync_kind).
    `reads` and `writes` are the numbers of the storages that it touches; none is used twice.
    """

    kind: str
    name: str
    start_ns: int
    end_ns: int
    device: int
    stream: int
    correlation: int
    nbytes: int = 0
    args: Mapping[str, Any] = {}
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()


class DeviceMemory(NamedTuple):
    """Memory of a device was given out, or back (`nbytes` negative), at a modelled time.

    `allocated_nbytes` and `reserved_nbytes` are the device's totals after it.
    """

    time_ns: int
    ident: int
    device: int
    address: int
    nbytes: int
    allocated_nbytes: int
    reserved_nbytes: int
    out_of_memory: bool = False


@dataclass(slots=True)
class ActivityLog:
    """Everything that happened, in the order in which the host asked for it."""

    calls: list[RuntimeCall] = field(default_factory=list)
    work: list[DeviceWork] = field(default_factory=list)
    memory: list[DeviceMemory] = field(default_factory=list)
    turns: list[clock.Turn] = field(default_factory=list)


logs: list[ActivityLog] = []
correlations = itertools.count(1)
_WAIT_NS = 3_000  # a call that waits, when there is nothing to wait for


def add_log(log: ActivityLog) -> None:
    """Have everything that happens from now on written to `log`."""
    clock.add_turns(log.turns)
    logs.append(log)


def remove_log(log: ActivityLog) -> None:
    """Have nothing more written to `log`."""
    clock.turns[:] = [each for each in clock.turns if each is not log.turns]
    logs[:] = [each for each in logs if each is not log]


def log_call(name: str, start_ns: int, end_ns: int, correlation: int) -> None:
    """Write a call of this thread to all logs."""
    call = RuntimeCall(name, start_ns, end_ns, threading.get_ident(), correlation)
    for log in logs:
        log.calls.append(call)


def log_work(
    kind: str,
    name: str,
    span: tuple[int, int],
    stream: StreamTimeline,
    correlation: int,
    nbytes: int = 0,
    args: Mapping[str, Any] | None = None,
    reads: tuple[int, ...] = (),
    writes: tuple[int, ...] = (),
) -> None:
    """Write work on a stream to all logs.

    The host may wait for a device or an event: Kineto shows that as work on stream -1.
    """
    number = -1 if name in ("Context Sync", "Event Sync") else stream.number
    place = stream.device_index, number
    work = DeviceWork(kind, name, *span, *place, correlation, nbytes, args or {}, reads, writes)
    for log in logs:
        log.work.append(work)


def host_call(name: str, cost_ns: int) -> int:
    """Make a call that takes the host `cost_ns` and launches nothing; return its correlation."""
    start = clock.now_ns()
    correlation = next(correlations)
    clock.wait_until(start + cost_ns)
    if logs:
        log_call(name, start, start + cost_ns, correlation)
    return correlation


def host_wait(name: str, until_ns: int, kind: str, stream: StreamTimeline, **args: Any) -> None:
    """Let the host wait for the device until `until_ns`, in a call.

    Args:
        kind: what Kineto calls the waiting: Stream Sync, Context Sync, Event Sync.
        args: further ones that a trace shows of it.
    """
    start = clock.now_ns()
    end = max(until_ns, start + _WAIT_NS)
    clock.wait_until(end)
    if logs:
        correlation = next(correlations)
        log_call(name, start, end, correlation)
        shown = {"cuda_sync_kind": kind, "wait_on_stream": stream.number, **args}
        log_work("cuda_sync", kind, (start, end), stream, correlation, args=shown)
