"""The event tree, by PyTorch's own rule.

Events of one thread are taken in order of their start. Before each, every open event that ended
before that start is closed, and closing an event closes all above it. What is then on top of the
thread's stack is the parent. An event without duration never becomes one:

    time  ------------------------------------------------>
    f     [=====================]                 f
    g       [====]                                +-- g
    h          [======]      starts inside g      |   +-- h     although h outlives g
    k               [===]    g is closed: so is h +-- k

This is start order, not containment (`build_tree` in torch/csrc/profiler/collection.cpp): with
Python stacks on, a `record_function` range starts inside the built-in that enters it and is closed
with it. The rule needs no more than one number an open event, the earliest end among it and its
ancestors: `while top_end < start: pop`.

Rows come out depth-first: the descendants of row r are the rows r + 1 up to `subtree_end[r]`, and
the next sibling of r, if there is one, is row `subtree_end[r]`.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_CHUNK = 1 << 16
_NEVER = 1 << 62


@dataclass(slots=True)
class Tree:
    """The tree of n events, each column of shape (n,).

    Attributes:
        order: the input row of each depth-first row.
        parent: the parent of each depth-first row, -1 for roots.
        subtree_end: the row after the last descendant of each depth-first row.
    """

    order: NDArray[np.int64]
    parent: NDArray[np.int32]
    subtree_end: NDArray[np.int32]


def build_tree(
    start_ns: NDArray[np.int64],
    duration_ns: NDArray[np.int64],
    thread: NDArray[np.int32],
    tie: NDArray[np.int64],
    adopter: NDArray[np.int32],
    coarse_clock: bool,
) -> Tree:
    """Build the forest of all threads.

    Args:
        start_ns, duration_ns, thread: shape (n,); threads have numbers from 0 on.
        tie: order among equal starts (`Ev Idx`); where any is negative, the longer event is first.
        adopter: for an op of a backward pass the thread of its forward, else -1.
        coarse_clock: times are whole microseconds, so an event that ends where the next starts is
            over, unless that next one ends no later.
    """
    rank = tie if not len(tie) or int(tie.min()) >= 0 else -duration_ns
    order = np.lexsort((rank, start_ns, thread))
    starts, ends = start_ns[order], (start_ns + duration_ns)[order]
    parent = np.empty(len(order), np.int32)
    subtree_end = np.empty(len(order), np.int32)
    bounds = np.flatnonzero(np.diff(thread[order], prepend=-1, append=-1))
    spans = list(pairwise(bounds.tolist()))
    for first, last in spans:
        above, after = map(np.array, _replay(starts[first:last], ends[first:last], coarse_clock))
        parent[first:last] = np.where(above < 0, -1, above + first)
        subtree_end[first:last] = after + first
    if _adopt(spans, starts, ends, parent, thread[order], adopter[order]):
        return _lay_out(order, starts, parent)
    return Tree(order, parent, subtree_end)


def _replay(
    starts: NDArray[np.int64], ends: NDArray[np.int64], coarse: bool
) -> tuple[array[int], array[int]]:
    """`parent` (-1: a root) and `subtree_end` of the events of one thread, by start."""
    count = len(starts)
    parents = array("i", [-1]) * count
    closed = array("i", range(1, count + 1))
    # What ended before this is over; on a coarse clock also what ends where a longer one starts.
    lasting = ends > starts
    limits = starts + lasting if coarse else starts
    # What is over when the next one starts can be nobody's parent either.
    lasting[:-1] &= ends[:-1] >= limits[1:]
    lasting[-1:] = False
    stack: list[tuple[int, int]] = []  # what lies below the top: (row, earliest end)
    top, top_end = -1, _NEVER
    for first in range(0, count, _CHUNK):
        part = slice(first, first + _CHUNK)
        rows = range(first, min(first + _CHUNK, count))
        columns = (ends[part].tolist(), limits[part].tolist(), lasting[part].tolist())
        for row, end, limit, lasts in zip(rows, *columns, strict=True):
            while top_end < limit:
                closed[top] = row
                top, top_end = stack.pop()
            parents[row] = top
            if lasts:
                stack.append((top, top_end))
                top = row
                if end < top_end:  # noqa: PLR1730 - a call of min would be a fifth of the loop
                    top_end = end
    while stack:
        closed[top] = count
        top, _ = stack.pop()
    return parents, closed


def _adopt(
    spans: list[tuple[int, int]],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    parent: NDArray[np.int32],
    thread: NDArray[np.int32],
    adopter: NDArray[np.int32],
) -> bool:
    """Hang the top level of a backward thread under what is open on its forward thread.

    The first such event that finds something open decides for all that follow on its thread, even
    once its parent is over: in PyTorch the stack of the backward thread then bottoms out in that
    parent, which a third thread may find there. An event without duration decides for itself
    alone, since it never enters the stack.
    """
    span_of = {int(thread[first]): (first, last) for first, last in spans}
    bottom: dict[int, tuple[int, int]] = {}  # thread -> (first row to hang, what it hangs under)
    alone: dict[int, int] = {}
    tagged = np.flatnonzero((parent < 0) & (adopter >= 0) & (adopter != thread))
    for child in tagged[np.argsort(starts[tagged], kind="stable")].tolist():
        backward, forward = int(thread[child]), int(adopter[child])
        if backward in bottom:
            continue
        found = _open_at(span_of.get(forward, (0, 0)), int(starts[child]), starts, ends, parent)
        if found < 0:
            _, found = bottom.get(forward, (-1, -1))
        if found >= 0 and ends[child] > starts[child]:
            bottom[backward] = child, found
        elif found >= 0:
            alone[child] = found
    parent[list(alone)] = list(alone.values())
    for backward, (child, found) in bottom.items():
        hung = child + np.flatnonzero(parent[child : span_of[backward][1]] < 0)
        parent[hung] = found
    return bool(bottom or alone)


def _open_at(
    span: tuple[int, int],
    time_ns: int,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    parent: NDArray[np.int32],
) -> int:
    """The innermost event of a thread that started before `time_ns` and is open then, or -1."""
    first, last = span
    row = first + int(np.searchsorted(starts[first:last], time_ns)) - 1
    if row < first:
        return -1
    path = []
    while row >= 0:
        path.append(row)
        row = int(parent[row])
    found = -1
    for row in reversed(path):
        if ends[row] < time_ns or ends[row] == starts[row]:
            break
        found = row
    return found


def _lay_out(
    order: NDArray[np.int64], starts: NDArray[np.int64], parent: NDArray[np.int32]
) -> Tree:
    """Number rows depth-first when subtrees of one thread hang under events of another."""
    count = len(order)
    by_start = np.lexsort((np.arange(count), starts)).tolist()
    parents, size = parent.tolist(), [1] * count
    for row in reversed(by_start):
        if parents[row] >= 0:
            size[parents[row]] += size[row]
    # Roots keep their order by thread; children come by start.
    roots, sizes = np.flatnonzero(parent < 0), np.array(size, np.int64)
    first = np.zeros(count, np.int64)
    first[roots] = np.cumsum(sizes[roots]) - sizes[roots]
    position, free = first.tolist(), (first + 1).tolist()
    for row in by_start:
        above = parents[row]
        if above >= 0:
            position[row] = free[above]
            free[above] += size[row]
            free[row] = position[row] + 1
    moved = np.array([*position, -1], np.int32)  # the last for a parent of -1
    rows = np.argsort(moved[:-1])
    end = (np.arange(count) + sizes[rows]).astype(np.int32)
    return Tree(order[rows], moved[parent[rows]], end)
