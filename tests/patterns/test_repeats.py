"""`repeated_runs` finds what trying every start and period finds."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from tidy.patterns.evidence.python.loops import repeated_runs

_SEQUENCES = st.lists(st.integers(0, 2), max_size=30)


def _tried(sequence: list[int], longest_period: int, rounds: int) -> Iterator[tuple[int, int, int]]:
    taken: set[int] = set()
    for period in range(1, longest_period + 1):
        repeats = {i for i in range(period, len(sequence)) if sequence[i] == sequence[i - period]}
        for at in sorted(repeats):
            if at - 1 in repeats:
                continue
            last = at
            while last in repeats:
                last += 1
            first, end = at - period, last
            if end - first <= period * (rounds - 1):
                continue
            while first in taken and first < at - 1:
                first += 1
            while end - 1 in taken and end > last - period + 1:
                end -= 1
            run = set(range(first, end))
            if len(run) > period * (rounds - 1) and not taken & run:
                taken |= run
                yield first, end, period


@given(_SEQUENCES, st.integers(0, 8), st.integers(2, 5))
def test_against_trying_all(sequence: list[int], longest_period: int, rounds: int) -> None:
    found = list(repeated_runs(sequence, longest_period, rounds))
    assert found == list(_tried(sequence, longest_period, rounds))


@given(st.integers(1, 5), st.integers(2, 6), st.integers(0, 4))
def test_a_repeated_word_is_one_run(letters: int, rounds: int, extra: int) -> None:
    """With something else before and after, and an incomplete round at the end."""
    body = (list(range(letters)) * (rounds + 1))[: letters * rounds + min(extra, letters - 1)]
    assert list(repeated_runs([9, *body, 8], 5, 2)) == [(1, len(body) + 1, letters)]


def test_the_shorter_period_wins() -> None:
    assert list(repeated_runs([1] * 12, 4, 3)) == [(0, 12, 1)]
    assert list(repeated_runs([1, 2] * 6, 4, 3)) == [(0, 12, 2)]


def test_a_loop_that_another_one_follows() -> None:
    """The second is longer by an element of the first, which ends as its rounds do."""
    found = list(repeated_runs([7, 8, 3] * 6 + [1, 3] * 6, 4, 3))
    assert found == [(17, 30, 2), (0, 17, 3)]


def test_nothing_repeats() -> None:
    assert list(repeated_runs([], 4, 3)) == []
    assert list(repeated_runs(range(50), 4, 3)) == []
