"""What is open on a host thread: its innermost tree row, and its innermost call of a driver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..trace import Trace
from ..trace.links import nearest_open
from ..trace.tree import build_tree

Rows = NDArray[np.int64]
_BEFORE_ALL = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Turns:
    """A thread's time where any of its events begins or ends, the first from before all of them.

    Attributes:
        times_ns: ascending, shape (n,).
        row: the innermost tree row that is open from then on, -1 for none.
        call: the innermost call of a runtime or driver, -1 for none.
    """

    times_ns: NDArray[np.int64]
    row: Rows
    call: Rows

    def at(self, part: slice) -> Turns:
        """Some of them."""
        return Turns(self.times_ns[part], self.row[part], self.call[part])


def turns_of(trace: Trace, tree: Rows, calls: Rows, more_ns: NDArray[np.int64]) -> Turns:
    """The turns of a thread with these rows and calls, none of them of no length.

    Args:
        more_ns: further times to turn at.
    """
    tree, calls = _by_start(trace, tree), _by_start(trace, calls)
    begins = [trace.start_ns[rows] for rows in (tree, calls)]
    ends = [trace.end_ns[rows] for rows in (tree, calls)]
    edges = np.concatenate([[_BEFORE_ALL], *ends, more_ns, *begins])
    order = np.argsort(edges, kind="stable")  # which merges what is sorted already
    edges = edges[order]
    last_of_its_time = np.append(edges[1:] > edges[:-1], True)
    times = edges[last_of_its_time]
    of_calls = len(edges) - len(calls)
    of_tree = of_calls - len(tree)

    def begun(rows: Rows, is_begin: NDArray[np.bool_]) -> Rows:
        """The last to begin, as an index; -1 before the first."""
        count: NDArray[np.int32] = np.cumsum(is_begin, dtype=np.int32)[last_of_its_time]
        return np.append(rows, -1)[count - 1]

    row = begun(tree, (order >= of_tree) & (order < of_calls))
    call = begun(np.arange(len(calls)), order >= of_calls)
    # An event that ends at a time is over by then.
    row = nearest_open(row, times + 1, trace.end_ns, trace.parent)
    call = (
        nearest_open(call, times + 1, ends[1], _outer_calls(trace, calls)) if len(calls) else call
    )
    return Turns(times, row, np.append(calls, -1)[call])


def _by_start(trace: Trace, rows: Rows) -> Rows:
    return rows[np.argsort(trace.start_ns[rows], kind="stable")]


def _outer_calls(trace: Trace, calls: Rows) -> NDArray[np.int32]:
    """Of calls by start the number of the one that each was made in: a driver's in a runtime's."""
    start, duration = trace.start_ns[calls], trace.duration_ns[calls]
    if not len(calls) or (start[1:] >= np.maximum.accumulate(start + duration)[:-1]).all():
        return np.full(len(calls), -1, np.int32)
    numbers = np.arange(len(calls))
    alone = np.full(len(calls), -1, np.int32)
    tree = build_tree(start, duration, np.zeros_like(alone), numbers, alone, coarse_clock=False)
    parent = np.empty(len(calls), np.int32)
    parent[tree.order] = np.where(tree.parent >= 0, tree.order[tree.parent], -1)
    return parent
