"""Averages as plain values, for programs: times in nanoseconds, memory in bytes."""

from __future__ import annotations

from typing import Any

from ..trace import Capability, Trace
from .average import SUMMED, FunctionEventAvg

FIELDS = (
    "key",
    "device_type",
    "is_user_annotation",
    *SUMMED,
    "input_shapes",
    "stack",
)
_NEEDS = {
    "device_time_total_ns": Capability.DEVICE,
    "self_device_time_total_ns": Capability.DEVICE,
    "cpu_memory_usage": Capability.MEMORY,
    "self_cpu_memory_usage": Capability.MEMORY,
    "device_memory_usage": Capability.MEMORY,
    "self_device_memory_usage": Capability.MEMORY,
    "flops": Capability.SHAPES,
}


def record(average: FunctionEventAvg, trace: Trace, shapes: bool, stacks: bool) -> dict[str, Any]:
    """One row; None for what was not recorded, not grouped by, or of FLOPs cannot be told."""
    absent = {name for name, needed in _NEEDS.items() if needed not in trace.capabilities}
    absent |= set() if shapes else {"input_shapes"}
    absent |= set() if stacks else {"stack"}
    absent |= set() if average.flops else {"flops"}
    return {name: None if name in absent else getattr(average, name) for name in FIELDS}
