"""`key_averages()` and `table()` of a trace, as `torch.autograd.profiler` computes them."""

from __future__ import annotations

from .average import FunctionEventAvg
from .event_list import EventList
from .function_events import FunctionEvents
from .group import key_averages
from .sorting import SORT_KEYS, sort_attribute, sort_title, sorted_by
from .table import TableOptions
from .views import FunctionEvent

__all__ = [
    "SORT_KEYS",
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "FunctionEvents",
    "TableOptions",
    "key_averages",
    "sort_attribute",
    "sort_title",
    "sorted_by",
]
