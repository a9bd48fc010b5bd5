"""Which device and stream are current, and what a device says of itself: torch.cuda's functions.

Source: torch/cuda/__init__.py.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

from . import streams
from .modelled_device import devices
from .streams import Stream, default_streams, device_index, here


def current_device() -> int:
    """Return the number of the current device."""
    return device_index()


def set_device(device: Any) -> None:
    """Make `device` the current one; a negative number changes nothing."""
    if not (isinstance(device, int) and device < 0):
        here.device = device_index(device)


class device:
    """`with torch.cuda.device(1):` makes it the current one inside; None changes nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = here.device if device is None else device_index(device)
        self._before: list[int] = []

    def __enter__(self) -> None:
        self._before.append(here.device)
        here.device = self.idx

    def __exit__(self, *exc: object) -> None:
        here.device = self._before.pop()


class StreamContext(AbstractContextManager[Any]):
    """`with torch.cuda.stream(s):` work goes to `s`, and its device is the current one."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._before: list[tuple[int, dict[int, Stream] | None]] = []

    def __enter__(self) -> StreamContext:
        self._before.append((here.device, here.streams))
        if self.stream is not None:
            here.device = self.stream.device_index
            here.streams = {**(here.streams or {}), self.stream.device_index: self.stream}
        return self

    def __exit__(self, *exc: object) -> None:
        here.device, here.streams = self._before.pop()


def stream(stream: Stream | None) -> StreamContext:
    """`with torch.cuda.stream(s):` work goes to `s`; None changes nothing."""
    return StreamContext(stream)


def set_stream(stream: Stream) -> None:
    """Have work go there from now on; the stream's device becomes the current one."""
    StreamContext(stream).__enter__()


def current_stream(device: Any = None) -> Stream:
    """Return the stream that work for a device goes to now."""
    return streams.current_stream(device_index(device))


def default_stream(device: Any = None) -> Stream:
    """Return the stream that work for a device goes to where no other is chosen."""
    return default_streams[device_index(device)]


def device_count() -> int:
    """Count how many devices are configured."""
    return len(devices)


def get_device_name(device: Any = None) -> str:
    """Return its name, which says that it is modelled."""
    return str(get_device_properties(device).name)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Return the compute capability, (major, minor)."""
    return devices[device_index(device)].spec.compute


def get_device_properties(device: Any = None) -> SimpleNamespace:
    """name, major, minor, total_memory, multi_processor_count, ..."""
    index = device_index(device)
    spec = devices[index].spec
    return SimpleNamespace(
        name=spec.properties(index)["name"],
        major=spec.compute[0],
        minor=spec.compute[1],
        total_memory=spec.memory_nbytes,
        multi_processor_count=spec.sm_count,
        warp_size=spec.warp_size,
        L2_cache_size=spec.l2_nbytes,
        max_threads_per_multi_processor=spec.max_threads_per_sm,
        is_integrated=0,
        is_multi_gpu_board=0,
    )


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Tell whether the current device computes in bfloat16 at full speed, or at all."""
    return including_emulation or get_device_capability() >= (8, 0)
