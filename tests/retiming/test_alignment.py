"""Pairs of moments of two steps."""

from __future__ import annotations

import difflib
import time

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tidy.retiming.alignment import align

_SEQUENCE = st.lists(st.integers(0, 6), max_size=40)


@given(_SEQUENCE, _SEQUENCE)
def test_pairs_are_alike_and_in_order(one: list[int], other: list[int]) -> None:
    first, second = align(np.array(one, np.int64), np.array(other, np.int64))
    assert [one[i] for i in first] == [other[j] for j in second]
    assert (np.diff(first) > 0).all()
    assert (np.diff(second) > 0).all()


@given(_SEQUENCE)
def test_what_is_alike_is_paired_as_it_stands(one: list[int]) -> None:
    numbers = np.array(one, np.int64)
    first, second = align(numbers, numbers.copy())
    assert first.tolist() == second.tolist() == list(range(len(one)))


@given(st.lists(st.integers(0, 10**6), max_size=60, unique=True), st.data())
def test_nothing_in_order_is_missed(one: list[int], data: st.DataObject) -> None:
    """All differ; some are taken out and two put in. difflib's pairs are the most here."""
    kept = [each for each in one if data.draw(st.booleans())]
    place = data.draw(st.integers(0, len(kept)))
    other = [*kept[:place], 10**7, 10**8, *kept[place:]]
    first, _ = align(np.array(one, np.int64), np.array(other, np.int64))
    blocks = difflib.SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    assert len(first) == sum(block.size for block in blocks) == len(kept)


def test_long_steps_that_differ_here_and_there() -> None:
    random = np.random.default_rng(0)
    one = np.tile(random.integers(0, 50, 300), 300)
    other = np.delete(one, random.integers(0, len(one), 40))
    begin = time.process_time()  # which other programs do not lengthen
    first, _ = align(one, other)
    assert time.process_time() - begin < 10
    assert len(first) > 0.9 * len(other)
