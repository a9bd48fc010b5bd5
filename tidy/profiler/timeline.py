"""From the times and the threads of a recorder to Unix times and the system's numbers.

Times are those of the clock that goes beside a modelled device. Without a device both clocks are
the same, and times are only moved.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from .piece import HostEvent

Turn = tuple[int, int]  # (real, modelled), both on the scale of time.perf_counter_ns
Numbers = NDArray[np.int64]
T = TypeVar("T")


def interpolated(recorded: Numbers, given: Numbers, times_ns: Numbers) -> Numbers:
    """Evenly between two known times; before the first and after the last one to one."""
    if not len(recorded):
        return times_ns
    at = np.searchsorted(recorded, times_ns, side="right") - 1
    low = np.maximum(at, 0)
    high = np.minimum(low + 1, len(recorded) - 1)
    over = recorded[high] - recorded[low]
    since = times_ns - recorded[low]
    inside = (at >= 0) & (over > 0)
    # Products of two times overflow; a part of a stretch is exact enough as a float.
    part = np.where(inside, since / np.maximum(over, 1), 0.0)
    moved = (part * (given[high] - given[low])).astype(np.int64)
    return given[low] + np.where(inside, moved, since)


class Timeline:
    """Maps times between turns evenly, and those before the first or after the last one to one.

    Args:
        turns: in order, at least one.
        unix_ns: Unix time less the time of `time.perf_counter_ns`.
    """

    def __init__(self, turns: Sequence[Turn], unix_ns: int) -> None:
        self.unix_ns = unix_ns
        self._real, self._modelled = np.array(turns, np.int64).T

    def of(self, times_ns: list[int]) -> list[int]:
        """Unix times of a recorder's; equal or later ones are mapped to equal or later ones."""
        found = interpolated(self._real, self._modelled, np.array(times_ns, np.int64))
        unix: list[int] = (found + self.unix_ns).tolist()
        return unix


class SystemThreads:
    """Tells which thread had a number of Python's at a time; later threads are given it again.

    Args:
        known: by Python's number, all threads that were seen with it, the latest last.
        events: by start; a thread had the number from its first event on.
    """

    def __init__(self, known: Mapping[int, Sequence[int]], events: Iterable[HostEvent]) -> None:
        self._latest = {ident: tids[-1] for ident, tids in known.items()}
        shared = {ident: tids for ident, tids in known.items() if len(tids) > 1}
        first: dict[int, int] = {}
        for event in events if shared else ():
            first.setdefault(event.tid, event.start_ns)
        self._turns = {
            ident: sorted((first[tid], tid) for tid in tids if tid in first)
            for ident, tids in shared.items()
        }

    def at(self, ident: int, time_ns: int) -> int:
        """Return the system's number, or Python's where the system's is not known."""
        turns = self._turns.get(ident)
        if not turns:
            return self._latest.get(ident, ident)
        place = bisect_right(turns, time_ns, key=lambda turn: turn[0])
        return turns[max(place - 1, 0)][1]


class OpenSpans(Generic[T]):
    """Walks through the spans on one thread, each (start, end, value), in ascending order of time.

    They are given by start, and the outer of two that start at one time first.
    """

    def __init__(self, spans: Iterable[tuple[int, int, T]] = ()) -> None:
        self._coming = [*spans][::-1]
        self._open: list[tuple[int, T]] = []

    def innermost(self, time_ns: int) -> T | None:
        """Return the value of the span that was opened last; None if none is open."""
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
