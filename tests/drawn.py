"""Many small random choices of one test, which hypothesis draws at once.

A draw for each takes it several times as long as the test itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Choices:
    """Choices that follow from bytes, one each; the first ones are what an example shrinks to."""

    def __init__(self, drawn: bytes) -> None:
        self._left: Iterator[int] = iter(drawn)

    def upto(self, most: int) -> int:
        """A number from 0 to `most`, which is below 256."""
        return next(self._left) % (most + 1)

    def of(self, some: Sequence[T]) -> T:
        """One of them."""
        return some[self.upto(len(some) - 1)]


def choices(count: int) -> st.SearchStrategy[Choices]:
    """So many choices."""
    return st.binary(min_size=count, max_size=count).map(Choices)
