"""What a device says of itself: torch.cuda's functions. Source: torch/cuda/__init__.py."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .modelled_device import devices
from .streams import device_index


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
