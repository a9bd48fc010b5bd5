"""Which device work of two steps is the same: what was launched by calls that are.

Many kernels have one name. Where two steps have different numbers of them (a loop over a sequence),
their order alone would pair a kernel with one that another call launched, and it could begin before
its own call did.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


class PairedCalls:
    """What the host began in a step, and when in its counterpart."""

    def __init__(self) -> None:
        self._pairs: list[tuple[Numbers, Numbers]] = []

    def add(self, times: Numbers, there: Numbers) -> None:
        """Moments of the host that are paired."""
        self._pairs.append((times, there))

    def labels(
        self, mine: tuple[Numbers, Numbers], theirs: tuple[Numbers, Numbers]
    ) -> tuple[Numbers, Numbers]:
        """Labels of device work that differ where the calls that launched it are not paired.

        Args:
            mine, theirs: the labels, and when the host asked for the work.
        """
        (labels, asked), (their_labels, their_asked) = mine, theirs
        if not self._pairs:
            return labels, their_labels
        times, there = (np.concatenate(each) for each in zip(*self._pairs, strict=True))
        calls = np.flatnonzero(np.isin(times, asked) & np.isin(there, their_asked))
        at, their_at = times[calls], there[calls]
        step = 1 + max(int(labels.max(initial=0)), int(their_labels.max(initial=0)))
        return (
            labels + step * _numbered(at, asked, alone=1),
            their_labels + step * _numbered(their_at, their_asked, alone=2),
        )


def _numbered(known: Numbers, times: Numbers, alone: int) -> Numbers:
    """For each time the place among known ones, counted from 3; 0 for none (-1)."""
    order = np.argsort(known, kind="stable")
    near = np.minimum(np.searchsorted(known[order], times), max(len(known) - 1, 0))
    number = np.full(len(times), alone, np.int64)
    if len(known):
        number = np.where(known[order][near] == times, 3 + order[near], number)
    return np.where(times < 0, 0, number)
