"""`EventList`: averages, and how they are shown."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from .average import SUMMED, FunctionEventAvg
from .folded import write_folded
from .layout import Table
from .sorting import sorted_by
from .table import TableOptions, build_table, self_device_ns

if TYPE_CHECKING:
    from .function_events import FunctionEvents


class EventList(list[FunctionEventAvg]):
    """What `key_averages()` gives: a list of averages, in the order of their first events."""

    def __init__(self, averages: Iterable[FunctionEventAvg], events: FunctionEvents) -> None:
        super().__init__(averages)
        self._events = events

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total_ns(self) -> int:
        """Time of the host: the self times of all events."""
        return sum(event.self_cpu_time_total_ns for event in self)

    @property
    def self_cpu_time_total(self) -> float:
        """The same in microseconds."""
        return self.self_cpu_time_total_ns / 1000

    @property
    def self_device_time_total_ns(self) -> int:
        """Time of the devices: all their kernels, copies and fills, each once."""
        return self_device_ns(self)

    @property
    def self_device_time_total(self) -> float:
        """The same in microseconds."""
        return self.self_device_time_total_ns / 1000

    @property
    def use_device(self) -> str | None:
        """PyTorch's word for the devices recorded, None where there are none."""
        return self._events.use_device

    def total_average(self) -> FunctionEventAvg:
        """The sum of all averages under the key "Total"; nested events count in each total."""
        total = FunctionEventAvg("Total", use_device=self._events.use_device)
        for name in SUMMED:
            setattr(total, name, sum(getattr(event, name) for event in self))
        return total

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
        """The table that `torch.profiler` prints of these averages, "" of none.

        Args:
            sort_by: an attribute, `cpu_time_total` for example; `cuda` in it stands for `device`.
            row_limit: how many rows; negative for all.
            max_src_column_width, max_name_column_width, max_shapes_column_width: None for any.
            header: a line above the table.
            top_level_events_only: leave out what only runs inside others.
            time_unit: "s", "ms" or "us" for all times alike.

        Raises:
            ValueError: a key or a unit that is none.
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
        """The table of at least one average before it is text; errors as for `table`."""
        events = self._events
        options = replace(
            options,
            use_device=events.use_device,
            profile_memory=events.profile_memory,
            with_flops=events.with_flops or sort_by == "flops",
        )
        return build_table(sorted_by(self, sort_by), options)

    def _repr_html_(self) -> str:
        return self.layout(None, TableOptions()).html(html.escape) if self else "<p>no events</p>"

    def export_stacks(
        self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total"
    ) -> None:
        """Write folded stacks for a flame graph: `outer;inner;event microseconds` a line.

        Args:
            path: the file.
            metric: "self_cpu_time_total" or "self_device_time_total".

        Raises:
            ValueError: the metric is another, or no Python stacks were recorded.
        """
        write_folded(self._events, path, metric)
