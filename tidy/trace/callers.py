"""Who called what: the `caller` column of Runtime and device rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .kinds import DEVICE_KINDS, EventKind
from .links import Table, grouped, innermost_open, match_correlation

_FEW_THREADS = 16


def find_callers(table: Table, tree_count: int, flows: Table) -> NDArray[np.int32]:
    """Return the caller of each row, -1 for none.

    For a Runtime row that is the tree row it ran in; for a device row the Runtime row that launched
    it, or the tree row where the file has no call.
    """
    kind, start, duration = table["kind"], table["start_ns"], table["duration_ns"]
    caller = np.full(len(kind), -1, np.int32)
    op_of = _ops_by_external_id(table, tree_count)
    others = np.arange(tree_count, len(kind), dtype=np.int32)
    calls = others[kind[others] == EventKind.Runtime]
    inside = others[~np.isin(kind[others], DEVICE_KINDS)]
    caller[inside] = _enclosing(inside, tree_count, table)
    slack_ns = 2000  # times in whole microseconds put a call up to this far outside its op
    named = calls[(op_of[calls - tree_count] >= 0) & (caller[calls] < 0)]
    op, began = op_of[named - tree_count], start[named]
    plausible = (began >= start[op] - slack_ns) & (began <= start[op] + duration[op] + slack_ns)
    caller[named[plausible]] = op[plausible]

    device = others[np.isin(kind[others], DEVICE_KINDS)]
    device = device[kind[device] != EventKind.DeviceAnnotation]
    correlation = table["correlation"]
    found = match_correlation(correlation[device], start[device], correlation[calls], start[calls])
    caller[device] = np.append(calls, np.int32(-1))[found]
    loose = device[caller[device] < 0]
    caller[loose] = op_of[loose - tree_count]
    loose = loose[caller[loose] < 0]
    if len(loose) and len(flows["flow_id"]):
        _follow_flows(caller, loose, flows, table, tree_count)
    return caller


def _ops_by_external_id(table: Table, tree_count: int) -> NDArray[np.int32]:
    """For each row outside the tree the op that its External id names, -1 for none; shape
    (rows - tree_count,).

    Until 2024 Runtime and device rows without an op carried their own correlation there; where it
    equals the correlation it is not believed.
    """
    ids = table["external_id"]
    wanted, of_ops = ids[tree_count:], ids[:tree_count]
    none = np.full(len(wanted), -1, np.int32)
    ops = np.flatnonzero(of_ops).astype(np.int32)
    if not len(ops) or not wanted.any():
        return none
    ops = ops[np.argsort(of_ops[ops], kind="stable")]
    known = of_ops[ops]
    at = np.minimum(np.searchsorted(known, wanted), len(ops) - 1)
    same = (known[at] == wanted) & (wanted != 0)
    same &= wanted != table["correlation"][tree_count:]
    return np.where(same, ops[at], none)


def _enclosing(rows: NDArray[np.int32], tree_count: int, table: Table) -> NDArray[np.int32]:
    """The innermost tree row open on the same thread when each row starts."""
    start, track = table["start_ns"], table["track_id"]
    of_table = start, table["duration_ns"], table["parent"]
    found = np.full(len(rows), -1, np.int32)
    of_thread = grouped(track[rows])
    # A pass over the tree for each of few threads takes less memory than all its rows by thread.
    by_thread = grouped(track[:tree_count]) if len(of_thread) > _FEW_THREADS else None
    for thread, mine in of_thread.items():
        if by_thread is not None:
            thread_rows = by_thread.get(thread, rows[:0]).astype(np.int32)
        else:
            thread_rows = np.flatnonzero(track[:tree_count] == thread).astype(np.int32)
        found[mine] = innermost_open(start[rows[mine]], thread_rows, *of_table)
    return found


def _follow_flows(
    caller: NDArray[np.int32],
    loose: NDArray[np.int32],
    flows: Table,
    table: Table,
    tree_count: int,
) -> None:
    """Link device rows by arrows, which is all that files of the profiler of 2020 have."""
    start, track = table["start_ns"], table["track_id"]
    of_table = start, table["duration_ns"], table["parent"]
    places = zip(track[loose].tolist(), start[loose].tolist(), strict=True)
    row_at = dict(zip(places, loose.tolist(), strict=True))
    names = ("category_id", "flow_id", "is_end", "track_id", "time_ns")
    launches = ~flows["is_backward"]
    ends = list(zip(*(flows[name][launches].tolist() for name in names), strict=True))
    sources = {
        (cat, flow): (thread, time) for cat, flow, is_end, thread, time in ends if not is_end
    }
    wanted: dict[int, list[tuple[int, int]]] = {}  # host thread -> (time, device row)
    for category, flow, is_end, thread, time in ends:
        row, source = row_at.get((thread, time)), sources.get((category, flow))
        if is_end and row is not None and source is not None:
            wanted.setdefault(source[0], []).append((source[1], row))
    for thread, pairs in wanted.items():
        times, rows = np.array(pairs, np.int64).T
        thread_rows = np.flatnonzero(track[:tree_count] == thread)
        caller[rows] = innermost_open(times, thread_rows, *of_table)
