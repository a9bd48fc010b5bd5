"""`key_averages()`: function events grouped by name, and also by shapes or stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .average import FunctionEventAvg
from .event_list import EventList
from .function_events import FunctionEvents
from .views import listed_shapes

if TYPE_CHECKING:
    from ..trace import Trace

Column = NDArray[np.int64]

_TIMES = {
    "cpu_ns": "cpu_time_total_ns",
    "self_cpu_ns": "self_cpu_time_total_ns",
    "device_ns": "device_time_total_ns",
    "self_device_ns": "self_device_time_total_ns",
    "cpu_nbytes": "cpu_memory_usage",
    "self_cpu_nbytes": "self_cpu_memory_usage",
    "device_nbytes": "device_memory_usage",
    "self_device_nbytes": "self_device_memory_usage",
}


def key_averages(
    trace: Trace | FunctionEvents, group_by_input_shape: bool = False, group_by_stack_n: int = 0
) -> EventList:
    """Average events with one name, as `torch.profiler.profile.key_averages` does.

    Args:
        trace: a trace, or its function events.
        group_by_input_shape: only events with equal input shapes go together.
        group_by_stack_n: only events with so many equal innermost Python frames go together.
    """
    events = trace if isinstance(trace, FunctionEvents) else FunctionEvents(trace)
    group = events.key_id.astype(np.int64) * 4 + events.is_device * 2 + events.is_annotation
    shapes_text, shape_number = _shapes(events) if group_by_input_shape else ([], None)
    if shape_number is not None:
        group = _combined(group, shape_number)
    stacks, stack_number = _top_frames(events, group_by_stack_n)
    if stack_number is not None:
        group = _combined(group, stack_number)
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    # Groups stand in the order of their first event.
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    order = np.argsort(rank[inverse], kind="stable")
    first = np.sort(first)
    averages = _averages(events, first, order, np.bincount(rank[inverse], minlength=len(first)))
    for average, index in zip(averages, first.tolist(), strict=True):
        if shape_number is not None:
            average.input_shapes = shapes_text[int(shape_number[index])]
        if stack_number is not None:
            average.stack = list(stacks[int(stack_number[index])])
    return EventList(averages, events)


def _averages(
    events: FunctionEvents, first: Column, order: Column, counts: Column
) -> list[FunctionEventAvg]:
    if not len(first):
        return []
    starts = np.cumsum(counts) - counts
    columns = {_TIMES[name]: column for name, column in events.columns.items()}
    columns["flops"] = events.flops
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


def _combined(group: Column, further: Column) -> Column:
    """One number for each pair of numbers."""
    _, group = np.unique(group, return_inverse=True)
    return group.astype(np.int64) * (int(further.max(initial=0)) + 1) + further


def _shapes(events: FunctionEvents) -> tuple[list[list[object]], Column]:
    """The distinct input shapes, and the number of each event's; events without inputs have []."""
    inputs_id = events.trace.inputs_id[events.rows]
    used, inverse = np.unique(inputs_id, return_inverse=True)
    numbers: dict[str, int] = {}
    shapes: list[list[object]] = []
    of_used = []
    for each in used.tolist():
        listed = listed_shapes(events.trace.inputs.shapes(each))
        number = numbers.setdefault(str(listed), len(numbers))
        if number == len(shapes):
            shapes.append(listed)
        of_used.append(number)
    return shapes, np.array(of_used, np.int64)[inverse]


def _top_frames(events: FunctionEvents, count: int) -> tuple[list[tuple[str, ...]], Column | None]:
    """The distinct tops of stacks, and the number of each event's."""
    if count <= 0:
        return [], None
    used, inverse = np.unique(events.stack_number, return_inverse=True)
    numbers: dict[tuple[str, ...], int] = {}
    tops = (events.stacks.frames(each, count) for each in used.tolist())
    of_used = [numbers.setdefault(top, len(numbers)) for top in tops]
    return list(numbers), np.array(of_used, np.int64)[inverse]
