"""What a modelled device did, for those who record it: the counterpart of CUPTI's activity records.

    log = ActivityLog()
    add_log(log)
    ...
    remove_log(log)

Times are modelled ones, on the scale of `time.perf_counter_ns`; `log.turns` tells how they go with
real ones (see clock.py). A call and the work that it launched have one correlation.
Source: libkineto/src/CuptiActivity.cpp, ActivityType.h.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from . import clock


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
    """Something on a stream.

    `kind` is Kineto's category: kernel, gpu_memcpy, gpu_memset, cuda_sync. `nbytes` are those of a
    copy or fill. `args` are further ones that a trace has (grid, block, cuda_sync_kind, ...).
    `reads` and `writes` name the memory that it touches by numbers which no other memory ever has.
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
    """Everything that was seen, in the order in which the host asked for it."""

    calls: list[RuntimeCall] = field(default_factory=list)
    work: list[DeviceWork] = field(default_factory=list)
    memory: list[DeviceMemory] = field(default_factory=list)
    turns: list[clock.Turn] = field(default_factory=list)


logs: list[ActivityLog] = []


def add_log(log: ActivityLog) -> None:
    """Fill it from now on."""
    clock.add_turns(log.turns)
    logs.append(log)


def remove_log(log: ActivityLog) -> None:
    clock.turns[:] = [each for each in clock.turns if each is not log.turns]
    logs[:] = [each for each in logs if each is not log]


def properties() -> list[dict[str, Any]]:
    """The configured devices, as `deviceProperties` of a trace lists them; [] if there are none."""
    from .state import devices

    return [device.spec.properties(device.index) for device in devices]
