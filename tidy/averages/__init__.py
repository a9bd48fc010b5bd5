"""`key_averages()` and `table()` of a trace, as `torch.autograd.profiler` computes them.

`Trace` itself knows nothing of averages. Importing this package gives it `function_events`,
`key_averages`, `table` and `export_stacks`; whatever hands a trace to a user imports it.
"""

from __future__ import annotations

from functools import cached_property

from ..trace import Trace
from .event_list import EventList, key_averages, of_averages
from .function_events import FunctionEvent, FunctionEvents
from .table import FunctionEventAvg

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "FunctionEvents", "key_averages"]

Trace.function_events = cached_property(FunctionEvents)
Trace.function_events.__set_name__(Trace, "function_events")
Trace.key_averages = key_averages
Trace.table = of_averages(EventList.table)
Trace.export_stacks = of_averages(EventList.export_stacks)
