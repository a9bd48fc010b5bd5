"""Rows come out depth-first, also where subtrees of one thread hang under another thread."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tidy.trace.tree import build_tree, order_by_start

# (start, duration, thread, thread of the forward)
_EVENTS = st.lists(
    st.tuples(st.integers(0, 25), st.integers(0, 20), st.integers(0, 2), st.integers(-1, 2)),
    max_size=25,
)


@settings(max_examples=500)
@given(_EVENTS, st.booleans())
def test_rows_are_depth_first_and_siblings_by_start(
    events: list[tuple[int, int, int, int]], coarse_clock: bool
) -> None:
    start, duration, thread, adopter = np.array(events, np.int64).reshape(-1, 4).T
    tie = rows = np.arange(len(start))
    threads = thread.astype(np.int32)
    given = order_by_start(start, duration, threads, tie, rows)
    columns = start[given], duration[given], threads[given], adopter.astype(np.int32)[given]
    tree = build_tree(*columns, coarse_clock)
    order = (given if tree.order is None else given[tree.order]).tolist()
    above = {row: order[up] if up >= 0 else -1 for row, up in zip(order, tree.parent, strict=True)}
    children: dict[int, list[int]] = {}
    for row in sorted(above, key=lambda row: (thread[row], start[row], row)):
        children.setdefault(above[row], []).append(row)
    expected: list[int] = []
    ends: dict[int, int] = {}

    def lay_out(row: int) -> None:
        expected.append(row)
        for child in sorted(children.get(row, []), key=lambda child: start[child]):
            lay_out(child)
        ends[row] = len(expected)

    for root in children.get(-1, []):
        lay_out(root)
    assert order == expected
    assert tree.subtree_end.tolist() == [ends[row] for row in expected]
