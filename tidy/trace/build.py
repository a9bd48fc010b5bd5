"""From raw columns to a `Trace`: tree first, then links, then the rest of the rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .callers import Table, find_callers
from .columns import RawColumns, Track
from .info import TraceInfo
from .kinds import TREE_KINDS
from .links import forward_threads, link_backward
from .trace import Trace
from .tree import Tree, build_tree

Rows = NDArray[np.int64]
Threads = NDArray[np.int32]


def build_trace(raw: RawColumns, info: TraceInfo) -> Trace:
    """Lay out the rows (tree depth-first, then all others by start) and link them."""
    strings, flows = raw.strings, raw.concatenate_flows()
    table = raw.concatenate()
    in_tree = np.isin(table["kind"], TREE_KINDS)
    tree_rows, other_rows = np.flatnonzero(in_tree), np.flatnonzero(~in_tree)
    threads = np.unique(table["track_id"][tree_rows])
    thread_of = _forward_threads(table, tree_rows, threads, flows)
    tree = _host_tree(table, tree_rows, threads, thread_of)
    del table["tie"]
    other_rows = other_rows[np.argsort(table["start_ns"][other_rows], kind="stable")]
    order = np.concatenate([tree_rows[tree.order], other_rows])
    for name in table:
        table[name] = table[name][order]
    none = np.full(len(other_rows), -1, np.int32)
    table["parent"] = np.concatenate([tree.parent, none])
    after = np.arange(len(tree.order), len(order), dtype=np.int32) + 1
    table["subtree_end"] = np.concatenate([tree.subtree_end, after])
    table["caller"] = find_callers(table, len(tree_rows), flows)
    del table["external_id"]
    forward = _forward_links(table, len(tree_rows), threads, thread_of)
    tracks = [Track(*track) for track in strings.tracks]
    return Trace(table, strings, tracks, len(tree_rows), forward, info)


def _host_tree(table: Table, tree_rows: Rows, threads: Threads, thread_of: dict[int, int]) -> Tree:
    small_id = table["forward_thread"][tree_rows]
    adopter = np.full(len(tree_rows), -1, np.int32)
    for small, thread in thread_of.items():
        adopter[small_id == small] = thread
    return build_tree(
        table["start_ns"][tree_rows],
        table["duration_ns"][tree_rows],
        _number(threads, table["track_id"][tree_rows]),
        table["tie"][tree_rows],
        adopter,
        _clock_is_coarse(table),
    )


def _number(threads: Threads, track_id: NDArray[np.int32]) -> Threads:
    """The number of each track among the host threads."""
    return np.searchsorted(threads, track_id).astype(np.int32)


def _clock_is_coarse(table: Table) -> bool:
    """Whether the file was written in whole microseconds (before 2024)."""
    return not (table["start_ns"] % 1000).any() and not (table["duration_ns"] % 1000).any()


def _forward_threads(
    table: Table, tree_rows: Rows, threads: Threads, flows: Table
) -> dict[int, int]:
    return forward_threads(
        _number(threads, table["track_id"][tree_rows]),
        table["sequence_nr"][tree_rows],
        table["forward_thread"][tree_rows],
        _backward_arrows(table, tree_rows, threads, flows),
    )


def _forward_links(
    table: Table, tree_count: int, threads: Threads, thread_of: dict[int, int]
) -> dict[int, int]:
    """Backward row -> forward row."""
    linked = np.flatnonzero(table["sequence_nr"][:tree_count] >= 0)
    ends = (table["start_ns"] + table["duration_ns"])[linked]
    linked = linked[np.argsort(ends, kind="stable")]
    return link_backward(
        linked,
        table["start_ns"][linked],
        _number(threads, table["track_id"][linked]),
        table["sequence_nr"][linked],
        table["forward_thread"][linked],
        thread_of,
    )


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
