"""The tree is the one that PyTorch builds from the same events, whatever their times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from tidy.trace.tree import Tree, build_tree, order_by_start

from .naive_tree import Span, replay, replay_coarse


def _spans(threads: int, indexed: bool) -> st.SearchStrategy[list[Span]]:
    """Few instants and many events, so that ties, zero durations and overlaps are the rule.

    Each thread has instants of its own: which of two events of two threads came first is not to be
    told from a tie.
    """
    place = st.tuples(
        st.integers(0, 12),
        st.integers(0, 9),
        st.integers(0, threads - 1),
        st.integers(-1, threads - 1),
    )
    return st.lists(place, max_size=24).map(
        lambda places: [
            Span(
                f"e{i}",
                at * threads + thread,
                at * threads + thread + lasts,
                thread,
                i if indexed else -1,
                fwd,
            )
            for i, (at, lasts, thread, fwd) in enumerate(places)
        ]
    )


def _build(spans: list[Span], coarse_clock: bool = False) -> Tree:
    def column(values: list[int], dtype: type[np.generic] = np.int64) -> np.ndarray:
        return np.array(values, dtype)

    start_ns = column([span.start for span in spans])
    duration_ns = column([span.end - span.start for span in spans])
    thread = column([span.thread for span in spans], np.int32)
    adopter = column([span.forward for span in spans], np.int32)
    tie = column([span.tie for span in spans])
    given = order_by_start(start_ns, duration_ns, thread, tie, np.arange(len(spans)))
    columns = (each[given] for each in (start_ns, duration_ns, thread, adopter))
    tree = build_tree(*columns, coarse_clock)
    return replace(tree, order=given if tree.order is None else given[tree.order])


def _parents(tree: Tree, spans: list[Span]) -> dict[str, str | None]:
    assert tree.order is not None
    names = [spans[row].name for row in tree.order.tolist()]
    above = [None if row < 0 else names[row] for row in tree.parent.tolist()]
    return dict(zip(names, above, strict=True))


def _expected(spans: list[Span]) -> dict[str, str | None]:
    return {span.name: span.parent.name if span.parent else None for span in spans}


@given(
    st.integers(1, 3).flatmap(lambda threads: st.booleans().flatmap(lambda i: _spans(threads, i)))
)
def test_parents_are_those_of_pytorch(spans: list[Span]) -> None:
    tree = _build(spans)
    replay(spans)
    assert _parents(tree, spans) == _expected(spans)


@given(st.booleans().flatmap(lambda indexed: _spans(1, indexed)))
@example([Span("a", 0, 4), Span("b", 4, 4, tie=1), Span("c", 4, 5, tie=2)])
def test_in_whole_microseconds_what_ends_at_a_start_is_over(spans: list[Span]) -> None:
    tree = _build(spans, coarse_clock=True)
    replay_coarse(spans)
    assert _parents(tree, spans) == _expected(spans)
