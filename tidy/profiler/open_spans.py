"""Which of the spans on one thread is the innermost that is open at a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class OpenSpans(Generic[T]):
    """Walks through spans, each (start, end, value), in ascending order of time.

    They are given by start, and the outer of two that start at one time first.
    """

    def __init__(self, spans: Iterable[tuple[int, int, T]] = ()) -> None:
        self._coming = [*spans][::-1]
        self._open: list[tuple[int, T]] = []

    def innermost(self, time_ns: int) -> T | None:
        """The value of the span that was opened last; None where none is open."""
        while self._coming and self._coming[-1][0] <= time_ns:
            start, end, value = self._coming.pop()
            self._close(start)
            self._open.append((end, value))
        self._close(time_ns)
        return self._open[-1][1] if self._open else None

    def add(self, end_ns: int, value: T) -> None:
        """Open one now, within those that are open."""
        self._open.append((end_ns, value))

    def _close(self, time_ns: int) -> None:
        while self._open and self._open[-1][0] < time_ns:
            self._open.pop()
