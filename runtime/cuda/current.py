"""Which device and stream are current, and what a device says of itself.

Source: torch/cuda/__init__.py.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ..storage import storage_of
from . import state
from .state import device_index, devices, here
from .streams import Stream, StreamContext, synchronize

__all__ = ["Stream", "synchronize"]


def current_device() -> int:
    """The number of the current device."""
    return device_index()


def set_device(device: Any) -> None:
    """Make it the current one; a negative number changes nothing."""
    if not (isinstance(device, int) and device < 0):
        here.device = device_index(device)


class device:
    """`with torch.cuda.device(1):` it is the current one inside; None changes nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = here.device if device is None else device_index(device)
        self._before: list[int] = []

    def __enter__(self) -> None:
        self._before.append(here.device)
        here.device = self.idx

    def __exit__(self, *exc: object) -> None:
        here.device = self._before.pop()


class device_of(device):
    """The same with the device of a tensor; of one on the CPU it changes nothing."""

    def __init__(self, obj: Any) -> None:
        storage = storage_of(obj)
        super().__init__(None if storage is None else storage.device)


def current_stream(device: Any = None) -> Stream:
    """The stream that work for a device goes to now."""
    return state.current_stream(device_index(device))


def default_stream(device: Any = None) -> Stream:
    """The stream that it goes to where no other is chosen."""
    return devices[device_index(device)].default_stream


def set_stream(stream: Stream) -> None:
    """Have work go there from now on; the stream's device becomes the current one."""
    StreamContext(stream).__enter__()


def stream(stream: Stream | None) -> StreamContext:
    """`with torch.cuda.stream(s):` work goes to `s`; None changes nothing."""
    return StreamContext(stream)


def get_device_name(device: Any = None) -> str:
    """Its name, which says that it is modelled."""
    name: str = get_device_properties(device).name
    return name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability, (major, minor)."""
    return devices[device_index(device)].spec.compute


def get_device_properties(device: Any = None) -> SimpleNamespace:
    """name, major, minor, total_memory, multi_processor_count, ..."""
    index = device_index(device)
    spec = devices[index].spec
    known = spec.properties(index)
    return SimpleNamespace(
        name=known["name"],
        major=spec.compute[0],
        minor=spec.compute[1],
        total_memory=spec.memory_nbytes,
        multi_processor_count=spec.sm_count,
        warp_size=known["warpSize"],
        L2_cache_size=spec.l2_nbytes,
        max_threads_per_multi_processor=known["maxThreadsPerMultiprocessor"],
        is_integrated=0,
        is_multi_gpu_board=0,
    )


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether they are two devices: every modelled one reaches every other."""
    return device_index(device) != device_index(peer_device)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current device computes in bfloat16 at full speed, or at all."""
    return including_emulation or get_device_capability() >= (8, 0)
