"""Backward events have the stack of their forward, since their own is that of the engine alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .stacks import NO_STACK

if TYPE_CHECKING:
    from .function_events import FunctionEvents

Column = NDArray[np.int64]
_ENGINE = "autograd::engine::evaluate_function: "


def with_forward_stacks(events: FunctionEvents, numbers: Column) -> Column:
    """`numbers` with those of events in a backward function replaced.

    As `EventList._set_backward_stacktraces`: the first event of the forward thread with the same
    sequence number gives the stack; where there is none it is empty.
    """
    function = _backward_functions(events)
    inside = np.flatnonzero(function >= 0)
    if not len(inside):
        return numbers
    trace = events.trace
    first = _first_by_sequence(events, function < 0)
    replaced = numbers.copy()
    stack_of = dict[int, int]()
    for index in np.unique(function[inside]).tolist():
        row = int(events.rows[index])
        forward = trace.forward.get(row, -1)
        key = (int(trace.sequence_nr[row]), int(trace.track_id[forward]))
        found = first.get(key, -1) if forward >= 0 else -1
        stack_of[index] = int(numbers[found]) if found >= 0 else NO_STACK
    indexes = np.array(list(stack_of), np.int64)
    stacks = np.array(list(stack_of.values()), np.int64)
    replaced[inside] = stacks[np.searchsorted(indexes, function[inside])]
    return replaced


def _backward_functions(events: FunctionEvents) -> Column:
    """For each event the backward function that it is or is in, or -1.

    The engine calls `XBackward0` in a range of its own with that name at the end.
    """
    number_of = {key: number for number, key in enumerate(events.keys)}
    caller = [number_of.get(_ENGINE + key, -2) for key in events.keys]
    parent, key_id = events.parent, events.key_id
    above = np.where(parent >= 0, key_id[np.maximum(parent, 0)], -1)
    is_function = above == np.array(caller, np.int64)[key_id]
    nearest = np.where(is_function, np.arange(len(events)), parent)
    while True:
        further = np.where(nearest >= 0, nearest[np.maximum(nearest, 0)], -1)
        if np.array_equal(further, nearest):
            return nearest
        nearest = further


def _first_by_sequence(
    events: FunctionEvents, eligible: NDArray[np.bool_]
) -> dict[tuple[int, int], int]:
    """(sequence number, track) -> the first event of it."""
    sequence_nr = events.trace.sequence_nr[events.rows]
    found = np.flatnonzero(eligible & (sequence_nr >= 0))[::-1]  # of equal keys the last stays
    tracks = events.trace.track_id[events.rows[found]]
    keys = zip(sequence_nr[found].tolist(), tracks.tolist(), strict=True)
    return dict(zip(keys, found.tolist(), strict=True))
