"""Function events of the host: their tree, and their times and memory with and without children.

The tree is by containment (`EventList._populate_cpu_children`), and so differs from the tree of the
trace: an event is under another only where it lies inside it, and one that outlives the event it
started in is not under it:

    f     [=========]               f
    g       [===]                   +-- g
    h          [========]           h         starts inside f and ends after it
    k           [==]                +-- k
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..trace import EventKind, Trace

Numbers = NDArray[np.int64]


@dataclass(slots=True)
class HostEvents:
    """n events of the host, by thread and then depth-first.

    Attributes:
        rows: the row of each in the trace, shape (n,).
        parent: index of the event around it, -1 for none.
        columns: times in nanoseconds and memory in bytes, by field of a row of the table.
        lone_records: rows of the trace that are memory records during none of the events.
    """

    rows: Numbers
    parent: Numbers
    columns: dict[str, Numbers]
    lone_records: Numbers


def measure_host(trace: Trace, rows: Numbers, key_of_name: NDArray[np.int32]) -> HostEvents:
    """Nest the events in `rows` and add up what they took."""
    track = trace.track_id
    rows = rows[np.lexsort((-trace.end_ns[rows], trace.start_ns[rows], track[rows]))]
    start, end = trace.start_ns[rows], trace.end_ns[rows]
    parent, subtree_end = nest(start, end, track[rows])
    kept = ~_repeated(parent, key_of_name[trace.name_id[rows]])
    counted_as = nearest_marked(kept, parent)
    parent = np.where(parent >= 0, counted_as[np.maximum(parent, 0)], -1)

    position = np.full(len(trace), -1, np.int64)
    position[rows] = counted_as
    launched = np.append(0, np.cumsum(_launched_ns(trace, position, len(rows))))
    cpu_nbytes, device_nbytes, lone_records = _memory_during(trace, start, end)
    totals = {
        "cpu_time_total_ns": end - start,
        "device_time_total_ns": launched[subtree_end] - launched[:-1],
        "cpu_memory_usage": cpu_nbytes,
        "device_memory_usage": device_nbytes,
    }
    inner = np.flatnonzero(kept & (parent >= 0))
    columns = dict(totals)
    for name, total in totals.items():
        own = total.copy()
        np.subtract.at(own, parent[inner], total[inner])
        columns[f"self_{name}"] = own

    index = np.append(np.cumsum(kept) - 1, -1)  # the last for a parent of -1
    columns = {name: column[kept] for name, column in columns.items()}
    return HostEvents(rows[kept], index[parent[kept]], columns, lone_records)


def nest(start_ns: Numbers, end_ns: Numbers, thread: NDArray[np.int32]) -> tuple[Numbers, Numbers]:
    """`parent` (-1: a root) and `subtree_end`, both of shape (n,), by containment.

    The n events come by thread, then by start, and then the longer first: so they lie depth-first.
    """
    parent = np.empty(len(thread), np.int64)
    subtree_end = np.empty(len(thread), np.int64)
    bounds = np.flatnonzero(np.diff(thread, prepend=-1, append=-1))
    for first, last in pairwise(bounds.tolist()):
        above, after = _nest_thread(start_ns[first:last].tolist(), end_ns[first:last].tolist())
        inner = np.array(above)
        parent[first:last] = np.where(inner < 0, -1, inner + first)
        subtree_end[first:last] = np.array(after) + first
    return parent, subtree_end


def _nest_thread(starts: list[int], ends: list[int]) -> tuple[list[int], list[int]]:
    parents = [-1] * len(starts)
    closed = [len(starts)] * len(starts)
    stack: list[tuple[int, int]] = []  # what lies below the top: (row, end)
    top, top_end = -1, 1 << 62
    for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
        while end > top_end or start >= top_end:
            closed[top] = row
            top, top_end = stack.pop()
        parents[row] = top
        stack.append((top, top_end))
        top, top_end = row, end
    return parents, closed


def _repeated(parent: Numbers, key: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether an event is the only child of one with the same key; it is then not listed.

    `EventList._remove_dup_nodes` does so, for example with the second `aten::sum` of an overload
    that calls another.
    """
    children = np.bincount(parent[parent >= 0], minlength=len(key))
    above = np.maximum(parent, 0)
    repeated: NDArray[np.bool_] = (parent >= 0) & (key == key[above]) & (children[above] == 1)
    return repeated


def nearest_marked(is_marked: NDArray[np.bool_], parent: NDArray[np.signedinteger]) -> Numbers:
    """Return for each row itself or its nearest ancestor that is marked, -1 if none is."""
    nearest = np.append(np.where(is_marked, np.arange(len(parent)), parent), -1)
    while True:
        further = nearest[nearest]
        if np.array_equal(further, nearest):
            return nearest[:-1]
        nearest = further


def _launched_ns(trace: Trace, position: Numbers, count: int) -> Numbers:
    """Device time launched by each of `count` host events itself, not by what is below it.

    `position` has the place of each row of the trace among them, -1 for none.
    """
    rows = trace.device_rows
    op = trace.launching_ops(rows)
    # Where the launching row is not listed, its nearest listed ancestor counts.
    while (unlisted := (op >= 0) & (position[op] < 0)).any():
        op[unlisted] = trace.parent[op[unlisted]]
    rows, op = rows[op >= 0], op[op >= 0]
    launched = np.zeros(count, np.int64)
    np.add.at(launched, position[op], trace.duration_ns[rows])
    return launched


def _memory_during(
    trace: Trace, start_ns: Numbers, end_ns: Numbers
) -> tuple[Numbers, Numbers, Numbers]:
    """The bytes that the CPU, and devices, took less those freed in each interval, on any thread.

    Intervals are closed. The third column has the rows of the records that are in none of them.
    """
    rows = trace.rows_of_kind(EventKind.Allocation)
    rows = rows[np.argsort(trace.start_ns[rows], kind="stable")]
    time, nbytes, on_device = trace.start_ns[rows], trace.nbytes[rows], trace.device[rows] >= 0
    first, last = np.searchsorted(time, start_ns, "left"), np.searchsorted(time, end_ns, "right")
    sums = [np.append(0, np.cumsum(np.where(on_device == each, nbytes, 0))) for each in (0, 1)]
    begun = np.searchsorted(np.sort(start_ns), time, "right")
    over = np.searchsorted(np.sort(end_ns), time, "left")
    cpu_nbytes, device_nbytes = (total[last] - total[first] for total in sums)
    return cpu_nbytes, device_nbytes, rows[begun == over]
