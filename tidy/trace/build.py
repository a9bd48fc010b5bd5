"""From raw columns to a `Trace`: tree first, then links, then the rest of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .columns import RawColumns, Track
from .info import TraceInfo
from .kinds import DEVICE_KINDS, TREE_KINDS, EventKind
from .links import (
    forward_threads,
    innermost_open,
    link_backward,
    match_correlation,
)
from .trace import Trace
from .tree import build_tree

Table = dict[str, NDArray[Any]]


def build_trace(raw: RawColumns, info: TraceInfo) -> Trace:
    """Lay out the rows (tree depth-first, then all others by start) and link them."""
    strings, flows = raw.strings, raw.concatenate_flows()
    table = raw.concatenate()
    in_tree = np.isin(table["kind"], TREE_KINDS)
    tree_rows = np.flatnonzero(in_tree)
    other_rows = np.flatnonzero(~in_tree)
    threads, thread = np.unique(table["track_id"][tree_rows], return_inverse=True)
    thread = thread.astype(np.int32)
    sequence_nr = table["sequence_nr"][tree_rows]
    small_id = table["forward_thread"][tree_rows]
    arrows = _backward_arrows(table, tree_rows, threads, flows)
    thread_of = forward_threads(thread, sequence_nr, small_id, arrows)
    adopter = np.full(len(tree_rows), -1, np.int32)
    for small, host in thread_of.items():
        adopter[small_id == small] = host
    tree = build_tree(
        table["start_ns"][tree_rows],
        table["duration_ns"][tree_rows],
        thread,
        table["tie"][tree_rows],
        adopter,
        _clock_is_coarse(table),
    )
    other_rows = other_rows[np.argsort(table["start_ns"][other_rows], kind="stable")]
    order = np.concatenate([tree_rows[tree.order], other_rows])
    del table["tie"]
    for name in table:
        table[name] = table[name][order]
    rest = np.full(len(other_rows), -1, np.int32)
    table["parent"] = np.concatenate([tree.parent, rest])
    tail = np.arange(len(tree.order), len(order), dtype=np.int32) + 1
    table["subtree_end"] = np.concatenate([tree.subtree_end, tail])
    tracks = [Track(*track) for track in strings.tracks]
    table["caller"] = _callers(table, len(tree_rows), flows)
    linked = np.flatnonzero((table["sequence_nr"][: len(tree_rows)] >= 0))
    linked = linked[np.argsort((table["start_ns"] + table["duration_ns"])[linked], kind="stable")]
    host = np.searchsorted(threads, table["track_id"][linked]).astype(np.int32)
    forward = link_backward(
        linked, host, table["sequence_nr"][linked], table["forward_thread"][linked], thread_of
    )
    del table["external_id"]
    return Trace(table, strings, tracks, len(tree_rows), forward, info)


def _backward_arrows(
    table: Table, tree_rows: NDArray[np.int64], threads: NDArray[np.int32], flows: Table
) -> Iterator[tuple[int, int]]:
    """(index among `tree_rows` of a backward op, thread of its forward) for each `fwdbwd` arrow."""
    drawn = flows["is_backward"]
    ids, is_end = flows["flow_id"][drawn], flows["is_end"][drawn]
    track, time = flows["track_id"][drawn], flows["time_ns"][drawn]
    source = dict(zip(ids[~is_end].tolist(), track[~is_end].tolist(), strict=True))
    backward = np.flatnonzero(table["forward_thread"][tree_rows] > 0)
    places = zip(
        table["track_id"][tree_rows[backward]].tolist(),
        table["start_ns"][tree_rows[backward]].tolist(),
        strict=True,
    )
    op_at = dict(zip(places, backward.tolist(), strict=True))
    thread_at = {int(track_id): thread for thread, track_id in enumerate(threads)}
    ends = (column[is_end].tolist() for column in (ids, track, time))
    for flow_id, track_id, time_ns in zip(*ends, strict=True):
        op = op_at.get((track_id, time_ns))
        host = thread_at.get(source.get(flow_id, -1))
        if op is not None and host is not None:
            yield op, host


def _clock_is_coarse(table: Table) -> bool:
    """Whether the file was written in whole microseconds (before 2024)."""
    return not (table["start_ns"] % 1000).any() and not (table["duration_ns"] % 1000).any()


def _callers(
    table: Table, tree_count: int, flows: Table
) -> NDArray[np.int32]:
    """For Runtime rows the tree row they ran in, for device rows the Runtime row (or tree row)."""
    kind, start = table["kind"], table["start_ns"]
    end = start + table["duration_ns"]
    caller = np.full(len(kind), -1, np.int64)
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
    caller[device] = np.where(found >= 0, calls[np.maximum(found, 0)], -1) if len(calls) else -1
    loose = device[caller[device] < 0]
    caller[loose] = op_of[loose]
    loose = loose[caller[loose] < 0]
    if len(loose) and len(flows["flow_id"]):
        _follow_flows(caller, loose, flows, table, tree_count, end)
    return caller.astype(np.int32)


def _ops_by_external_id(table: Table, tree_count: int) -> NDArray[np.int64]:
    """For each row outside the tree the op that its External id names, else -1.

    Until 2024 Runtime and device rows without an op carried their own correlation there; where it
    equals the correlation it is not believed.
    """
    ids = table["external_id"]
    ops = np.flatnonzero(ids[:tree_count] != 0)
    result = np.full(len(ids), -1, np.int64)
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
    for thread in np.unique(track[rows]):
        mine = track[rows] == thread
        thread_rows = np.flatnonzero(track[:tree_count] == thread)
        found[mine] = innermost_open(start[rows[mine]], thread_rows, start, end, parent)
    return found


def _follow_flows(
    caller: NDArray[np.int64],
    loose: NDArray[np.int64],
    flows: Table,
    table: Table,
    tree_count: int,
    end: NDArray[np.int64],
) -> None:
    """Link device rows by arrows alone, as files of the autograd profiler of 2020 need."""
    start, track = table["start_ns"], table["track_id"]
    row_at = dict(zip(zip(track[loose].tolist(), start[loose].tolist()), loose.tolist()))
    names = ("category_id", "flow_id", "is_end", "track_id", "time_ns")
    launches = ~flows["is_backward"]
    ends = list(zip(*(flows[name][launches].tolist() for name in names), strict=True))
    sources = {(cat, flow): (thread, time) for cat, flow, is_end, thread, time in ends if not is_end}
    wanted: dict[int, list[tuple[int, int]]] = {}  # host thread -> (time, device row)
    for category, flow, is_end, thread, time in ends:
        row, source = row_at.get((thread, time)), sources.get((category, flow))
        if is_end and row is not None and source is not None:
            wanted.setdefault(source[0], []).append((source[1], row))
    for thread, pairs in wanted.items():
        times, rows = np.array(pairs, np.int64).T
        thread_rows = np.flatnonzero(track[:tree_count] == thread)
        caller[rows] = innermost_open(times, thread_rows, start, end, table["parent"])
