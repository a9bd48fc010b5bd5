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
with it. The rule needs no more than one number an open event, the row before which it is closed,
which is never later than that of an event below it; that gives the depth of each row, and depths
give parents.

Rows come out depth-first: the descendants of row r are the rows r + 1 up to `subtree_end[r]`, and
the next sibling of r, if there is one, is row `subtree_end[r]`.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

_CHUNK = 1 << 16
Rows: TypeAlias = NDArray[np.int32]


@dataclass(slots=True)
class Tree:
    """The tree of n events, each column of shape (n,).

    Attributes:
        order: the given row of each depth-first row; None if all stay where they are.
        parent: the parent of each depth-first row, -1 for roots.
        subtree_end: the row after the last descendant of each depth-first row.
    """

    order: Rows | None
    parent: Rows
    subtree_end: Rows


def order_by_start(
    start_ns: NDArray[np.int64],
    duration_ns: NDArray[np.int64],
    thread: NDArray[np.int32],
    tie: NDArray[np.int64],
    rows: NDArray[np.integer[Any]],
) -> Rows:
    """Return the given rows by thread, and those of each thread in the order of their starts.

    Args:
        start_ns, duration_ns, thread: columns of all rows; threads have numbers from 0 on.
        tie: order among equal starts (`Ev Idx`), a column of all rows; where any of `rows` has a
            negative one, the longer event is first.
        rows: shape (n,), ascending.
    """
    has_ties = not len(rows) or int(tie[rows].min()) >= 0
    order = rows.astype(np.int32)
    keys = thread[order]
    # A sort of 16 bits is linear, and few traces have more threads.
    narrow = keys.astype(np.uint16) if keys.max(initial=0) < 1 << 16 else keys
    bounds = np.append(0, np.cumsum(np.bincount(keys)))
    if np.count_nonzero(np.diff(bounds)) > 1:
        order = order[np.argsort(narrow, kind="stable")]
    del keys, narrow
    for first, last in pairwise(bounds[np.diff(bounds, prepend=-1) > 0].tolist()):
        mine = order[first:last]
        mine = mine[np.argsort(start_ns[mine], kind="stable")]
        is_equal = np.diff(start_ns[mine]) == 0
        tied = np.flatnonzero(np.append(is_equal, False) | np.append(False, is_equal))
        own = mine[tied]
        rank = tie[own] if has_ties else -duration_ns[own]
        mine[tied] = own[np.lexsort((rank, start_ns[own]))]
        order[first:last] = mine
    return order


def build_tree(
    start_ns: NDArray[np.int64],
    duration_ns: NDArray[np.int64],
    thread: NDArray[np.int32],
    adopter: NDArray[np.int32],
    coarse_clock: bool,
) -> Tree:
    """Build the forest of all threads.

    Args:
        start_ns, duration_ns, thread: shape (n,), in the order that `order_by_start` gives.
        adopter: for an op of a backward pass the thread of its forward, else -1.
        coarse_clock: times are whole microseconds, so an event that ends where the next starts is
            over, unless that next one ends no later.
    """
    parent = np.empty(len(start_ns), np.int32)
    subtree_end = np.empty(len(start_ns), np.int32)
    bounds = np.flatnonzero(np.diff(thread, prepend=-1, append=-1))
    spans = list(pairwise(bounds.tolist()))
    for first, last in spans:
        own = slice(first, last)
        # Of many events each column of their own is freed as soon as it was needed.
        depth, subtree_end[own] = _nest(
            start_ns[own], start_ns[own] + duration_ns[own], coarse_clock
        )
        subtree_end[own] += first
        parent[own] = _parents(depth, first)
        del depth
    hung = _adopt(spans, start_ns, duration_ns, parent, thread, adopter)
    if len(hung):
        return _lay_out(start_ns, thread, parent, subtree_end, hung)
    return Tree(None, parent, subtree_end)


def _nest(starts: NDArray[np.int64], ends: NDArray[np.int64], coarse: bool) -> tuple[Rows, Rows]:
    """Return `depth` and `subtree_end` of the events of one thread, by start."""
    count = len(starts)
    # What ended before this is over; on a coarse clock also what ends where a longer one starts.
    lasting = ends > starts
    limits = np.maximum.accumulate(starts + lasting) if coarse else starts
    # What is over when the next one starts can be nobody's parent.
    lasting[:-1] &= ends[:-1] >= limits[1:]
    lasting[-1:] = False
    rows = np.flatnonzero(lasting).astype(np.int32)
    lasts_until = _close(rows, ends, limits)
    del limits, ends
    closed = np.arange(1, count + 1, dtype=np.int32)
    closed[rows] = lasts_until
    # How many events are open when each one starts: what was opened less what was closed.
    depth = np.cumsum(lasting, dtype=np.int32)
    depth -= lasting
    del lasting, rows
    ended = np.zeros(count + 1, np.int32)  # half of what np.bincount takes
    np.add.at(ended, lasts_until, np.int32(1))
    depth -= np.cumsum(ended, out=ended)[:count]
    return depth, closed


def _close(rows: Rows, ends: NDArray[np.int64], limits: NDArray[np.int64]) -> Rows:
    """Return the row before which each event is closed: it is over, or one below it is closed.

    Args:
        rows: rows of events, ascending.
        ends: when the event of each row ends.
        limits: ascending; what ends before that of a row is over there.
    """
    stack = [1 << 62]
    closed = array("i")
    for first in range(0, len(rows), _CHUNK):
        part = rows[first : first + _CHUNK]
        over = np.searchsorted(limits, ends[part], side="right")
        for row, own_end in zip(part.tolist(), over.tolist(), strict=True):
            while stack[-1] <= row:
                stack.pop()
            end = own_end
            if end > stack[-1]:  # noqa: PLR1730 - a call of min would be a fifth of the loop
                end = stack[-1]
            stack.append(end)
            closed.append(end)
    return np.array(closed, np.int32)


def _parents(depth: Rows, first: int) -> Rows:
    """Return the parent of each row of a depth-first forest whose rows count from `first` on, -1
    for roots.
    """
    if not len(depth):
        return depth
    # A sort of 16 bits is linear, and few trees are deeper.
    narrow = depth.astype(np.uint16) if depth.max() < 1 << 16 else depth
    by_depth = np.argsort(narrow, kind="stable")
    del narrow
    order = by_depth.astype(np.int32)
    del by_depth
    # A row that is deeper than the one before is its first child; rows of one depth between two
    # such rows are its siblings.
    is_first = (np.diff(depth, prepend=np.int32(-1)) > 0)[order]
    latest = np.where(is_first, np.arange(len(depth), dtype=np.int32), 0)
    np.maximum.accumulate(latest, out=latest)
    parent = np.empty(len(depth), np.int32)
    parent[order] = order[latest] - 1
    parent[parent >= 0] += first
    return parent


def _adopt(
    spans: list[tuple[int, int]],
    starts: NDArray[np.int64],
    durations: NDArray[np.int64],
    parent: NDArray[np.int32],
    thread: NDArray[np.int32],
    adopter: NDArray[np.int32],
) -> NDArray[np.int64]:
    """Hang the top level of a backward thread under what is open on its forward thread.

    Return the rows that were hung, ascending.

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
        span = span_of.get(forward, (0, 0))
        found = _open_at(span, int(starts[child]), starts, durations, parent)
        if found < 0:
            _, found = bottom.get(forward, (-1, -1))
        if found >= 0 and durations[child] > 0:
            bottom[backward] = child, found
        elif found >= 0:
            alone[child] = found
    parent[list(alone)] = list(alone.values())
    hung = [np.array(list(alone), np.int64)]
    for backward, (child, found) in bottom.items():
        hung.append(child + np.flatnonzero(parent[child : span_of[backward][1]] < 0))
        parent[hung[-1]] = found
    return np.sort(np.concatenate(hung))


def _open_at(
    span: tuple[int, int],
    time_ns: int,
    starts: NDArray[np.int64],
    durations: NDArray[np.int64],
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
        if starts[row] + durations[row] < time_ns or durations[row] == 0:
            break
        found = row
    return found


def _lay_out(
    starts: NDArray[np.int64],
    thread: NDArray[np.int32],
    parent: Rows,
    subtree_end: Rows,
    hung: NDArray[np.int64],
) -> Tree:
    """Number rows depth-first when subtrees of one thread hang under events of another.

    A root and all below it stay together, but for the hung subtrees that are inserted among them.

    Args:
        parent: with what the hung rows hang under.
        subtree_end: as it is without them.
        hung: the rows that hang under another thread, ascending.
    """
    count = len(starts)
    rows = np.arange(count, dtype=np.int32)
    before = _places(hung, starts, thread, parent, subtree_end)
    # Of those in one place the ones that hang deeper come first; what is deeper has a larger row.
    by_place = np.lexsort((hung, starts[hung], -parent[hung], before))
    hung, before = hung[by_place], before[by_place]
    size = subtree_end - rows
    _add_above(size, parent, hung)
    inserted = np.append(0, np.cumsum(size[hung])).astype(np.int32)
    inserted_before = np.repeat(inserted, np.diff(before, prepend=0, append=count))
    is_root = parent < 0
    is_root[hung] = True
    roots = np.flatnonzero(is_root)
    root_of = np.cumsum(is_root, dtype=np.int32)  # an index into `roots`
    root_of -= 1
    # Roots keep their order by thread. Position and row differ by as much in all of a subtree, but
    # for what is inserted.
    is_known = parent[roots] < 0
    stay = roots[is_known]
    shift = np.zeros(len(roots), np.int32)
    shift[root_of[stay]] = np.cumsum(size[stay]) - size[stay] - stay - inserted_before[stay]
    above, at = root_of[parent[hung]], np.arange(len(hung))
    while len(at):
        ready = at[is_known[above[at]]]
        at = at[~is_known[above[at]]]
        own = hung[ready]
        position = before[ready] + inserted[ready] + shift[above[ready]]
        shift[root_of[own]] = position - own - inserted_before[own]
        is_known[root_of[own]] = True
    position = shift[root_of]
    position += inserted_before
    position += rows
    del inserted_before, root_of
    new_order = np.empty(count, np.int32)
    new_order[position] = rows
    moved = np.append(position, np.int32(-1))  # the last for a parent of -1
    rows += size[new_order]
    return Tree(new_order, moved[parent[new_order]], rows)


def _places(
    hung: NDArray[np.int64],
    starts: NDArray[np.int64],
    thread: NDArray[np.int32],
    parent: NDArray[np.int32],
    subtree_end: NDArray[np.int32],
) -> NDArray[np.int64]:
    """Return the row before which each hung row comes: a child of its parent, or that one's end."""
    found = parent[hung].astype(np.int64)
    before = np.empty(len(hung), np.int64)
    for each in np.unique(thread[found]).tolist():
        first, last = np.searchsorted(thread, (each, each + 1))
        own = np.flatnonzero(thread[found] == each)
        there, times_ns = starts[first:last], starts[hung[own]]
        before_equal = np.searchsorted(there, times_ns)
        behind_equal = np.searchsorted(there, times_ns, side="right")
        # Equal starts are in the order of rows, and so of threads.
        before[own] = first + np.where(thread[hung[own]] < each, before_equal, behind_equal)
    before = np.minimum(before, subtree_end[found])
    # Within a child that started earlier it comes behind that child.
    at = np.flatnonzero(before < subtree_end[found])
    child = before.copy()
    while len(at := at[parent[child[at]] != found[at]]):
        child[at] = parent[child[at]]
    return np.where(child < before, subtree_end[np.minimum(child, len(parent) - 1)], before)


def _add_above(size: Rows, parent: NDArray[np.int32], hung: NDArray[np.int64]) -> None:
    """Add the size of each hung row to all rows above it."""
    rows, which = np.unique(parent[hung], return_inverse=True)
    sizes = np.zeros(len(rows), np.int32)
    np.add.at(sizes, which, size[hung])
    while len(rows):
        np.add.at(size, rows, sizes)
        rows = parent[rows]
        rows, sizes = rows[rows >= 0], sizes[rows >= 0]
