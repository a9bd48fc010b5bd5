"""`FunctionEventAvg`: the sum over all function events that share a key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .formatted import format_time

if TYPE_CHECKING:
    from .views import FunctionEvent

# What is added up where averages are put together.
SUMMED = (
    "count",
    "cpu_time_total_ns",
    "self_cpu_time_total_ns",
    "device_time_total_ns",
    "self_device_time_total_ns",
    "cpu_memory_usage",
    "self_cpu_memory_usage",
    "device_memory_usage",
    "self_device_memory_usage",
    "flops",
)


class Times:
    """Times in microseconds, from those in nanoseconds; averages are over `count`."""

    count: int
    cpu_time_total_ns: int
    self_cpu_time_total_ns: int
    device_time_total_ns: int
    self_device_time_total_ns: int

    @property
    def cpu_time_total(self) -> float:
        return self.cpu_time_total_ns / 1000

    @property
    def self_cpu_time_total(self) -> float:
        return self.self_cpu_time_total_ns / 1000

    @property
    def device_time_total(self) -> float:
        return self.device_time_total_ns / 1000

    @property
    def self_device_time_total(self) -> float:
        return self.self_device_time_total_ns / 1000

    @property
    def cpu_time(self) -> float:
        """Average of `cpu_time_total`."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """Average of `device_time_total`."""
        return self.device_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_total_str(self) -> str:
        return format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return format_time(self.self_cpu_time_total)

    @property
    def device_time_total_str(self) -> str:
        return format_time(self.device_time_total)

    @property
    def self_device_time_total_str(self) -> str:
        return format_time(self.self_device_time_total)

    @property
    def cpu_time_str(self) -> str:
        return format_time(self.cpu_time)

    @property
    def device_time_str(self) -> str:
        return format_time(self.device_time)


@dataclass(slots=True)
class FunctionEventAvg(Times):
    """One row of the table; attributes as PyTorch names them, times in microseconds.

    Attributes:
        key: the name, "Total" for `total_average()`.
        count: how many events.
        input_shapes: of the group where it was grouped by shapes, else "".
        stack: the frames it was grouped by, innermost first.
        cpu_memory_usage, device_memory_usage: bytes allocated less bytes freed meanwhile.
        flops: floating point operations of all calls.
        device_type: "cpu", or the device's as in `use_device`.
        cpu_parent: the event around the first of them, None at top level.
        is_async, is_legacy, is_remote, node_id, overload_name: not in a trace file.
    """

    key: str = ""
    count: int = 0
    cpu_time_total_ns: int = 0
    self_cpu_time_total_ns: int = 0
    device_time_total_ns: int = 0
    self_device_time_total_ns: int = 0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0
    device_memory_usage: int = 0
    self_device_memory_usage: int = 0
    flops: int = 0
    input_shapes: list[Any] | str = ""
    stack: list[str] = field(default_factory=list)
    device_type: str = "cpu"
    use_device: str | None = None
    is_user_annotation: bool = False
    cpu_parent: FunctionEvent | None = None
    is_async: bool = False
    is_legacy: bool = False
    is_remote: bool = False
    node_id: int = -1
    overload_name: str = ""
