"""Who called what: the `caller` column of Runtime and device rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .kinds import DEVICE_KINDS, EventKind
from .links import Table, grouped, innermost_open, match_correlation


def find_callers(table: Table, tree_count: int, flows: Table) -> NDArray[np.int32]:
    """Return the caller of each row, -1 for none.

    For a Runtime row that is the tree row it ran in; for a device row the Runtime row that launched
    it, or the tree row where the file has no call.
    """
    kind, start = table["kind"], table["start_ns"]
    end = start + table["duration_ns"]
    caller = np.full(len(kind), -1, np.int32)
    op_of = _ops_by_external_id(table, tree_count)
    calls = np.flatnonzero(kind == EventKind.Runtime)
    others = np.arange(tree_count, len(kind))
    inside = others[~np.isin(kind[others], DEVICE_KINDS)]
    caller[inside] = _enclosing(inside, tree_count, table, end)
    named = op_of[calls]
    slack_ns = 2000  # times in whole microseconds put a call up to this far outside its op
    plausible = (named >= 0) & (start[calls] >= start[named] - slack_ns)
    plausible &= (start[calls] <= end[named] + slack_ns) & (caller[calls] < 0)
    caller[calls[plausible]] = named[plausible]

    device = np.flatnonzero(np.isin(kind, DEVICE_KINDS) & (kind != EventKind.DeviceAnnotation))
    correlation = table["correlation"]
    found = match_correlation(correlation[device], start[device], correlation[calls], start[calls])
    caller[device] = np.append(calls, -1)[found]
    loose = device[caller[device] < 0]
    caller[loose] = op_of[loose]
    loose = loose[caller[loose] < 0]
    if len(loose) and len(flows["flow_id"]):
        _follow_flows(caller, loose, flows, table, tree_count, end)
    return caller


def _ops_by_external_id(table: Table, tree_count: int) -> NDArray[np.int32]:
    """For each row outside the tree the op that its External id names, -1 for none.

    Until 2024 Runtime and device rows without an op carried their own correlation there; where it
    equals the correlation it is not believed.
    """
    ids = table["external_id"]
    ops = np.flatnonzero(ids[:tree_count] != 0)
    result = np.full(len(ids), -1, np.int32)
    if not len(ops):
        return result
    ops = ops[np.argsort(ids[ops], kind="stable")]
    at = np.minimum(np.searchsorted(ids[ops], ids[tree_count:]), len(ops) - 1)
    same = (ids[ops][at] == ids[tree_count:]) & (ids[tree_count:] != 0)
    same &= ids[tree_count:] != table["correlation"][tree_count:]
    result[tree_count:] = np.where(same, ops[at], -1)
    return result


def _enclosing(
    rows: NDArray[np.int64], tree_count: int, table: Table, end: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The innermost tree row open on the same thread when each row starts."""
    start, track, parent = table["start_ns"], table["track_id"], table["parent"]
    found = np.full(len(rows), -1, np.int64)
    by_thread, of_thread = grouped(track[:tree_count]), grouped(track[rows])
    for thread, mine in of_thread.items():
        thread_rows = by_thread.get(thread, np.empty(0, np.int64))
        found[mine] = innermost_open(start[rows[mine]], thread_rows, start, end, parent)
    return found


def _follow_flows(
    caller: NDArray[np.int32],
    loose: NDArray[np.int64],
    flows: Table,
    table: Table,
    tree_count: int,
    end: NDArray[np.int64],
) -> None:
    """Link device rows by arrows, which is all that files of the profiler of 2020 have."""
    start, track = table["start_ns"], table["track_id"]
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
        caller[rows] = innermost_open(times, thread_rows, start, end, table["parent"])
