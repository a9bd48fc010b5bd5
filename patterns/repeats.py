"""Finding stretches of a sequence that repeat."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike


def repeated_runs(
    sequence: ArrayLike, longest_period: int, fewest_rounds: int
) -> Iterator[tuple[int, int, int]]:
    """Maximal runs [first, last) in which an element equals the one `period` before it.

    A run is as long as `fewest_rounds` rounds, but for an incomplete one at its end. Each element
    belongs to one run at most, that of the shortest period. Takes time linear in
    `len(sequence) * longest_period`.

    Yields:
        (first, last, period), shorter periods first.
    """
    values = np.asarray(sequence)
    taken = np.zeros(len(values) + 1, bool)
    for period in range(1, longest_period + 1):
        if len(values) <= period * (fewest_rounds - 1):
            return
        same = np.zeros(len(values) - period + 2, bool)
        same[1:-1] = values[period:] == values[:-period]
        edges = np.flatnonzero(same[1:] != same[:-1])
        firsts, lasts = edges[::2], edges[1::2] + period
        long_enough = lasts - firsts > period * (fewest_rounds - 1)
        for first, last in zip(
            firsts[long_enough].tolist(), lasts[long_enough].tolist(), strict=True
        ):
            if not taken[first:last].any():
                taken[first:last] = True
                yield first, last, period
