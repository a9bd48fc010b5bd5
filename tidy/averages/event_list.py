"""`key_averages()`: function events grouped by name, and also by shapes or stack."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Iterable
from functools import cache, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..trace import Capability, Trace
from .columns import SUMMED, Microseconds, column_sorted_by
from .function_events import FunctionEvents, listed_shapes
from .host import Numbers
from .layout import Table
from .table import FunctionEventAvg, Printer, TableOptions, self_device_ns

_P = ParamSpec("_P")
_R = TypeVar("_R")
_METRICS = tuple(f"self_{device}_time_total" for device in ("cpu", "device", "cuda", "xpu"))
# Separators of the format of folded stacks; PyTorch replaces the same ones.
_REPLACED = str.maketrans({" ": "_", ";": "_", "\t": "_", "\n": "_", "\r": "_"})


class EventList(list[FunctionEventAvg]):
    """The list that `key_averages()` gives: averages, in the order of their first events."""

    self_cpu_time_total, self_device_time_total = Microseconds(), Microseconds()

    def __init__(self, averages: Iterable[FunctionEventAvg], events: FunctionEvents) -> None:
        super().__init__(averages)
        self._events = events

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total_ns(self) -> int:
        """Time of the host in nanoseconds: the sum of all self times."""
        return sum(event.self_cpu_time_total_ns for event in self)

    @property
    def self_device_time_total_ns(self) -> int:
        """Time of the devices in nanoseconds: each kernel, copy and fill counts once."""
        return self_device_ns(self)

    @property
    def use_device(self) -> str | None:
        """PyTorch's word for the devices recorded, None without devices."""
        return self._events.use_device

    def total_average(self) -> FunctionEventAvg:
        """Return the sum of all averages under the key "Total"; nested events count in each
        total.
        """
        total = FunctionEventAvg("Total", use_device=self.use_device)
        for name in SUMMED:
            setattr(total, name, sum(getattr(event, name) for event in self))
        return total

    def sorted_by(self, sort_by: str | None) -> list[FunctionEventAvg]:
        """Return the averages, the largest first; equal ones, and all of them for None, keep their
        order.

        Raises:
            ValueError: there is no such key.
        """
        if sort_by is None:
            return list(self)
        name = column_sorted_by(sort_by).name
        return sorted(self, key=lambda event: getattr(event, name), reverse=True)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int | None = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """Return the table that `torch.profiler` prints of these averages, "" if there are none.

        Args:
            sort_by: an attribute, `cpu_time_total` for example; `cuda` in it stands for `device`.
            row_limit: how many rows; negative for all.
            max_src_column_width: the widest column of source lines; None for any width.
            max_name_column_width: the widest column of names; None for any width.
            max_shapes_column_width: the widest column of shapes; None for any width.
            header: a line above the table.
            top_level_events_only: leave out what only runs inside others.
            time_unit: "s", "ms" or "us" for all times alike.

        Raises:
            ValueError: an unknown key or unit.
        """
        options = TableOptions(
            row_limit,
            max_src_column_width,
            max_name_column_width,
            max_shapes_column_width,
            header,
            top_level_events_only,
            time_unit,
        )
        return self.layout(sort_by, options).text() if self else ""

    def layout(self, sort_by: str | None, options: TableOptions) -> Table:
        """Return the table of at least one average before it is text.

        Raises:
            ValueError: an unknown key or unit.
        """
        with_flops = self._events.with_flops or sort_by == "flops"
        return Printer(self.sorted_by(sort_by), options, self._events, with_flops).table()

    def _repr_html_(self) -> str:
        return self.layout(None, TableOptions()).html(html.escape) if self else "<p>no events</p>"

    def export_stacks(
        self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total"
    ) -> None:
        """Write folded stacks for a flame graph: `outer;inner;event microseconds` a line.

        Equal stacks are added up, and those with less than a microsecond are left out. The time of
        devices is that of what an event of the host launched.

        Args:
            metric: "self_cpu_time_total" or "self_device_time_total".

        Raises:
            ValueError: the metric is another, or no Python stacks were recorded.
        """
        events, capability = self._events, Capability.STACKS
        if metric not in _METRICS:
            raise ValueError(f"no metric {metric!r}; it is one of: {', '.join(_METRICS)}")
        if capability not in events.trace.capabilities:
            raise ValueError(
                f"no {capability.label} recorded; {events.trace.info.remedy(capability)}"
            )
        index = np.flatnonzero(~events.is_device)
        keys = events.stack_number[index] * len(events.keys) + events.key_id[index]
        stacks, inverse = np.unique(keys, return_inverse=True)
        sums = np.zeros(len(stacks), np.int64)
        np.add.at(sums, inverse, events.columns[column_sorted_by(metric).field][index])
        plain = cache(lambda frame: frame.translate(_REPLACED))  # few frames are in many stacks
        with Path(path).open("w", encoding="utf-8", newline="\n") as file:
            for key, total_ns in zip(stacks.tolist(), sums.tolist(), strict=True):
                number, leaf = divmod(key, len(events.keys))
                if total_ns >= 1000:
                    frames = [*reversed(events.stacks.frames(number)), events.keys[leaf]]
                    file.write(f"{';'.join(map(plain, frames))} {total_ns // 1000}\n")


def key_averages(
    trace: Trace | FunctionEvents, group_by_input_shape: bool = False, group_by_stack_n: int = 0
) -> EventList:
    """Average events with one name, as `torch.profiler.profile.key_averages` does.

    Args:
        group_by_input_shape: only events with equal input shapes go together.
        group_by_stack_n: only events with so many equal innermost Python frames go together.
    """
    events: FunctionEvents = trace if isinstance(trace, FunctionEvents) else trace.function_events
    grouped_by: dict[str, tuple[list[list[Any]], Numbers]] = {}
    if group_by_input_shape:
        inputs_id, shapes = events.trace.inputs_id[events.rows], events.trace.inputs.shapes
        grouped_by["input_shapes"] = _distinct(inputs_id, lambda i: listed_shapes(shapes(i)))
    if group_by_stack_n > 0:
        frames = events.stacks.frames
        top = _distinct(events.stack_number, lambda i: list(frames(i, group_by_stack_n)))
        grouped_by["stack"] = top
    group = events.key_id.astype(np.int64) * 4 + events.is_device * 2 + events.is_annotation
    for values, number in grouped_by.values():
        group = np.unique(group, return_inverse=True)[1] * len(values) + number
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    # Groups stand in the order of their first event.
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    first = np.sort(first)
    averages = _averages(events, first, rank[inverse])
    for name, (values, number) in grouped_by.items():
        for average, index in zip(averages, first.tolist(), strict=True):
            setattr(average, name, list(values[int(number[index])]))
    return EventList(averages, events)


def of_averages(
    method: Callable[Concatenate[EventList, _P], _R],
) -> Callable[Concatenate[Any, _P], _R]:
    """Make a method of averages one of what has `key_averages()`: a trace, or a profiler."""

    @wraps(method)
    def call(owner: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return method(owner.key_averages(), *args, **kwargs)

    return call


def _averages(events: FunctionEvents, first: Numbers, group: Numbers) -> list[FunctionEventAvg]:
    """The average of each group of events, given its first one and the number of each one's."""
    if not len(first):
        return []
    order, counts = np.argsort(group, kind="stable"), np.bincount(group)
    starts = np.cumsum(counts) - counts
    columns = {**events.columns, "flops": events.flops}
    sums = {
        name: np.add.reduceat(column[order], starts).tolist() for name, column in columns.items()
    }
    sums["count"] = counts.tolist()
    averages = []
    for number, index in enumerate(first.tolist()):
        event = events[index]
        averages.append(
            FunctionEventAvg(
                key=event.key,
                device_type=event.device_type,
                use_device=events.use_device,
                is_user_annotation=event.is_user_annotation,
                cpu_parent=event.cpu_parent,
                **{name: values[number] for name, values in sums.items()},
            )
        )
    return averages


def _distinct(
    ids: NDArray[np.signedinteger], value_of: Callable[[int], list[Any]]
) -> tuple[list[list[Any]], Numbers]:
    """The distinct values that ids stand for, and for each event the number of its value."""
    used, inverse = np.unique(ids, return_inverse=True)
    numbers: dict[str, int] = {}
    values: list[list[Any]] = []
    of_used = []
    for each in used.tolist():
        value = value_of(each)
        of_used.append(numbers.setdefault(str(value), len(numbers)))
        if len(numbers) > len(values):
            values.append(value)
    return values, np.array(of_used, np.int64)[inverse]
