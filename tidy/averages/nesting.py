"""The tree of function events, by containment (`EventList._populate_cpu_children`).

It differs from the tree of the trace: an event is under another only where it lies inside it, so
one that outlives what it started in is not under it:

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

Nanoseconds = NDArray[np.int64]
Indexes = NDArray[np.int64]


@dataclass(slots=True)
class Nesting:
    """`parent` (-1: a root) and `subtree_end` of n events, depth-first, shape (n,)."""

    parent: Indexes
    subtree_end: Indexes

    def sum_below(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each event the sum over itself and all below it."""
        before = np.concatenate([[0], np.cumsum(values)])
        sums: NDArray[np.int64] = before[self.subtree_end] - before[:-1]
        return sums


def nest(start_ns: Nanoseconds, end_ns: Nanoseconds, thread: NDArray[np.int32]) -> Nesting:
    """Nest events that come by thread, start, and then the longer first."""
    parent = np.empty(len(thread), np.int64)
    subtree_end = np.empty(len(thread), np.int64)
    bounds = np.flatnonzero(np.diff(thread, prepend=-1, append=-1))
    for first, last in pairwise(bounds.tolist()):
        above, after = _nest_thread(start_ns[first:last].tolist(), end_ns[first:last].tolist())
        parent[first:last] = above
        parent[first:last] += np.where(parent[first:last] < 0, 0, first)
        subtree_end[first:last] = after
        subtree_end[first:last] += first
    return Nesting(parent, subtree_end)


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


def repeated(nesting: Nesting, key: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether an event is the only child of one with the same key; it is then not listed.

    As `EventList._remove_dup_nodes` has it, for example the second `aten::sum` of an overload
    that calls another.
    """
    has_parent = nesting.parent >= 0
    children = np.bincount(nesting.parent[has_parent], minlength=len(key))
    above = np.maximum(nesting.parent, 0)
    same: NDArray[np.bool_] = has_parent & (key == key[above]) & (children[above] == 1)
    return same


def representatives(nesting: Nesting, removed: NDArray[np.bool_]) -> Indexes:
    """For each event itself, or the event that a removed one is counted under."""
    found = np.where(removed, nesting.parent, np.arange(len(removed)))
    while removed[found].any():
        found = found[found]
    return found
