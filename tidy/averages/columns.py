"""The columns of averages in one table that all else follows, and the values of a row.

The sums of a row, the keys to sort by, the fields of JSON and CSV, the columns of the printed
table and those that a narrow terminal loses are read from `COLUMNS`; docs/table.md describes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ..trace import Capability
from .layout import format_time


class Unit(Enum):
    """What the values of a column are, and so how they are printed."""

    TEXT = "text"
    COUNT = "count"
    TIME = "time"
    MEAN_TIME = "mean time"
    MEMORY = "memory"
    FLOPS = "flops"
    SHAPES = "shapes"
    STACK = "stack"


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        name: what PyTorch calls it: an attribute of `FunctionEventAvg`, and a key to sort by.
        unit: what its values are.
        title: what stands above it in the printed table, with {} for the kind of device; "" where
            it is not printed.
        place: its place in the printed table, from the left; a column of percentages has half a
            place more or less.
        share_place: the place of the percentages beside it, 0 for none.
        needs: what has to be recorded for the column to mean anything.
        loses: 2 for what a narrow terminal loses first (after percentages), then 3 and 4; 0 stays.
    """

    name: str
    unit: Unit
    title: str = ""
    place: float = 0
    share_place: float = 0
    needs: Capability | None = None
    loses: int = 0

    @property
    def field(self) -> str:
        """The name of the value itself, with its unit: times are in nanoseconds."""
        return f"{self.name}_ns" if self.unit is Unit.TIME else self.name

    @property
    def of_device(self) -> bool:
        """Whether it is about devices."""
        return "{}" in self.title


_DEVICE, _MEMORY = Capability.DEVICE, Capability.MEMORY

# In the order of JSON and CSV.
COLUMNS = (
    Column("key", Unit.TEXT, "Name", 1),
    Column("device_type", Unit.TEXT),
    Column("is_user_annotation", Unit.TEXT),
    Column("count", Unit.COUNT, "# of Calls", 13),
    Column("cpu_time", Unit.MEAN_TIME, "CPU time avg", 4, loses=2),
    Column("cpu_time_total", Unit.TIME, "CPU total", 3, 2.5),
    Column("self_cpu_time_total", Unit.TIME, "Self CPU", 2, 1.5),
    Column("device_time", Unit.MEAN_TIME, "{} time avg", 8, needs=_DEVICE, loses=2),
    Column("device_time_total", Unit.TIME, "{} total", 7, needs=_DEVICE),
    Column("self_device_time_total", Unit.TIME, "Self {}", 6, 6.5, needs=_DEVICE),
    Column("cpu_memory_usage", Unit.MEMORY, "CPU Mem", 9, needs=_MEMORY, loses=3),
    Column("self_cpu_memory_usage", Unit.MEMORY, "Self CPU Mem", 10, needs=_MEMORY, loses=4),
    Column("device_memory_usage", Unit.MEMORY, "{} Mem", 11, needs=_MEMORY, loses=3),
    Column("self_device_memory_usage", Unit.MEMORY, "Self {} Mem", 12, needs=_MEMORY, loses=4),
    Column("flops", Unit.FLOPS, "Total FLOPs", 16, needs=Capability.SHAPES),
    Column("input_shapes", Unit.SHAPES, "Input Shapes", 14),
    Column("stack", Unit.STACK, "Source Location", 15),
)

_MEASURED = (Unit.TIME, Unit.MEMORY)
COLUMN_OF = {column.name: column for column in COLUMNS}
FIELDS = tuple(column.field for column in COLUMNS if column.unit is not Unit.MEAN_TIME)
# What is added up where rows are put together.
SUMMED = tuple(
    column.field for column in COLUMNS if column.unit in (*_MEASURED, Unit.COUNT, Unit.FLOPS)
)
SORT_KEYS = (
    *(column.name for column in COLUMNS if column.unit in (*_MEASURED, Unit.MEAN_TIME)),
    *("count", "flops", "key"),
)


def column_sorted_by(sort_by: str) -> Column:
    """Return the column that a key stands for; PyTorch's older keys say `cuda` or `xpu` for
    `device`.

    Raises:
        ValueError: there is no such key.
    """
    name = sort_by.replace("cuda", "device").replace("xpu", "device")
    if name not in SORT_KEYS:
        raise ValueError(f"cannot sort by {sort_by!r}; it is one of: {', '.join(SORT_KEYS)}")
    return COLUMN_OF[name]


class Microseconds:
    """The attribute `time` of a row, in microseconds, from its attribute `time_ns`."""

    def __set_name__(self, row: type[object], name: str) -> None:
        self._field = f"{name}_ns"

    def __get__(self, row: object, kind: type[object] | None = None) -> float:
        return float(getattr(row, self._field) / 1000)


class _Mean:
    """The attribute `time` of a row: the mean of its attribute `time_total`, 0.0 of no events."""

    def __set_name__(self, row: type[object], name: str) -> None:
        self._total = f"{name}_total"

    def __get__(self, row: object, kind: type[object] | None = None) -> float:
        count = getattr(row, "count", 0)
        return float(getattr(row, self._total) / count) if count else 0.0


class _Text:
    """The attribute `time_str` of a row: its attribute `time` with a unit."""

    def __set_name__(self, row: type[object], name: str) -> None:
        self._time = name.removesuffix("_str")

    def __get__(self, row: object, kind: type[object] | None = None) -> str:
        return format_time(getattr(row, self._time))


@dataclass
class Measures:
    """What was measured of one or more function events with the same key.

    Names are PyTorch's: times are in microseconds, those that end in `_ns` in nanoseconds, and
    memory is bytes allocated less bytes freed meanwhile. What begins with `self_` is without what
    ran inside.
    """

    # Not in a trace file.
    is_async = is_legacy = is_remote = False
    node_id, overload_name = -1, ""

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

    cpu_time, device_time = _Mean(), _Mean()
    cpu_time_total, self_cpu_time_total = Microseconds(), Microseconds()
    device_time_total, self_device_time_total = Microseconds(), Microseconds()
    cpu_time_str, device_time_str = _Text(), _Text()
    cpu_time_total_str, self_cpu_time_total_str = _Text(), _Text()
    device_time_total_str, self_device_time_total_str = _Text(), _Text()
