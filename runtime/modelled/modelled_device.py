"""One modelled device: its memory, its engines, and when the work that it is given runs.

    host      |launch|launch|launch|                    |synchronize......|
    stream 7       |kernel   |kernel |kernel      |
    stream 13                   |copy   |

Work on a stream begins when the host has launched it and what is before it on the stream is done.
A kernel that fills the whole device runs alone; copies in one direction share one engine.
"""

from __future__ import annotations

import itertools
import os
from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..accelerator import NO_DEVICE
from .caching_allocator import CachingAllocator
from .stream_timelines import DEFAULT_STREAM, HardwareEngine, StreamTimeline

if TYPE_CHECKING:
    from .cost import KernelPlan
    from .specs import DeviceSpec

_QUEUE = 1024  # launches that may wait before the host has to
_BLOCKING = "CUDA_LAUNCH_BLOCKING"


class ModelledDevice:
    """`cuda:index`, which behaves as `spec` says."""

    def __init__(self, index: int, spec: DeviceSpec) -> None:
        self.index, self.spec = index, spec
        self.allocator = CachingAllocator(index, spec.memory_nbytes)
        self.upload, self.download = HardwareEngine(), HardwareEngine()
        self.kernels: dict[Any, tuple[KernelPlan, ...]] = {}  # by operator and operands
        self.streams: list[StreamTimeline] = []
        self._compute = HardwareEngine()
        self._queue: deque[int] = deque(maxlen=_QUEUE)
        self._stream_numbers = itertools.count(DEFAULT_STREAM + 6, 4)

    def next_stream_number(self) -> int:
        """Return the number of a new stream: 13, 17, ..., as CUDA numbers them in traces."""
        return next(self._stream_numbers)

    @property
    def idle_ns(self) -> int:
        """The modelled time at which all that was launched is done."""
        return max(stream.ready_ns for stream in self.streams)

    @cached_property
    def blocks(self) -> bool:
        """Whether launches return when their kernels are done; asked for at the first one."""
        return os.environ.get(_BLOCKING, "0") not in ("", "0")

    def launched(self, host_ns: int) -> int:
        """Launch at `host_ns`; return when the host goes on. It waits for a full queue."""
        queue = self._queue
        if len(queue) == _QUEUE and queue[0] > host_ns:
            host_ns = queue[0]
        return host_ns + self.spec.launch_ns

    def run(
        self,
        stream: StreamTimeline,
        ready_ns: int,
        duration_ns: int,
        is_full: bool = False,
        engine: HardwareEngine | None = None,
    ) -> tuple[int, int]:
        """Run work on a stream, launched by `ready_ns`; returns its start and its end.

        Args:
            is_full: whether it fills the device.
            engine: that of a copy.
        """
        begin = max(ready_ns + self.spec.start_latency_ns, stream.ready_ns)
        if is_full and len(self.streams) > 1:  # one stream alone keeps the order
            engine = self._compute
        if engine is not None:
            begin = engine.place(begin, duration_ns)
        end = begin + duration_ns
        stream.ready_ns = end
        self._queue.append(end)
        return begin, end


devices: list[ModelledDevice] = []  # the configured ones, by their numbers


def no_such_device(device: str) -> str:
    """Return the error's text: that `device` does not exist, and what to do about it."""
    if devices:
        return f"CUDA error: invalid device ordinal: {device}; there are {len(devices)}"
    return NO_DEVICE.no_such_device(device)


def device_properties() -> list[dict[str, Any]]:
    """Return the configured devices as a trace's `deviceProperties` lists them."""
    return [device.spec.properties(device.index) for device in devices]
