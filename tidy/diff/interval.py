"""The difference of two series of steps: an estimate, and an interval around it.

The estimate is that of Hodges and Lehmann: the median of all ratios of a step of the one to a step
of the other. A few steps that another program made long do not move it, and no shape of the
distribution is assumed. The interval is that of the Mann-Whitney test, between two quantiles of the
same ratios (Hollander, Wolfe, Chicken: Nonparametric Statistical Methods, section 4.3).

That test takes steps as independent, and steps are not: a busy minute makes many of them long. So
each series counts as so many steps as independent ones would tell as much: its length divided by
the autocorrelation time of its ranks, which is summed as long as pairs of neighbouring terms stay
positive (Geyer, Practical Markov Chain Monte Carlo, Statistical Science 7, 1992).
"""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Series = NDArray[np.float64]
CONFIDENCE = 0.99
# Of more steps so many are taken, evenly: all pairs of them are looked at.
MOST_STEPS = 300
_LEAST = 1e-9  # stands for no time at all, of which there is no ratio


class Interval(NamedTuple):
    """By what part of its length something grew; `low` and `high` are None where none is known."""

    estimate: float
    low: float | None
    high: float | None

    def widened(self, by: float, spread: float) -> Interval:
        """Return the interval that holds this one, and the same seen from a machine `by` slower.

        Args:
            by: by what part everything became longer, for whatever reason; -0.1 for shorter.
            spread: how well that is known, on a logarithmic scale, to either side.
        """
        if self.low is None or self.high is None:
            return self
        lows = self.low, (1 + self.low) / (1 + by) * float(np.exp(-spread)) - 1
        highs = self.high, (1 + self.high) / (1 + by) * float(np.exp(spread)) - 1
        return Interval(self.estimate, min(lows), max(highs))


def thinned(series: Series, most: int = MOST_STEPS) -> Series:
    """At most so many of the values, taken evenly."""
    if len(series) <= most:
        return series
    return series[np.linspace(0, len(series) - 1, most).round().astype(np.int64)]


def independent_count(series: Series, timed: int | None = None) -> float:
    """Return as how many independent values a series counts.

    Args:
        timed: how many of them were measured, where others repeat them; None for all.
    """
    count = len(series)
    known = float(count if timed is None else min(timed, count))
    ranks = np.argsort(np.argsort(series, kind="stable"), kind="stable") - (count - 1) / 2
    variance = float(ranks @ ranks)
    if count < 4 or not variance or np.ptp(series) == 0:
        return known
    terms = np.correlate(ranks, ranks, "full")[count - 1 :] / variance
    pairs = terms[1 : 2 * ((count - 1) // 2) + 1].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0)
    time = 1 + 2 * float(pairs[: ends[0] if len(ends) else len(pairs)].sum())
    return known / max(time, 1.0)


def growth(
    base: Series, new: Series, counts: tuple[float, float], confidence: float = CONFIDENCE
) -> Interval:
    """By what part the values of `new` are longer than those of `base`, with its interval.

    Args:
        base, new: lengths, none of the two empty.
        counts: as how many independent values each counts.
    """
    logs = [np.log(np.maximum(thinned(each), _LEAST)) for each in (base, new)]
    ratios = np.sort(np.subtract.outer(logs[1], logs[0]).ravel())
    estimate = float(np.expm1(np.median(ratios)))
    first, second = counts
    width = NormalDist().inv_cdf(0.5 + confidence / 2)
    deviation = ((first + second + 1) / (12 * first * second)) ** 0.5
    low = 0.5 - width * deviation
    if low <= 0:
        return Interval(estimate, None, None)
    at = int(low * len(ratios))
    return Interval(
        estimate, float(np.expm1(ratios[at])), float(np.expm1(ratios[len(ratios) - 1 - at]))
    )
