"""From raw columns to a `Trace`: tree first, then links, then the rest of the rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .blocks import reordered
from .callers import find_callers
from .distinct import distinct
from .info import TraceInfo
from .kinds import TREE_KINDS
from .links import Table, find_forward_threads, link_backward
from .memory import memory_table
from .raw_columns import RawColumns, Track
from .trace import Trace
from .tree import Tree, build_tree, order_by_start

# Gaps in the numbers of operators from which a file was thinned out: of few operators, of many; and
# how many numbers there are then for each operator at the least: ranges and ops of other threads
# have numbers of their own.
_FEWEST_GAPS, _OPS_A_GAP = (3, 20), 3
_NUMBERS_EACH = 4
_BLOCK = 1 << 16  # rows looked at together

_OF_ORDER = ("start_ns", "duration_ns", "track_id")
_OF_TREE = (*_OF_ORDER, "forward_thread")
Order: TypeAlias = NDArray[np.int32]


def build_trace(raw: RawColumns, info: TraceInfo) -> Trace:
    """Lay out the rows (tree depth-first, then all others by start) and link them."""
    strings, flows, changes = raw.strings, raw.concatenate_flows(), raw.concatenate_memory()
    table = raw.concatenate()
    in_tree = np.isin(table["kind"], TREE_KINDS)
    tree_rows, other_rows = (np.flatnonzero(own).astype(np.int32) for own in (in_tree, ~in_tree))
    thread_of, tree_count = find_forward_threads(table, tree_rows, flows), len(tree_rows)
    order = _order(table, tree_rows, other_rows)
    del table["tie"], in_tree, tree_rows, other_rows  # what follows needs much memory, too
    for name in _OF_TREE:
        table[name] = reordered(table[name], order)
    tree = _host_tree(table, tree_count, thread_of)
    if tree.order is not None:
        for name in _OF_TREE:
            table[name][:tree_count] = table[name][:tree_count][tree.order]
        order[:tree_count] = order[:tree_count][tree.order]
    for name in [each for each in table if each not in _OF_TREE]:
        table[name] = reordered(table[name], order)
    memory = memory_table(changes, order)
    none = np.full(len(order) - tree_count, -1, np.int32)
    table["parent"] = np.concatenate([tree.parent, none])
    after = np.arange(tree_count, len(order), dtype=np.int32) + 1
    table["subtree_end"] = np.concatenate([tree.subtree_end, after])
    del tree, order, none, after, changes
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


def _order(table: Table, tree_rows: Order, other_rows: Order) -> Order:
    """Return the given row of each row: those of the tree as it takes them, all others by start."""
    start_ns, duration_ns, track_id, tie = (table[name] for name in (*_OF_ORDER, "tie"))
    ordered = order_by_start(start_ns, duration_ns, track_id, tie, tree_rows)
    by_start = np.argsort(start_ns[other_rows], kind="stable")
    return np.concatenate([ordered, other_rows[by_start]])


def _host_tree(table: Table, tree_count: int, thread_of: dict[int, int]) -> Tree:
    """Build the tree of the first rows, which are in the order that it takes."""
    small_id = table["forward_thread"][:tree_count]
    adopter = np.full(tree_count, -1, np.int32)
    for small, forward in thread_of.items():
        adopter[small_id == small] = forward
    # Until 2024 files were written in whole microseconds.
    is_coarse = not (_has_parts(table["start_ns"]) or _has_parts(table["duration_ns"]))
    start_ns, duration_ns, track_id = (table[name][:tree_count] for name in _OF_ORDER)
    return build_tree(start_ns, duration_ns, track_id, adopter, is_coarse)


def _has_parts(times_ns: NDArray[np.int64]) -> bool:
    """Tell whether any time has parts of a microsecond; in most files the first has some."""
    blocks = range(0, len(times_ns), _BLOCK)
    return any((times_ns[first : first + _BLOCK] % 1000).any() for first in blocks)
