"""Links between rows that the tree does not hold.

    host op  <-- caller --  Runtime call  <-- caller --  Kernel, Memcpy, Memset, Sync
    forward op  <-- forward --  backward op

All functions take and give row numbers; -1 stands for "none".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .distinct import distinct
from .intervals import count_upto
from .raw_columns import Rows

Table = dict[str, NDArray[Any]]


def grouped(keys: NDArray[Any]) -> dict[int, Rows]:
    """Return the indexes of each key, ascending; one sort serves all keys."""
    order = np.argsort(keys, kind="stable")
    known, starts = np.unique(keys[order], return_index=True)
    parts = np.split(order, starts[1:]) if len(known) else []
    return dict(zip(known.tolist(), parts, strict=True))


def match_correlation(
    device_corr: NDArray[np.int64],
    device_start: NDArray[np.int64],
    call_corr: NDArray[np.int64],
    call_start: NDArray[np.int64],
) -> Rows:
    """Return for each device event the index of the Runtime call that launched it, -1 for none.

    In files merged from several processes, several calls may have one correlation; then the last
    call to start before the device event wins. One graph launch may own many kernels. ROCm writes a
    correlation of 0 where it does not know it.
    """
    count = len(call_corr)
    if not count:
        return np.full(len(device_corr), -1, np.int64)
    order = np.lexsort((call_start, call_corr))
    # Sorted together, a device event stands behind the last call that could have launched it.
    corr, start = np.append(call_corr, device_corr), np.append(call_start, device_start)
    is_device = np.arange(len(corr)) >= count
    merged = np.lexsort((is_device, start, corr))
    last = np.empty(len(corr), np.int64)
    last[merged] = np.cumsum(~is_device[merged]) - 1
    # Where all calls with its correlation start later, it is the first of them.
    first = np.searchsorted(call_corr[order], device_corr)
    found = order[np.minimum(np.maximum(last[count:], first), count - 1)]
    return np.where((call_corr[found] == device_corr) & (device_corr > 0), found, -1)


def innermost_open(
    times_ns: NDArray[np.int64],
    thread_rows: NDArray[np.integer[Any]],
    start_ns: NDArray[np.int64],
    duration_ns: NDArray[np.int64],
    parent: NDArray[np.int32],
) -> Rows:
    """Return the innermost event that is open on a thread at each time.

    Args:
        times_ns: shape (k,).
        thread_rows: the tree rows of that thread.
        start_ns, duration_ns, parent: columns of the whole table.
    """
    if not len(thread_rows):
        return np.full(len(times_ns), -1, np.int64)
    starts_ns = start_ns[thread_rows]
    # Rows are depth-first; what hangs under another thread may stand before what started earlier.
    if (starts_ns[1:] < starts_ns[:-1]).any():
        by_start = np.argsort(starts_ns, kind="stable")
        thread_rows, starts_ns = thread_rows[by_start], starts_ns[by_start]
    at = count_upto(starts_ns, times_ns) - 1
    last = np.where(at < 0, np.int64(-1), thread_rows[at])
    return nearest_open(last, times_ns, start_ns, duration_ns, parent)


def nearest_open(
    rows: Rows,
    times_ns: NDArray[np.int64],
    start_ns: NDArray[np.int64],
    duration_ns: NDArray[np.int64],
    parent: NDArray[np.int32],
) -> Rows:
    """Return the nearest of each row (-1: none) and its ancestors that is open at the time beside
    it.
    """

    def ends_ns(of: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        ends: NDArray[np.int64] = start_ns[of] + duration_ns[of]
        return ends  # of few rows; a column of all takes much memory

    rows = rows.copy()
    pending = np.flatnonzero((ends_ns(rows) < times_ns) & (rows >= 0))
    for _ in range(_DEEP):
        if not len(pending):
            return rows
        above = parent[rows[pending]]
        rows[pending] = above
        pending = pending[(above >= 0) & (ends_ns(above) < times_ns[pending])]
    own = _with_ancestors(rows[pending], parent)
    above = np.where(parent[own] < 0, -1, np.searchsorted(own, parent[own]))
    found = _climb(np.searchsorted(own, rows[pending]), times_ns[pending], ends_ns(own), above)
    rows[pending] = np.where(found < 0, -1, own[found])
    return rows


_DEEP = 32  # one step a level is fastest up to here, which few events have to go


def _with_ancestors(rows: Rows, parent: NDArray[np.int32]) -> Rows:
    """These rows and all above them, ascending."""
    found = set[int]()
    for each in np.unique(rows).tolist():
        row = each
        while row >= 0 and row not in found:
            found.add(row)
            row = int(parent[row])
    return np.array(sorted(found), np.int64)


def _climb(
    rows: Rows, times_ns: NDArray[np.int64], end_ns: NDArray[np.int64], parent: NDArray[np.int32]
) -> Rows:
    """The nearest of each row and its ancestors that is open at a time, in leaps of powers of two.

    `up[j]` is the ancestor 2**j levels above, `latest[j]` the latest end below that one.
    """
    count = len(parent)
    above = np.append(np.where(parent < 0, count, parent), count)  # the last stands for none
    up, latest = [above], [np.append(end_ns[:count], np.iinfo(np.int64).max)]
    while (up[-1] != count).any():
        latest.append(np.maximum(latest[-1], latest[-1][up[-1]]))
        up.append(up[-1][up[-1]])
    for leap, end in zip(reversed(up), reversed(latest), strict=True):
        rows = np.where(end[rows] < times_ns, leap[rows], rows)
    return np.where(rows == count, -1, rows)


def find_forward_threads(
    table: Table, tree_rows: NDArray[np.integer[Any]], flows: Table
) -> dict[int, int]:
    """Tell which track each of PyTorch's small ids of threads (`Fwd thread id`) stands for.

    A backward op names its forward by (small id, sequence number). The arrows of the file tell the
    thread; without any it is the one that handed out most of those sequence numbers, which are
    counted per thread.
    """
    thread = table["track_id"][tree_rows]
    sequence_nr, forward_thread = (table[n][tree_rows] for n in ("sequence_nr", "forward_thread"))
    backward = (forward_thread > 0) & (sequence_nr >= 0)
    forward = (forward_thread == 0) & (sequence_nr >= 0)
    candidates = np.unique(thread[forward]).tolist()
    small_ids = np.unique(forward_thread[backward]).tolist()
    if len(candidates) == 1 and len(small_ids) == 1:
        return {small_ids[0]: candidates[0]}
    votes: dict[int, Counter[int]] = {small_id: Counter() for small_id in small_ids}
    for op, host in _backward_arrows(table, tree_rows, flows):
        if int(forward_thread[op]) in votes:
            votes[int(forward_thread[op])][host] += 1
    for small_id, counts in votes.items():
        if not counts:
            wanted = distinct(sequence_nr[backward & (forward_thread == small_id)])
            counts.update(thread[forward & np.isin(sequence_nr, wanted)].tolist())
    return {small_id: counts.most_common(1)[0][0] for small_id, counts in votes.items() if counts}


def _backward_arrows(
    table: Table, tree_rows: NDArray[np.integer[Any]], flows: Table
) -> Iterator[tuple[int, int]]:
    """(index among `tree_rows` of a backward op, track of its forward) for each `fwdbwd` arrow."""
    drawn = flows["is_backward"]
    ids, is_end = flows["flow_id"][drawn], flows["is_end"][drawn]
    track, time = flows["track_id"][drawn], flows["time_ns"][drawn]
    source = dict(zip(ids[~is_end].tolist(), track[~is_end].tolist(), strict=True))
    backward = np.flatnonzero(table["forward_thread"][tree_rows] > 0)
    rows = tree_rows[backward]
    places = zip(table["track_id"][rows].tolist(), table["start_ns"][rows].tolist(), strict=True)
    op_at = dict(zip(places, backward.tolist(), strict=True))
    hosts = set(np.unique(table["track_id"][tree_rows]).tolist())
    ends = (column[is_end].tolist() for column in (ids, track, time))
    for flow_id, track_id, time_ns in zip(*ends, strict=True):
        op, host = op_at.get((track_id, time_ns)), source.get(flow_id, -1)
        if op is not None and host in hosts:
            yield op, host


def link_backward(table: Table, tree_count: int, thread_of: dict[int, int]) -> dict[int, int]:
    """Backward row -> forward row.

    Among forward ops with one key the latest start wins, since the sequence number counts up only
    when a node is made (pytorch PR #62553); the first backward op with the key to end takes it.
    This is how Kineto draws its `fwdbwd` arrows.
    """
    rows = np.flatnonzero(table["sequence_nr"][:tree_count] >= 0)
    ends = (table["start_ns"] + table["duration_ns"])[rows]
    rows = rows[np.argsort(ends, kind="stable")]
    names = ("track_id", "start_ns", "sequence_nr", "forward_thread")
    columns: list[NDArray[Any]] = [rows, *(table[name][rows] for name in names)]
    forward: dict[tuple[int, int], tuple[int, int]] = {}
    links: dict[int, int] = {}
    for row, host, start, sequence, small_id in zip(*(c.tolist() for c in columns), strict=True):
        if small_id <= 0:
            key = host, sequence
            forward[key] = max((start, row), forward.get(key, (start, row)))
        elif small_id in thread_of:
            latest = forward.pop((thread_of[small_id], sequence), None)
            if latest is not None:
                _, links[row] = latest
    return links
