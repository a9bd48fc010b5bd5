"""Sets of time as sorted, disjoint, half-open intervals in nanoseconds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .units import time_text

_SHOWN = 4  # as many `repr` gives one by one


def repeated(
    count: NDArray[np.int64], first: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return (i, number) of each of `count[i]` things from number `first[i]` on, one after the
    other.

    Numbers are those of columns, so that 32 bits hold them.
    """
    which = np.repeat(np.arange(len(count), dtype=np.int32), count)
    offset = (first - np.cumsum(count) + count).astype(np.int32)
    number = np.repeat(offset, count)
    number += np.arange(len(number), dtype=np.int32)
    return which, number


def count_upto(edges_ns: NDArray[np.int64], times_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each time how many of the ascending edges are not after it."""
    # Of many times in order, as they mostly are, it is faster to look for the few edges.
    many = times_ns.ndim == 1 and 2 * len(times_ns) > 3 * len(edges_ns)
    if many and (times_ns[1:] >= times_ns[:-1]).all():
        first = np.searchsorted(times_ns, edges_ns)
        return np.cumsum(np.bincount(first, minlength=len(times_ns) + 1)[:-1])
    return np.searchsorted(edges_ns, times_ns, side="right")


def total_ns_of_groups(
    groups: NDArray[np.int64], starts_ns: NDArray[np.int64], ends_ns: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the time that the stretches of each group cover together, by ascending group;
    (groups,).
    """
    order = np.lexsort((starts_ns, groups))
    groups, starts, ends = groups[order], starts_ns[order], ends_ns[order]
    fresh = np.maximum(ends - np.maximum(starts, latest_before(groups, ends)), 0)
    firsts = np.flatnonzero(np.append(True, np.diff(groups) != 0)[: len(groups)])
    return np.add.reduceat(fresh, firsts) if len(firsts) else fresh


def latest_before(groups: NDArray[np.int64], ends_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the latest of the ends before each one in its group, groups ascending.

    The first of a group has the earliest time that there is.
    """
    is_first = np.append(True, np.diff(groups) != 0)[: len(groups)]
    # Ranks stand for ends, so that a group's come after those of all groups before it.
    ranked = np.sort(ends_ns)
    offset = (np.cumsum(is_first) - 1) * len(ends_ns)
    rank = np.maximum.accumulate(np.searchsorted(ranked, ends_ns) + offset) - offset
    latest = np.append(0, ranked[rank])[:-1]
    latest[is_first] = np.iinfo(np.int64).min
    return latest


def any_within(numbers: NDArray[np.int64], first: int, end: int) -> bool:
    """Tell whether one of the ascending numbers is in [first, end)."""
    return bool(np.searchsorted(numbers, first) < np.searchsorted(numbers, end))


class Intervals:
    """A set of time: `starts_ns` and `ends_ns`, shape (n,), sorted, disjoint and not touching."""

    __slots__ = ("ends_ns", "starts_ns")

    def __init__(self, starts_ns: ArrayLike = (), ends_ns: ArrayLike = ()) -> None:
        """Take any intervals, overlapping or not, in any order; empty ones vanish."""
        starts, ends = np.asarray(starts_ns, np.int64), np.asarray(ends_ns, np.int64)
        keep = ends > starts
        starts, ends = starts[keep], ends[keep]
        by_start = np.argsort(starts, kind="stable")
        starts, ends = starts[by_start], np.maximum.accumulate(ends[by_start])
        fresh = np.ones(len(starts), bool)
        fresh[1:] = starts[1:] > ends[:-1]
        self.starts_ns: NDArray[np.int64] = starts[fresh]
        self.ends_ns: NDArray[np.int64] = ends[np.append(fresh[1:], True)] if len(ends) else ends

    def __len__(self) -> int:
        return len(self.starts_ns)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.starts_ns.tolist(), self.ends_ns.tolist(), strict=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Intervals) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if len(self) <= _SHOWN:
            return f"Intervals({list(self)!r})"
        first, last = self.starts_ns[0], self.ends_ns[-1]
        total = time_text(self.total_ns)
        return f"<{len(self):,} intervals between {first} and {last} ns, {total} in all>"

    @property
    def total_ns(self) -> int:
        """The sum of all lengths."""
        return int((self.ends_ns - self.starts_ns).sum())

    def __or__(self, other: Intervals) -> Intervals:
        return Intervals(
            np.concatenate([self.starts_ns, other.starts_ns]),
            np.concatenate([self.ends_ns, other.ends_ns]),
        )

    def __sub__(self, other: Intervals) -> Intervals:
        return self & other.complement()

    def __and__(self, other: Intervals) -> Intervals:
        # Each interval of this set is cut by those of the other that reach into it.
        first = np.searchsorted(other.ends_ns, self.starts_ns, side="right")
        last = np.searchsorted(other.starts_ns, self.ends_ns, side="left")
        which, at = repeated(last - first, first)
        return Intervals._of_sorted(
            np.maximum(self.starts_ns[which], other.starts_ns[at]),
            np.minimum(self.ends_ns[which], other.ends_ns[at]),
        )

    @classmethod
    def _of_sorted(cls, starts_ns: NDArray[np.int64], ends_ns: NDArray[np.int64]) -> Intervals:
        """The set of intervals that are sorted, disjoint and apart already."""
        result = cls.__new__(cls)
        result.starts_ns, result.ends_ns = starts_ns, ends_ns
        return result

    def complement(self) -> Intervals:
        """Return all time that is not in the set."""
        low, high = np.iinfo(np.int64).min // 2, np.iinfo(np.int64).max // 2
        return Intervals._of_sorted(np.append(low, self.ends_ns), np.append(self.starts_ns, high))

    def overlaps(self, start_ns: int, end_ns: int) -> bool:
        """Tell whether any time of the set lies in [start_ns, end_ns)."""
        after = int(np.searchsorted(self.ends_ns, start_ns, side="right"))
        return start_ns < end_ns and after < len(self) and bool(self.starts_ns[after] < end_ns)

    def contains(self, times_ns: ArrayLike) -> NDArray[np.bool_]:
        """Tell for each time whether it is in the set; the shape is that of `times_ns`."""
        times = np.asarray(times_ns, np.int64)
        if not len(self):
            return np.zeros(times.shape, bool)
        at = count_upto(self.starts_ns, times) - 1
        return (at >= 0) & (times < self.ends_ns[at])

    def covered_ns(self, starts_ns: ArrayLike, ends_ns: ArrayLike) -> NDArray[np.int64]:
        """Return for each [start, end) how much of it lies in the set; shape as given."""
        return self.before_ns(ends_ns) - self.before_ns(starts_ns)

    def before_ns(self, times_ns: ArrayLike) -> NDArray[np.int64]:
        """Return for each time how much of the set lies before it; shape as given."""
        times = np.asarray(times_ns, np.int64)
        if not len(self):
            return np.zeros(times.shape, np.int64)
        after = count_upto(self.starts_ns, times)
        # Up to the end of the interval that began last, less what of it is still to come.
        upto = np.append(0, np.cumsum(self.ends_ns - self.starts_ns))
        ends = np.append(np.iinfo(np.int64).min // 2, self.ends_ns)
        return upto[after] - np.maximum(ends[after] - times, 0)
