"""How much of a difference the machine alone explains, seen from ops that nobody changed.

A run on a busier machine, or on a slower one, is longer in all it does. A change of the script
makes some ops longer and leaves the others. So what all ops have in common is the machine's: the
median of how much each grew. How far ops are apart from it tells how much one may grow by chance.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log1p, pi, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

_FEWEST = 5  # ops, of which most are taken to be unchanged
_EFFICIENCY = 0.37
_NORMAL = 1.4826  # times the median deviation is the standard deviation of normal values


class Machine(NamedTuple):
    """What two runs differ by as a whole.

    Attributes:
        growth: by what part ops became longer, -0.1 for shorter; 0 where it is not known.
        spread: the standard deviation of one op around that, on a logarithmic scale.
        op_count: of how many ops this is known; 0 where there were too few.
    """

    growth: float = 0.0
    spread: float = 0.0
    op_count: int = 0

    def width(self, risk: float) -> float:
        """Return how many deviations an interval reaches to either side.

        That of Student's distribution, as the spread is known from few ops: the median deviation of
        some values tells as much of their spread as the standard deviation of 37 % of them.

        Args:
            risk: how often it may be wrong.
        """
        z, known = NormalDist().inv_cdf(1 - risk / 2), max(_EFFICIENCY * (self.op_count - 1), 1.0)
        # Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5.
        first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
        return z + first / known + second / known**2

    def uncertainty(self, *shares: float) -> float:
        """Return the standard deviation of the sum of some ops beside the machine, as logarithm.

        Args:
            shares: of the sum, that each op has; they add up to 1.
        """
        if not self.op_count:
            return 0.0
        own = sum(share**2 for share in shares)
        return self.spread * sqrt(own + pi / 2 / self.op_count)


def machine_of(growths: Iterable[float]) -> Machine:
    """Return what the ops of two runs have in common, given how much each grew."""
    logs = np.array([log1p(max(each, -0.999)) for each in growths])
    if len(logs) < _FEWEST:
        return Machine()
    middle = float(np.median(logs))
    spread = _NORMAL * float(np.median(np.abs(logs - middle)))
    return Machine(float(np.expm1(middle)), spread, len(logs))
