"""Keys that a table can be sorted by."""

from __future__ import annotations

from collections.abc import Sequence

from .average import FunctionEventAvg

SORT_KEYS = (
    "cpu_time",
    "cpu_time_total",
    "self_cpu_time_total",
    "device_time",
    "device_time_total",
    "self_device_time_total",
    "cpu_memory_usage",
    "self_cpu_memory_usage",
    "device_memory_usage",
    "self_device_memory_usage",
    "count",
    "flops",
    "key",
)
_TITLES = {
    "cpu_time": "CPU time avg",
    "device_time": "{} time avg",
    "cpu_memory_usage": "CPU Mem",
    "self_cpu_memory_usage": "Self CPU Mem",
    "device_memory_usage": "{} Mem",
    "self_device_memory_usage": "Self {} Mem",
}


def sort_attribute(sort_by: str) -> str:
    """The attribute that a key stands for: PyTorch's older keys say `cuda` or `xpu`."""
    return sort_by.replace("cuda", "device").replace("xpu", "device")


def sort_title(sort_by: str, device: str | None) -> str:
    """The title of the column sorted by, "" where it is one that a narrow table has too."""
    return _TITLES.get(sort_attribute(sort_by), "").format((device or "None").upper())


def sorted_by(events: Sequence[FunctionEventAvg], sort_by: str | None) -> list[FunctionEventAvg]:
    """The largest first; equal ones keep their order.

    Raises:
        ValueError: there is no such key.
    """
    if sort_by is None:
        return list(events)
    name = sort_attribute(sort_by)
    if name not in SORT_KEYS:
        known = ", ".join(SORT_KEYS)
        raise ValueError(f"cannot sort by {sort_by!r}; it is one of: {known}")
    return sorted(events, key=lambda event: getattr(event, name), reverse=True)
