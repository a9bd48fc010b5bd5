"""Python stacks of function events: the frames above each, innermost first.

They come from the tree of the trace, or, in files without Python events, from the `Call stack`
that old versions wrote beside each op. Equal stacks share one number, so that grouping by them is
grouping by numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..trace import EventKind

if TYPE_CHECKING:
    from ..trace import Trace

Frames = tuple[str, ...]
# Frames that PyTorch leaves out (`_filter_stack_entry` in profiler_util.py): those with both parts.
_LEFT_OUT = (
    ("autograd/__init__", "_make_grads"),
    ("autograd/__init__", "backward"),
    ("torch/tensor", "backward"),
    ("_internal/common_utils", "prof_callable"),
    ("_internal/common_utils", "prof_func_call"),
    ("_internal/common_utils", "prof_meth_call"),
)
NO_STACK = 0
_LAUNCHED = (EventKind.Kernel, EventKind.Memcpy, EventKind.Memset)


class Stacks:
    """The stack of each row, as a number; `frames` gives its text. Number 0 is the empty stack."""

    def __init__(self, trace: Trace) -> None:
        # A stack is a frame and the stack below it; the numbers of frames are those of names.
        self._numbers: dict[tuple[int, str], int] = {}
        self._links: list[tuple[int, str]] = [(NO_STACK, "")]
        self.of_row = np.zeros(len(trace), np.int64)
        self._follow_tree(trace)
        self._read_call_stacks(trace)

    def frames(self, number: int, most: int | None = None) -> Frames:
        """Frames from the innermost outwards, at most so many."""
        path: list[str] = []
        while number != NO_STACK and (most is None or len(path) < most):
            number, frame = self._links[number]
            path.append(frame)
        return tuple(path)

    def _number(self, below: int, frame: str) -> int:
        found = self._numbers.setdefault((below, frame), len(self._links))
        if found == len(self._links):
            self._links.append((below, frame))
        return found

    def _follow_tree(self, trace: Trace) -> None:
        count = trace.tree_count
        rows = np.arange(count)
        is_frame = np.isin(trace.kind[:count], (EventKind.PyCall, EventKind.PyCCall))
        if not is_frame.any():
            return
        # The nearest Python row at or above each row: parents come before their children.
        nearest = np.where(is_frame, rows, trace.parent[:count])
        while True:
            further = np.where(nearest >= 0, nearest[np.maximum(nearest, 0)], -1)
            if np.array_equal(further, nearest):
                break
            nearest = further
        parents = trace.parent[:count]
        above = np.where(parents >= 0, nearest[np.maximum(parents, 0)], -1)
        kept = [_is_kept(name) for name in trace.names]
        # What stands above a child of each Python row, that row included.
        inner = dict[int, int]()
        frames = np.flatnonzero(is_frame)
        columns = (frames.tolist(), above[frames].tolist(), trace.name_id[frames].tolist())
        for row, outer, name in zip(*columns, strict=True):
            below = inner.get(outer, NO_STACK)
            inner[row] = self._number(below, trace.names[name]) if kept[name] else below
        number_of = np.zeros(count + 1, np.int64)  # the last for a row with no frame above
        number_of[frames] = list(inner.values())
        self.of_row[:count] = number_of[above]
        self._pass_on(trace, np.where(is_frame, number_of[:count], self.of_row[:count]))

    def _pass_on(self, trace: Trace, inside: NDArray[np.int64]) -> None:
        """Give Runtime rows and device rows the stack that is open where they were called."""
        for kinds in ((EventKind.Runtime,), _LAUNCHED):
            rows = trace.rows_of_kind(*kinds)
            caller = trace.caller[rows].astype(np.int64)
            rows, caller = rows[caller >= 0], caller[caller >= 0]
            in_tree = caller < trace.tree_count
            stack = np.where(in_tree, inside[np.where(in_tree, caller, 0)], self.of_row[caller])
            self.of_row[rows] = stack

    def _read_call_stacks(self, trace: Trace) -> None:
        written = np.flatnonzero((trace.stack_id >= 0) & (self.of_row == NO_STACK))
        texts = list(trace.strings.stacks)
        ids, inverse = np.unique(trace.stack_id[written], return_inverse=True)
        numbers = [self._intern(texts[stack_id]) for stack_id in ids.tolist()]
        if numbers:
            self.of_row[written] = np.array(numbers, np.int64)[inverse]

    def _intern(self, text: str) -> int:
        frames = [frame.strip() for frame in text.split(";")]
        number = NO_STACK
        for frame in reversed([frame for frame in frames if frame and _is_kept(frame)]):
            number = self._number(number, frame)
        return number


def _is_kept(frame: str) -> bool:
    return not any(first in frame and second in frame for first, second in _LEFT_OUT)
