"""From the file's microseconds to integer nanoseconds.

Kineto has written times in four ways: whole microseconds since 1970 (until 2024-03), the same with
three decimals (2024-03 to 2024-05; 19 digits, more than a binary float holds), microseconds with
three decimals after `baseTimeNanoseconds` (since; they fit), and for two weeks of March 2024 decimals
without leading zeros, where `.5` meant 5 ns (kineto PR #896).
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .schema import FileEvent

FLOAT_EXACT_US = 2**53 / 1000
LARGEST_US = 4e15  # the year 2096; int64 nanoseconds reach 2262
LONGEST_US = 1e12  # eleven days
# What is left of .5, .25 and .75 when another program wrote the file again: no unpadded decimals.
_ROUND_FRACTIONS = frozenset({"", "0", "5", "25", "75"})


def needs_decimals(events: Sequence[FileEvent]) -> bool:
    """Whether the times have more digits than a binary float: large, and not whole."""
    sample = [*events[:100], *events[-100:]]
    return any(abs(e.ts) > FLOAT_EXACT_US and e.ts % 1 for e in sample)


def has_unpadded_decimals(times_us: Sequence[Decimal]) -> bool:
    """Whether `.5` means 5 ns: some decimals are short, and not as rewriting leaves them."""
    fractions = {str(time).partition(".")[2] for time in times_us[:5000]}
    return any(len(f) in (1, 2) and f not in _ROUND_FRACTIONS for f in fractions)


def nanoseconds(times_us: NDArray[np.float64]) -> NDArray[np.int64]:
    """Nearest nanosecond; whole and fractional part apart, since the product would not fit."""
    whole = np.floor(times_us)
    return whole.astype(np.int64) * 1000 + np.rint((times_us - whole) * 1000).astype(np.int64)


def exact_nanoseconds(times_us: Sequence[Any], unpadded: bool) -> NDArray[np.int64]:
    """The same from decimals."""
    if not unpadded:
        return np.array([int(round(time * 1000)) for time in times_us], np.int64)
    parts = (str(time).partition(".") for time in times_us)
    return np.array([int(whole) * 1000 + int(part or 0) for whole, _, part in parts], np.int64)
