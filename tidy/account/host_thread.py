"""What is open on a host thread: its innermost tree row, and its innermost call of a driver."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..trace import Rows, Trace
from ..trace.links import nearest_open
from ..trace.tree import build_tree

_PIECE = 1 << 14  # edges of a sort


class Turns(NamedTuple):
    """Times at which a thread's events begin or end, in order; shape (n,) each.

    Attributes:
        times_ns: ascending.
        row: the innermost tree row that is open from then on, -1 for none.
        call: the innermost call of a runtime or driver, -1 for none.
    """

    times_ns: NDArray[np.int64]
    row: NDArray[np.int32]
    call: NDArray[np.int32]


def turns_of(trace: Trace, tree: Rows, calls: Rows, more_ns: NDArray[np.int64]) -> Iterator[Turns]:
    """Return all turns of a thread with these rows and calls, none of them of no length, in some
    pieces.

    The first turn is before all events. Pieces fit into a processor's cache, which is several times
    as fast as columns of a long trace.

    Args:
        more_ns: further times to turn at, ascending.
    """
    tree, calls = _by_start(trace, tree), _by_start(trace, calls)
    of_trace = trace.start_ns, trace.duration_ns, trace.parent
    begun_row = np.append(np.int32(-1), tree.astype(np.int32))
    call_edges, call_upto = _turns_of_calls(trace, calls)
    edges = [
        np.array([np.iinfo(np.int64).min]),
        np.sort(trace.end_ns[tree], kind="stable"),  # which merges what is sorted already
        more_ns,
        trace.start_ns[tree],
        call_edges,
    ]
    cuts = np.unique(np.concatenate([each[_PIECE::_PIECE] for each in edges]))
    cuts_in = [[0, *np.searchsorted(each, cuts).tolist(), len(each)] for each in edges]
    for bounds in zip(*map(pairwise, cuts_in), strict=True):
        edge = np.concatenate(
            [each[low:high] for each, (low, high) in zip(edges, bounds, strict=True)]
        )
        order = np.argsort(edge, kind="stable")
        edge = edge[order]
        is_last = np.append(edge[1:] > edge[:-1], True)  # of its time
        times = edge[is_last]
        (rows_before, rows_upto), (calls_before, calls_upto) = bounds[-2:]
        of_calls = len(edge) - (calls_upto - calls_before)
        of_rows = of_calls - (rows_upto - rows_before)
        is_row, is_call = (order >= of_rows) & (order < of_calls), order >= of_calls
        row = begun_row[rows_before + np.cumsum(is_row)[is_last]]
        call = call_upto[calls_before + np.cumsum(is_call)[is_last]]
        # An event that ends at a time is over by then.
        row = nearest_open(row.astype(np.int64), times + 1, *of_trace)
        yield Turns(times, row.astype(np.int32), call)


def _by_start(trace: Trace, rows: Rows) -> Rows:
    starts_ns = trace.start_ns[rows]
    if (starts_ns[1:] >= starts_ns[:-1]).all():
        return rows
    return rows[np.argsort(starts_ns, kind="stable")]


def _turns_of_calls(trace: Trace, calls: Rows) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """When calls, by start, begin or end, and which is the innermost then; -1 stands before all."""
    starts, durations = trace.start_ns[calls], trace.duration_ns[calls]
    times = np.concatenate([np.sort(starts + durations, kind="stable"), starts])
    order = np.argsort(times, kind="stable")  # which merges what is sorted already
    times = times[order]
    begun = np.append(-1, np.arange(len(calls)))[np.cumsum(order >= len(calls))]
    call = begun
    if len(calls):
        call = nearest_open(begun, times + 1, starts, durations, _outer_calls(trace, calls))
    return times, np.append(-1, np.append(calls, -1)[call]).astype(np.int32)


def _outer_calls(trace: Trace, calls: Rows) -> NDArray[np.int32]:
    """Of calls by start the number of the one that each was made in: a driver's in a runtime's."""
    start, duration = trace.start_ns[calls], trace.duration_ns[calls]
    if not len(calls) or (start[1:] >= np.maximum.accumulate(start + duration)[:-1]).all():
        return np.full(len(calls), -1, np.int32)
    alone = np.full(len(calls), -1, np.int32)
    return build_tree(start, duration, np.zeros_like(alone), alone, coarse_clock=False).parent
