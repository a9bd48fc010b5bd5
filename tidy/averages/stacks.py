"""Python stacks of function events: the frames above each, innermost first.

They come from the tree of the trace, or, in files without Python events, from the `Call stack`
that old versions wrote beside each op. Equal stacks share one number, so that grouping by them is
grouping by numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..trace import EventKind, Trace
from ..trace.kinds import DEVICE_WORK
from ..trace.raw_columns import Interner
from .host import Numbers, nearest_marked

# Frames that PyTorch leaves out (`_filter_stack_entry` in profiler_util.py): those with both parts.
_LEFT_OUT = (
    ("autograd/__init__", "_make_grads"),
    ("autograd/__init__", "backward"),
    ("torch/tensor", "backward"),
    ("_internal/common_utils", "prof_callable"),
    ("_internal/common_utils", "prof_func_call"),
    ("_internal/common_utils", "prof_meth_call"),
)
_NO_STACK = 0
_ENGINE = "autograd::engine::evaluate_function: "


class PythonStacks:
    """The stack of each row, as a number; `frames` gives its text. Number 0 is the empty stack."""

    def __init__(self, trace: Trace) -> None:
        # A stack is a frame and the stack below it.
        self._numbers = Interner({None: _NO_STACK})
        self.of_row = np.zeros(len(trace), np.int64)
        self._follow_tree(trace)
        self._read_call_stacks(trace)
        self._links = list(self._numbers)

    def frames(self, number: int, most: int | None = None) -> tuple[str, ...]:
        """Frames from the innermost outwards; the `most` innermost ones where that is given."""
        path: list[str] = []
        while number != _NO_STACK and (most is None or len(path) < most):
            number, frame = self._links[number]
            path.append(frame)
        return tuple(path)

    def _follow_tree(self, trace: Trace) -> None:
        count = trace.tree_count
        is_frame = np.isin(trace.kind[:count], (EventKind.PyCall, EventKind.PyCCall))
        if not is_frame.any():
            return
        parents = trace.parent[:count]
        nearest = nearest_marked(is_frame, parents)
        above = np.where(parents >= 0, nearest[np.maximum(parents, 0)], -1)
        kept = [_is_kept(name) for name in trace.names]
        # What stands above a child of each Python row, that row included.
        inner = dict[int, int]()
        frames = np.flatnonzero(is_frame)
        columns = (frames.tolist(), above[frames].tolist(), trace.name_id[frames].tolist())
        for row, outer, name in zip(*columns, strict=True):
            below = inner.get(outer, _NO_STACK)
            inner[row] = self._numbers[below, trace.names[name]] if kept[name] else below
        number_of = np.zeros(count + 1, np.int64)  # the last for a row with no frame above
        number_of[frames] = list(inner.values())
        self.of_row[:count] = number_of[above]
        self._pass_on(trace, np.where(is_frame, number_of[:count], self.of_row[:count]))

    def _pass_on(self, trace: Trace, inside: Numbers) -> None:
        """Give Runtime rows and device rows the stack that is open where they were called."""
        rows = trace.rows_of_kind(EventKind.Runtime, *DEVICE_WORK)
        ops = trace.launching_ops(rows)
        self.of_row[rows[ops >= 0]] = inside[ops[ops >= 0]]

    def _read_call_stacks(self, trace: Trace) -> None:
        written = np.flatnonzero((trace.stack_id >= 0) & (self.of_row == _NO_STACK))
        texts = list(trace.strings.stacks)
        ids, inverse = np.unique(trace.stack_id[written], return_inverse=True)
        numbers = [self._number_of_text(texts[stack_id]) for stack_id in ids.tolist()]
        if numbers:
            self.of_row[written] = np.array(numbers, np.int64)[inverse]

    def _number_of_text(self, text: str) -> int:
        frames = [frame.strip() for frame in text.split(";")]
        number = _NO_STACK
        for frame in reversed([frame for frame in frames if frame and _is_kept(frame)]):
            number = self._numbers[number, frame]
        return number


def _is_kept(frame: str) -> bool:
    return not any(first in frame and second in frame for first, second in _LEFT_OUT)


def stacks_of_events(
    stacks: PythonStacks,
    trace: Trace,
    rows: Numbers,
    parent: Numbers,
    keys: list[str],
    key_id: NDArray[np.int32],
) -> Numbers:
    """Return the number of the stack of each function event; of a backward event that of its
    forward.

    The stack of a backward event itself is only that of the engine. As in
    `EventList._set_backward_stacktraces`, the first event of the forward thread with the same
    sequence number gives the stack; where there is no such event it is empty. Columns are those of
    `FunctionEvents`.
    """
    numbers = stacks.of_row[rows]
    function = _backward_functions(parent, keys, key_id)
    inside = np.flatnonzero(function >= 0)
    if not len(inside):
        return numbers
    # (sequence number, track) -> the first event of it; of equal keys the last in a dict stays.
    forward = np.flatnonzero((function < 0) & (trace.sequence_nr[rows] >= 0))[::-1]
    of_forward = rows[forward]
    sequence_nr, track = trace.sequence_nr[of_forward], trace.track_id[of_forward]
    names = zip(sequence_nr.tolist(), track.tolist(), strict=True)
    first = dict(zip(names, numbers[forward].tolist(), strict=True))
    stack_of = np.full(len(rows), _NO_STACK, np.int64)
    for index in np.unique(function[inside]).tolist():
        row = int(rows[index])
        if (caller := trace.forward.get(row, -1)) >= 0:
            key = int(trace.sequence_nr[row]), int(trace.track_id[caller])
            stack_of[index] = first.get(key, _NO_STACK)
    numbers[inside] = stack_of[function[inside]]
    return numbers


def _backward_functions(parent: Numbers, keys: list[str], key_id: NDArray[np.int32]) -> Numbers:
    """For each event the backward function that it is or is in, or -1.

    The engine calls `XBackward0` in a range of its own with that name at the end.
    """
    number_of = {key: number for number, key in enumerate(keys)}
    caller = [number_of.get(_ENGINE + key, -2) for key in keys]
    above = np.where(parent >= 0, key_id[np.maximum(parent, 0)], -1)
    return nearest_marked(above == np.array(caller, np.int64)[key_id], parent)
