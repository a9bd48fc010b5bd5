"""What the caching allocator tells. Sizes are in bytes. Source: torch/cuda/memory.py."""

from __future__ import annotations

from typing import Any

from .allocator import CachingAllocator
from .modelled_device import host_call
from .state import device_index, devices

_KEYS = ("allocation", "allocated_bytes", "segment", "reserved_bytes")
_INFO_NS = 20_000  # cudaMemGetInfo


def _of(device: Any) -> CachingAllocator | None:
    return devices[device_index(device)].allocator if devices else None


def memory_allocated(device: Any = None) -> int:
    """What tensors have of a device's memory."""
    found = _of(device)
    return found.stats.allocated_nbytes if found else 0


def max_memory_allocated(device: Any = None) -> int:
    """The most they had since the start or `reset_peak_memory_stats`."""
    found = _of(device)
    return found.stats.peak_allocated_nbytes if found else 0


def memory_reserved(device: Any = None) -> int:
    """What the allocator has of the device's memory, in use or not."""
    found = _of(device)
    return found.stats.reserved_nbytes if found else 0


def max_memory_reserved(device: Any = None) -> int:
    """The most it had."""
    found = _of(device)
    return found.stats.peak_reserved_nbytes if found else 0


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Peaks begin anew, with what there is now."""
    found = _of(device)
    if found:
        found.stats.reset_peaks()


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Sums over time begin anew."""
    found = _of(device)
    if found:
        found.stats.reset_sums()


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def memory_stats(device: Any = None) -> dict[str, int]:
    """The statistics by PyTorch's names, those of all pools together."""
    found = _of(device)
    if found is None:
        return {}
    stats = found.stats
    now = {
        "allocation": (stats.allocations, stats.peak_allocations, stats.given),
        "allocated_bytes": (
            stats.allocated_nbytes,
            stats.peak_allocated_nbytes,
            stats.given_nbytes,
        ),
        "segment": (stats.segments, stats.peak_segments, stats.segments_made),
        "reserved_bytes": (
            stats.reserved_nbytes,
            stats.peak_reserved_nbytes,
            stats.reserved_in_all_nbytes,
        ),
    }
    shown: dict[str, int] = {}
    for name, (current, peak, in_all) in now.items():
        shown[f"{name}.all.current"], shown[f"{name}.all.peak"] = current, peak
        shown[f"{name}.all.allocated"], shown[f"{name}.all.freed"] = in_all, in_all - current
    shown["num_ooms"] = stats.out_of_memory
    shown["num_device_alloc"] = stats.segments_made
    shown["num_device_free"] = stats.segments_made - stats.segments
    return shown


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The statistics as a table."""
    rows = [f"{'modelled device memory':32}{'current':>16}{'peak':>16}"]
    stats = memory_stats(device)
    for name in _KEYS:
        current, peak = (stats.get(f"{name}.all.{which}", 0) for which in ("current", "peak"))
        rows.append(f"{name:32}{current:>16,}{peak:>16,}")
    return "\n".join(rows)


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
    """Have the allocator take no more than this share of the memory.

    Raises:
        ValueError: not between 0 and 1.
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    found = _of(device)
    if found:
        found.limit_nbytes = int(found.total_nbytes * fraction)
