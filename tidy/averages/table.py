"""Which columns the table of averages has, and what stands in their cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .average import FunctionEventAvg
from .formatted import TIME_UNITS, flops_scale, format_memory, format_share, format_time
from .layout import Column, Table, shortened_name, shortened_path, widest

_WIDTH = 12
_TOP_LEVEL = "This report only display top-level ops statistics"


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Arguments of `EventList.table`, and what was recorded."""

    row_limit: int | None = 100
    max_src_column_width: int | None = 75
    max_name_column_width: int | None = 55
    max_shapes_column_width: int | None = 80
    header: str | None = None
    top_level_events_only: bool = False
    time_unit: str | None = None
    use_device: str | None = None
    profile_memory: bool = False
    with_flops: bool = False


def build_table(events: Sequence[FunctionEventAvg], options: TableOptions) -> Table:
    """Lay out averages, of which there is at least one.

    Raises:
        ValueError: an unknown unit of time.
    """
    if options.time_unit is not None and options.time_unit not in TIME_UNITS:
        raise ValueError(f"cannot show times in {options.time_unit!r}; it is one of: s, ms, us")
    cpu_us = sum(event.self_cpu_time_total_ns for event in events) / 1000
    device_us = self_device_ns(events) / 1000
    shown = [e for e in events if not options.top_level_events_only or e.cpu_parent is None]
    if options.row_limit is not None and options.row_limit >= 0:
        shown = shown[: options.row_limit]
    columns, more_frames = _Columns(events, shown, options).build(cpu_us, device_us)
    above = [] if options.header is None else [options.header]
    above += [_TOP_LEVEL] if options.top_level_events_only else []
    below = [f"Self CPU time total: {format_time(cpu_us, options.time_unit)}"]
    if _has_device_time(events):
        device = (options.use_device or "None").upper()
        below.append(f"Self {device} time total: {format_time(device_us, options.time_unit)}")
    return Table(columns, above, below, more_frames)


def self_device_ns(events: Sequence[FunctionEventAvg]) -> int:
    """Time of kernels, copies and fills; that of their ops is the same time."""
    return sum(
        event.self_device_time_total_ns
        for event in events
        if event.device_type != "cpu" and not event.is_user_annotation
    )


def _has_device_time(events: Sequence[FunctionEventAvg]) -> bool:
    return any(event.self_device_time_total_ns > 0 for event in events)


class _Columns:
    """The columns that PyTorch has for these averages; those without data are left out."""

    def __init__(
        self,
        events: Sequence[FunctionEventAvg],
        shown: Sequence[FunctionEventAvg],
        options: TableOptions,
    ) -> None:
        self._events, self._shown, self._options = events, shown, options
        self._columns: list[Column] = []

    def build(self, cpu_us: float, device_us: float) -> tuple[list[Column], list[list[str]]]:
        """The columns, and the further frames of each row."""
        self._add_name()
        self._add("Self CPU %", lambda e: format_share(e.self_cpu_time_total, cpu_us))
        self._add_time("Self CPU", lambda e: e.self_cpu_time_total)
        self._add("CPU total %", lambda e: format_share(e.cpu_time_total, cpu_us))
        self._add_time("CPU total", lambda e: e.cpu_time_total)
        self._add_time("CPU time avg", lambda e: e.cpu_time)
        if _has_device_time(self._events):
            self._add_device_times((self._options.use_device or "None").upper(), device_us)
        if self._options.profile_memory:
            self._add_memory()
        self._add("# of Calls", lambda e: str(e.count))
        self._add_shapes()
        more_frames = self._add_stacks()
        if self._options.with_flops:
            self._add_flops()
        return self._columns, more_frames

    def _add(
        self, title: str, cell: Callable[[FunctionEventAvg], str], width: int = _WIDTH
    ) -> None:
        self._columns.append(Column(title, width, cells=[cell(e) for e in self._shown]))

    def _add_time(self, title: str, time_us: Callable[[FunctionEventAvg], float]) -> None:
        unit = self._options.time_unit
        self._add(title, lambda event: format_time(time_us(event), unit))

    def _add_name(self) -> None:
        most = self._options.max_name_column_width
        width = widest([event.key for event in self._events], most)
        self._add("Name", lambda e: shortened_name(_visible(e.key), most), width)

    def _add_device_times(self, device: str, total_us: float) -> None:
        self._add_time(f"Self {device}", lambda e: e.self_device_time_total)
        share = lambda e: format_share(e.self_device_time_total, total_us)  # noqa: E731
        self._add(f"Self {device} %", share)
        self._add_time(f"{device} total", lambda e: e.device_time_total)
        self._add_time(f"{device} time avg", lambda e: e.device_time)

    def _add_memory(self) -> None:
        self._add("CPU Mem", lambda e: format_memory(e.cpu_memory_usage))
        self._add("Self CPU Mem", lambda e: format_memory(e.self_cpu_memory_usage))
        device = self._options.use_device
        if device and any(event.self_device_memory_usage > 0 for event in self._events):
            device = device.upper()
            self._add(f"{device} Mem", lambda e: format_memory(e.device_memory_usage))
            self._add(f"Self {device} Mem", lambda e: format_memory(e.self_device_memory_usage))

    def _add_shapes(self) -> None:
        if any(event.input_shapes for event in self._events):
            shapes: list[Any] = [event.input_shapes for event in self._events]
            width = widest(shapes, self._options.max_shapes_column_width)
            self._add("Input Shapes", lambda e: str(e.input_shapes)[:width], width)

    def _add_stacks(self) -> list[list[str]]:
        frames = [frame for event in self._events for frame in event.stack]
        if not frames:
            return []
        width = widest(frames, self._options.max_src_column_width)
        stacks = [[shortened_path(_visible(f), width) for f in e.stack] for e in self._shown]
        first = [stack[0] if stack else "" for stack in stacks]
        self._columns.append(Column("Source Location", width, left=True, cells=first))
        return [stack[1:] for stack in stacks]

    def _add_flops(self) -> None:
        counts = [event.flops for event in self._events if event.flops > 0]
        if counts:
            scale, unit = flops_scale(min(counts))
            cell = lambda e: f"{e.flops * scale:8.3f}" if e.flops > 0 else "--"  # noqa: E731
            self._add(f"Total {unit}", cell)


def _visible(text: str) -> str:
    """`text` without what would break a line or move the cursor."""
    return "".join(char if char.isprintable() else "?" for char in text)
