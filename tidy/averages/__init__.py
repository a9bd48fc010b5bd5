"""`key_averages()` and `table()` of a trace, as `torch.autograd.profiler` computes them.

`Trace` itself knows nothing of averages. Importing this package gives it `function_events`,
`key_averages`, `table` and `export_stacks`; whatever hands a trace to a user imports it.
"""

from __future__ import annotations

import os
from functools import cached_property

from ..trace import Trace
from .event_list import EventList, key_averages
from .function_events import FunctionEvent, FunctionEvents
from .table import FunctionEventAvg

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "FunctionEvents", "key_averages"]


def _table(
    trace: Trace,
    sort_by: str | None = None,
    row_limit: int | None = 100,
    max_src_column_width: int | None = 75,
    max_name_column_width: int | None = 55,
    max_shapes_column_width: int | None = 80,
    header: str | None = None,
    top_level_events_only: bool = False,
    time_unit: str | None = None,
) -> str:
    """The table of `key_averages()`; arguments as for `EventList.table`."""
    return key_averages(trace).table(
        sort_by,
        row_limit,
        max_src_column_width,
        max_name_column_width,
        max_shapes_column_width,
        header,
        top_level_events_only,
        time_unit,
    )


def _export_stacks(
    trace: Trace, path: str | os.PathLike[str], metric: str = "self_cpu_time_total"
) -> None:
    """Write folded stacks for a flame graph; see `EventList.export_stacks`."""
    key_averages(trace).export_stacks(path, metric)


Trace.function_events = cached_property(FunctionEvents)
Trace.function_events.__set_name__(Trace, "function_events")
Trace.key_averages = key_averages
Trace.table = _table
Trace.export_stacks = _export_stacks
