"""The trace model: one table of columns, one tree, and views on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..first_use import on_first_use

if TYPE_CHECKING:
    from .build import build_trace
    from .event import Event, Events, rows_of
    from .info import Capability, DeviceProperties, TraceInfo
    from .intervals import Intervals
    from .kinds import EventKind
    from .location import Location
    from .memory import MemoryTable
    from .raw_columns import RawColumns, Rows, Track
    from .steps import Step
    from .trace import Trace
    from .units import count_text, number_text, plain_name, printable, range_text, time_text
    from .window import LeftOut, Window

__all__ = [
    "Capability",
    "DeviceProperties",
    "Event",
    "EventKind",
    "Events",
    "Intervals",
    "LeftOut",
    "Location",
    "MemoryTable",
    "RawColumns",
    "Rows",
    "Step",
    "Trace",
    "TraceInfo",
    "Track",
    "Window",
    "build_trace",
    "count_text",
    "number_text",
    "plain_name",
    "printable",
    "range_text",
    "rows_of",
    "time_text",
]

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "build": "build_trace",
        "event": "Event Events rows_of",
        "info": "Capability DeviceProperties TraceInfo",
        "intervals": "Intervals",
        "kinds": "EventKind",
        "location": "Location",
        "memory": "MemoryTable",
        "raw_columns": "RawColumns Rows Track",
        "steps": "Step",
        "trace": "Trace",
        "units": "count_text number_text plain_name printable range_text time_text",
        "window": "LeftOut Window",
    },
)
