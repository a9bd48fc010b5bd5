"""Columns come out of a page as they went in."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tidy.page.columns import packed

from .making import unpacked

_NUMBERS = st.integers(-(2**52) + 1, 2**52 - 1)


@given(st.lists(st.tuples(_NUMBERS, st.integers(-3, 300)), max_size=40), st.booleans())
def test_columns_are_kept(rows: list[tuple[int, int]], delta: bool) -> None:
    one, other = (np.array([row[n] for row in rows], np.int64) for n in (0, 1))
    deltas = frozenset({"one"} if delta else ())
    found = unpacked(packed({"one": one, "other": other}, deltas))
    assert found["one"].tolist() == one.tolist()
    assert found["other"].tolist() == other.tolist()


def test_small_numbers_take_one_byte() -> None:
    made = packed({"kind": np.arange(100)}, frozenset())
    assert made["columns"] == [{"name": "kind", "width": 1, "delta": False}]
