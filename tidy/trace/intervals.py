"""Sets of time as sorted, disjoint, half-open intervals in nanoseconds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray


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
        return f"Intervals({list(self)!r})"

    @property
    def total_ns(self) -> int:
        return int((self.ends_ns - self.starts_ns).sum())

    def __or__(self, other: Intervals) -> Intervals:
        return Intervals(
            np.concatenate([self.starts_ns, other.starts_ns]),
            np.concatenate([self.ends_ns, other.ends_ns]),
        )

    def __sub__(self, other: Intervals) -> Intervals:
        return self & other.complement()

    def __and__(self, other: Intervals) -> Intervals:
        # Of the elementary pieces between all ends, those lie in both that start inside both.
        edges = np.unique(
            np.concatenate([self.starts_ns, self.ends_ns, other.starts_ns, other.ends_ns])
        )
        inside = self.contains(edges[:-1]) & other.contains(edges[:-1])
        return Intervals(edges[:-1][inside], edges[1:][inside])

    def complement(self) -> Intervals:
        """All other time."""
        low, high = np.iinfo(np.int64).min // 2, np.iinfo(np.int64).max // 2
        return Intervals(np.append(low, self.ends_ns), np.append(self.starts_ns, high))

    def overlaps(self, start_ns: int, end_ns: int) -> bool:
        """Whether any of it lies in [start_ns, end_ns)."""
        after = int(np.searchsorted(self.ends_ns, start_ns, side="right"))
        return start_ns < end_ns and after < len(self) and bool(self.starts_ns[after] < end_ns)

    def contains(self, times_ns: ArrayLike) -> NDArray[np.bool_]:
        """For each time whether it is in the set; shape as given."""
        times = np.asarray(times_ns, np.int64)
        at = np.searchsorted(self.starts_ns, times, side="right") - 1
        if not len(self):
            return np.zeros(times.shape, bool)
        return (at >= 0) & (times < self.ends_ns[at])
