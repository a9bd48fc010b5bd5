"""`Intervals` behave as the sets of integers that they stand for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidy.trace import Intervals

_PAIRS = st.lists(st.tuples(st.integers(-8, 30), st.integers(-8, 30)), max_size=8)


def _intervals(pairs: list[tuple[int, int]]) -> Intervals:
    return Intervals([start for start, _ in pairs], [end for _, end in pairs])


def _times(pairs: list[tuple[int, int]]) -> set[int]:
    return {time for start, end in pairs for time in range(start, end)}


def _times_of(intervals: Intervals) -> set[int]:
    return _times(list(intervals))


@given(_PAIRS)
def test_a_set_is_kept_in_its_shortest_form(pairs: list[tuple[int, int]]) -> None:
    intervals = _intervals(pairs)
    assert _times_of(intervals) == _times(pairs)
    assert intervals.total_ns == len(_times(pairs))
    edges = [edge for interval in intervals for edge in interval]
    assert edges == sorted(set(edges)), "sorted, not empty, not touching"
    assert len(intervals) == len(edges) // 2


@given(_PAIRS, _PAIRS)
def test_union(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    assert _times_of(_intervals(left) | _intervals(right)) == _times(left) | _times(right)


@given(_PAIRS, _PAIRS)
def test_intersection(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    assert _times_of(_intervals(left) & _intervals(right)) == _times(left) & _times(right)


@given(_PAIRS, _PAIRS)
def test_difference(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    assert _times_of(_intervals(left) - _intervals(right)) == _times(left) - _times(right)


@given(_PAIRS)
def test_complement_is_all_other_time(pairs: list[tuple[int, int]]) -> None:
    window = Intervals([-20], [40])
    assert _times_of(_intervals(pairs).complement() & window) == set(range(-20, 40)) - _times(pairs)


@given(_PAIRS, st.integers(-10, 32), st.integers(0, 10))
def test_overlap(pairs: list[tuple[int, int]], start: int, length: int) -> None:
    touched = bool(_times(pairs) & set(range(start, start + length)))
    assert _intervals(pairs).overlaps(start, start + length) == touched


@given(_PAIRS, st.lists(st.integers(-10, 32)))
def test_membership(pairs: list[tuple[int, int]], times: list[int]) -> None:
    assert _intervals(pairs).contains(times).tolist() == [time in _times(pairs) for time in times]


@given(_PAIRS)
def test_equal_sets_are_equal(pairs: list[tuple[int, int]]) -> None:
    split = [(time, time + 1) for time in sorted(_times(pairs), reverse=True)]
    assert _intervals(pairs) == _intervals(split)
    assert _intervals(pairs) != _intervals([*pairs, (50, 51)])
