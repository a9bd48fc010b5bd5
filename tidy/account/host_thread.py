"""What is open on a host thread at given times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..trace import Intervals, Trace
from ..trace.links import innermost_open_by_start
from ..trace.tree import build_tree

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class HostThread:
    """What one thread did: its tree rows and calls by start, and the time in ranges of a kind.

    `outer_call` has for each call the number of the call that it was made in, -1 for none;
    `python_ranges` say it of Python only.
    """

    tree: Rows
    calls: Rows
    outer_call: NDArray[np.int32]
    python_ranges: list[tuple[int, Intervals]]
    ranges: list[tuple[int, Intervals]]


def by_start(trace: Trace, rows: Rows) -> Rows:
    """Rows in the order they start in."""
    return rows[np.argsort(trace.start_ns[rows], kind="stable")]


def open_at(trace: Trace, times_ns: Rows, rows: Rows) -> Rows:
    """Of each time the innermost of the rows that is open then, -1 for none."""
    # An event that ends at a time is over by then.
    return innermost_open_by_start(times_ns + 1, rows, trace.start_ns, trace.end_ns, trace.parent)


def outer_calls(trace: Trace, calls: Rows) -> NDArray[np.int32]:
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


def open_call(trace: Trace, times_ns: Rows, thread: HostThread) -> Rows:
    """Of each time the innermost call of a runtime or driver that is open then, -1 for none."""
    calls = thread.calls
    if not len(calls):
        return np.full(len(times_ns), -1, np.int64)
    at = innermost_open_by_start(
        times_ns + 1,
        np.arange(len(calls)),
        trace.start_ns[calls],
        trace.end_ns[calls],
        thread.outer_call,
    )
    return np.where(at >= 0, calls[at], -1)
