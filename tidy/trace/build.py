"""From raw columns to a `Trace`: tree first, then links, then the rest of the rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .callers import find_callers
from .distinct import distinct
from .info import TraceInfo
from .kinds import TREE_KINDS
from .links import Table, find_forward_threads, link_backward
from .memory import memory_table
from .raw_columns import RawColumns, Rows, Track
from .trace import Trace
from .tree import Tree, build_tree

# Gaps in the numbers of operators from which a file was thinned out: of few operators, of many; and
# how many numbers there are then for each operator at the least: ranges and ops of other threads
# have numbers of their own.
_FEWEST_GAPS, _OPS_A_GAP = (3, 20), 3
_NUMBERS_EACH = 4


def build_trace(raw: RawColumns, info: TraceInfo) -> Trace:
    """Lay out the rows (tree depth-first, then all others by start) and link them."""
    strings, flows, changes = raw.strings, raw.concatenate_flows(), raw.concatenate_memory()
    table = raw.concatenate()
    in_tree = np.isin(table["kind"], TREE_KINDS)
    tree_rows, other_rows = np.flatnonzero(in_tree), np.flatnonzero(~in_tree)
    tree_count = len(tree_rows)
    thread_of = find_forward_threads(table, tree_rows, flows)
    tree = _host_tree(table, tree_rows, thread_of)
    del table["tie"]
    other_rows = other_rows[np.argsort(table["start_ns"][other_rows], kind="stable")]
    order = np.concatenate([tree_rows[tree.order], other_rows]).astype(np.int32)
    del in_tree, tree_rows, other_rows  # the links need much memory, too
    for name in table:
        table[name] = table[name][order]
    new_row = np.empty(len(order), np.int64)
    new_row[order] = np.arange(len(order))
    memory = memory_table(changes, new_row)
    none = np.full(len(order) - tree_count, -1, np.int32)
    table["parent"] = np.concatenate([tree.parent, none])
    after = np.arange(tree_count, len(order), dtype=np.int32) + 1
    table["subtree_end"] = np.concatenate([tree.subtree_end, after])
    del tree, order, new_row, none, after
    table["caller"] = find_callers(table, tree_count, flows)
    info = _look_for_gaps(table["external_id"][:tree_count], info)
    del table["external_id"]
    forward = link_backward(table, tree_count, thread_of)
    tracks = [Track(*track) for track in strings.tracks]
    return Trace(table, strings, tracks, tree_count, forward, info, memory)


def _look_for_gaps(external_ids: NDArray[np.int64], info: TraceInfo) -> TraceInfo:
    """Say so where the numbers of operators, which PyTorch counts up, have many gaps.

    A recording has few. Where most numbers are missing, somebody took operators out of the file,
    and their device work with them. A snippet has a gap after every few operators.
    """
    ids = distinct(external_ids[external_ids > 0])
    kept, numbered = len(ids), int(ids[-1] - ids[0]) + 1 if len(ids) else 0
    fewest, most = _FEWEST_GAPS
    has_gaps = np.count_nonzero(np.diff(ids) > 1) >= min(max(fewest, kept // _OPS_A_GAP), most)
    if not has_gaps or numbered < _NUMBERS_EACH * kept:
        return info
    said = (
        f"the file holds {kept:,} of {numbered:,} operators, so that work of the device is missing"
        " too: it may idle less than this report says"
    )
    return replace(info, warnings=[*info.warnings, said], is_thinned=True)


def _host_tree(table: Table, tree_rows: Rows, thread_of: dict[int, int]) -> Tree:
    small_id = table["forward_thread"][tree_rows]
    adopter = np.full(len(tree_rows), -1, np.int32)
    for small, forward in thread_of.items():
        adopter[small_id == small] = forward
    # Until 2024 files were written in whole microseconds.
    is_fine = (table["start_ns"] % 1000).any() or (table["duration_ns"] % 1000).any()
    names = ("start_ns", "duration_ns", "track_id", "tie")
    start, duration, track, tie = (table[name][tree_rows] for name in names)
    return build_tree(start, duration, track, tie, adopter, coarse_clock=not is_fine)
