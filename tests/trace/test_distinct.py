"""Distinct numbers against Python's sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tidy.trace.distinct import distinct


@given(st.lists(st.integers(-(2**62), 2**62) | st.integers(0, 9)))
def test_each_number_comes_once_and_in_order(numbers: list[int]) -> None:
    assert distinct(np.array(numbers, np.int64)).tolist() == sorted(set(numbers))
