"""Stretches of time, each with what it was spent on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..trace import Rows
from ..trace.intervals import repeated


class Stretches(NamedTuple):
    """Disjoint stretches [start, end); shape (n,) each.

    `kind` is an index into the names that the maker of the pieces uses; `row` is the event that a
    stretch is spent in, -1 for none.
    """

    start_ns: Rows
    end_ns: Rows
    kind: NDArray[np.int8]
    row: NDArray[np.int32]

    def at(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> Stretches:
        """Return the chosen stretches."""
        return Stretches(
            self.start_ns[chosen], self.end_ns[chosen], self.kind[chosen], self.row[chosen]
        )


NO_STRETCHES = Stretches(
    np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int8), np.empty(0, np.int32)
)


def joined(parts: Iterable[Stretches]) -> Stretches:
    """Return all pieces of several, by start."""
    columns = list(zip(*parts, strict=True))
    order = np.argsort(np.concatenate(columns[0]), kind="stable")
    return Stretches(*(np.concatenate(column)[order] for column in columns))


def concatenated(parts: Sequence[Stretches]) -> Stretches:
    """Return all pieces of several, one after the other."""
    return Stretches(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def cut_at(pieces: Stretches, edges_ns: Rows) -> Stretches:
    """Return the pieces, parted at each of the given times; `edges_ns` ascending."""
    first = np.searchsorted(edges_ns, pieces.start_ns, side="right")
    last = np.searchsorted(edges_ns, pieces.end_ns, side="left")
    which, edge = repeated(np.maximum(last - first, 0) + 1, first)
    bounds = np.concatenate([edges_ns, [np.iinfo(np.int64).max]])
    starts, ends = pieces.start_ns[which], pieces.end_ns[which]
    low = np.where(edge > first[which], bounds[edge - 1], starts)
    high = np.where(edge < last[which], bounds[edge], ends)
    return Stretches(low, high, pieces.kind[which], pieces.row[which])
