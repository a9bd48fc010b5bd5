"""`Intervals` behave as the sets of integers that they stand for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tidy.trace import Intervals
from tidy.trace.intervals import latest_before, total_ns_of_groups

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


_GROUPS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-8, 30), st.integers(-8, 30)), max_size=12
)


@given(_GROUPS)
def test_the_time_of_groups(stretches: list[tuple[int, int, int]]) -> None:
    groups, starts, ends = np.array(stretches, np.int64).reshape(-1, 3).T
    known = sorted({group for group, _, _ in stretches})
    expected = [
        len(_times([(start, end) for group, start, end in stretches if group == each]))
        for each in known
    ]
    assert total_ns_of_groups(groups, starts, ends).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-8, 30)), max_size=12))
def test_the_latest_end_before(ends: list[tuple[int, int]]) -> None:
    ends = sorted(ends, key=lambda each: each[0])
    earliest = np.iinfo(np.int64).min
    expected = [
        max([end for group, end in ends[:at] if group == own], default=earliest)
        for at, (own, _) in enumerate(ends)
    ]
    groups, times = np.array(ends, np.int64).reshape(-1, 2).T
    assert latest_before(groups, times).tolist() == expected
