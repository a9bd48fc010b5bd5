"""What the caching allocator tells of a device's memory: torch.cuda's functions.

Sizes are in bytes. Source: torch/cuda/memory.py.
"""

from __future__ import annotations

from typing import Any

from .activity import host_call
from .caching_allocator import MemoryStats
from .modelled_device import devices
from .streams import device_index

_INFO_NS = 20_000  # cudaMemGetInfo


def _stats(device: Any) -> MemoryStats:
    """The statistics of a device; all zero where no device is configured."""
    return devices[device_index(device)].allocator.stats if devices else MemoryStats()


def memory_allocated(device: Any = None) -> int:
    """Return the memory of a device that tensors have."""
    return _stats(device).allocated_nbytes.current


def max_memory_allocated(device: Any = None) -> int:
    """Return the most that tensors had since the start or `reset_peak_memory_stats`."""
    return _stats(device).allocated_nbytes.peak


def memory_reserved(device: Any = None) -> int:
    """Return the memory of a device that the allocator has taken, in use or not."""
    return _stats(device).reserved_nbytes.current


def max_memory_reserved(device: Any = None) -> int:
    """Return the most that the allocator had taken since the start or `reset_peak_memory_stats`."""
    return _stats(device).reserved_nbytes.peak


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Have peaks begin anew, at what there is now."""
    for tally in _stats(device).tallies().values():
        tally.peak = tally.current


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def memory_stats(device: Any = None) -> dict[str, int]:
    """Return the statistics by PyTorch's names, of all pools together; {} without a device."""
    if not devices:
        return {}
    stats, shown = _stats(device), dict[str, int]()
    for name, tally in stats.tallies().items():
        shown[f"{name}.all.current"], shown[f"{name}.all.peak"] = tally.current, tally.peak
        shown[f"{name}.all.allocated"] = tally.total
        shown[f"{name}.all.freed"] = tally.total - tally.current
    shown["num_ooms"] = stats.out_of_memory
    shown["num_device_alloc"] = shown["segment.all.allocated"]
    shown["num_device_free"] = shown["segment.all.freed"]
    return shown


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """(free, total) memory of a device."""
    owner = devices[device_index(device)]
    host_call("cudaMemGetInfo", _INFO_NS)
    return owner.spec.memory_nbytes - memory_reserved(device), owner.spec.memory_nbytes


def empty_cache() -> None:
    """Give what is not in use back to the devices, which waits for them."""
    for device in devices:
        device.allocator.empty_cache()


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Have the allocator take no more than this share (0 to 1) of the memory."""
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    if devices:
        allocator = devices[device_index(device)].allocator
        allocator.limit_nbytes = int(allocator.total_nbytes * fraction)
