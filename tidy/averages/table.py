"""The rows of the table of averages, and how its columns are printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from ..trace import printable
from . import layout
from .columns import COLUMNS, Column, Measures, Unit
from .function_events import FunctionEvent, FunctionEvents
from .layout import PrintedColumn, Table

_WIDTH = 12
_TOP_LEVEL = "This report only display top-level ops statistics"


@dataclass
class FunctionEventAvg(Measures):
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
    """

    flops: int = 0
    input_shapes: list[Any] | str = ""
    stack: list[str] = field(default_factory=list)
    device_type: str = "cpu"
    use_device: str | None = None
    is_user_annotation: bool = False
    cpu_parent: FunctionEvent | None = None


@dataclass(frozen=True, slots=True)
class TableOptions:
    """The arguments of `EventList.table` but for `sort_by`; see there."""

    row_limit: int | None = 100
    max_src_column_width: int | None = 75
    max_name_column_width: int | None = 55
    max_shapes_column_width: int | None = 80
    header: str | None = None
    top_level_events_only: bool = False
    time_unit: str | None = None


def self_device_ns(rows: Sequence[FunctionEventAvg]) -> int:
    """Return the time of kernels, copies and fills; the rows of their ops hold that time
    once more.
    """
    return sum(
        row.self_device_time_total_ns
        for row in rows
        if row.device_type != "cpu" and not row.is_user_annotation
    )


class Printer:
    """Prints the columns that PyTorch has for these rows; those without data are left out."""

    def __init__(
        self,
        rows: Sequence[FunctionEventAvg],
        options: TableOptions,
        events: FunctionEvents,
        with_flops: bool,
    ) -> None:
        """Take rows, of which there is at least one; `events` tells what was recorded.

        Raises:
            ValueError: an unknown unit of time.
        """
        if options.time_unit is not None and options.time_unit not in layout.TIME_UNITS:
            raise ValueError(f"cannot show times in {options.time_unit!r}; it is one of: s, ms, us")
        shown = [row for row in rows if not options.top_level_events_only or row.cpu_parent is None]
        if options.row_limit is not None and options.row_limit >= 0:
            shown = shown[: options.row_limit]
        self._rows, self._shown, self._options = rows, shown, options
        self._events, self._with_flops = events, with_flops
        self._device = (events.use_device or "None").upper()
        self._cpu_us = sum(row.self_cpu_time_total_ns for row in rows) / 1000
        self._device_us = self_device_ns(rows) / 1000
        self._has_device_time = any(row.self_device_time_total_ns > 0 for row in rows)
        self._more_frames: list[list[str]] = []

    def table(self) -> Table:
        """Return the table, with the lines above and below it."""
        above = [] if self._options.header is None else [self._options.header]
        above += [_TOP_LEVEL] if self._options.top_level_events_only else []
        below = [f"Self CPU time total: {self._time(self._cpu_us)}"]
        if self._has_device_time:
            below.append(f"Self {self._device} time total: {self._time(self._device_us)}")
        placed = []
        for column in COLUMNS:
            if column.place and self._is_shown(column):
                placed.append((column.place, self._printed(column)))
                if column.share_place:
                    placed.append((column.share_place, self._shares(column)))
        columns = [printed for _, printed in sorted(placed, key=itemgetter(0))]
        return Table(columns, above, below, self._more_frames)

    def _time(self, time_us: float) -> str:
        return layout.format_time(time_us, self._options.time_unit)

    def _is_shown(self, column: Column) -> bool:
        if column.unit is Unit.MEMORY:
            used = not column.of_device or any(r.self_device_memory_usage > 0 for r in self._rows)
            has_device = not column.of_device or self._events.use_device is not None
            return self._events.profile_memory and used and has_device
        if column.unit is Unit.FLOPS and not self._with_flops:
            return False
        if column.unit in (Unit.FLOPS, Unit.SHAPES, Unit.STACK):
            return any(getattr(row, column.name) for row in self._rows)
        return self._has_device_time or not column.of_device

    def _printed(self, column: Column) -> PrintedColumn:
        title, width = column.title.format(self._device), _WIDTH
        cell: Callable[[Any], str] = str
        values = [getattr(row, column.name) for row in self._rows]
        if column.unit in (Unit.TIME, Unit.MEAN_TIME):
            cell = self._time
        elif column.unit is Unit.MEMORY:
            cell = layout.format_memory
        elif column.unit is Unit.TEXT:
            most = self._options.max_name_column_width
            width = layout.widest(values, most)
            cell = lambda name: layout.shortened_name(printable(name), most)  # noqa: E731
        elif column.unit is Unit.SHAPES:
            width = layout.widest(values, self._options.max_shapes_column_width)
            cell = lambda shapes: str(shapes)[:width]  # noqa: E731
        elif column.unit is Unit.FLOPS:
            scale, unit = layout.flops_scale(min(flops for flops in values if flops > 0))
            title = f"Total {unit}"
            cell = lambda flops: f"{flops * scale:8.3f}" if flops > 0 else "--"  # noqa: E731
        elif column.unit is Unit.STACK:
            return self._places(column)
        cells = [cell(getattr(row, column.name)) for row in self._shown]
        return PrintedColumn(title, width, cells, column.name, loses=column.loses)

    def _shares(self, column: Column) -> PrintedColumn:
        total_us = self._device_us if column.of_device else self._cpu_us
        cells = [layout.format_share(getattr(row, column.name), total_us) for row in self._shown]
        return PrintedColumn(f"{column.title.format(self._device)} %", _WIDTH, cells, loses=1)

    def _places(self, column: Column) -> PrintedColumn:
        frames = [frame for row in self._rows for frame in row.stack]
        width = layout.widest(frames, self._options.max_src_column_width)
        stacks = [
            [layout.shortened_path(printable(f), width) for f in row.stack] for row in self._shown
        ]
        self._more_frames = [stack[1:] for stack in stacks]
        first = [stack[0] if stack else "" for stack in stacks]
        return PrintedColumn(column.title, width, first, column.name, left=True)
