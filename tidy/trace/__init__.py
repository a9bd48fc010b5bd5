"""The trace model: one table of columns, one tree, and views on them."""

from .build import build_trace
from .columns import RawColumns, Strings, Track
from .event import Event
from .info import Capability, Device, TraceInfo, remedy
from .intervals import Intervals
from .kinds import EventKind
from .location import Location
from .steps import Step
from .trace import Trace

__all__ = [
    "Capability",
    "Device",
    "Event",
    "EventKind",
    "Intervals",
    "Location",
    "RawColumns",
    "Step",
    "Strings",
    "Trace",
    "TraceInfo",
    "Track",
    "build_trace",
    "remedy",
]
