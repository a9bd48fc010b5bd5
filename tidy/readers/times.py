"""From the file's microseconds to integer nanoseconds.

Kineto has written times in four ways: whole microseconds since 1970 (until 2024-03), the same with
three decimals (2024-03 to 2024-05; 19 digits, more than a binary float holds), microseconds with
three decimals after `baseTimeNanoseconds` (since; they fit), and for two weeks of March 2024
decimals without leading zeros, where `.5` meant 5 ns (kineto PR #896).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .schema import NO_NUMBER, AnyEvent, ExactFileEvent, FileEvent

Nanoseconds: TypeAlias = NDArray[np.int64]

FLOAT_EXACT_US = 2.0**43  # neighbours among binary floats are less than 1 ns apart
# Base, start and duration together stay below 2**62 ns.
LARGEST_US = 2.5e15  # the year 2049
LATEST_BASE_NS = 2 * 10**18  # the year 2033
LONGEST_US = 1e12  # eleven days
EPOCH_US = 1e9  # later than any time that counts from the start of a run
# What is left of .250, .500 and .750 when another program wrote the file again, with all digits or
# with as few as a binary float needs.
_ROUND_FRACTIONS = frozenset({0, 2, 5, 8, 25, 50, 75})


def needs_decimals(events: Sequence[FileEvent]) -> bool:
    """Tell whether the times have more digits than a binary float: large, and not whole."""
    sample = events if len(events) < 200 else [*events[:100], *events[-100:]]
    return any(abs(e.ts) > FLOAT_EXACT_US and e.ts % 1 for e in sample)


def base_time(value: Any, warnings: list[str]) -> int:
    """`baseTimeNanoseconds` as a number, 0 where it is missing.

    Where it is not a usable time a sentence is added to `warnings`.
    """
    if isinstance(value, str) and len(value) < 20 and value.isdecimal():
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is None:
        return 0
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= LATEST_BASE_NS:
        warnings.append("baseTimeNanoseconds is no time; times count from 0")
        return 0
    return int(value)


class Clock:
    """Reads the times of events; `lost` counts the events whose times cannot be read.

    Attributes:
        latest_us: the latest time that was looked at.
        unpadded: whether `.5` means 5 ns; None until a piece with exact times was looked at.
    """

    def __init__(self, lost: Counter[str]) -> None:
        self._lost = lost
        self.latest_us = 0.0
        self.unpadded: bool | None = None

    def look_at(self, events: Sequence[AnyEvent]) -> None:
        """Learn from one piece of the file how its times are written."""
        sample = _floats([e.ts for e in events[:: 1 + len(events) // 512]])
        known = sample[sample < LARGEST_US]
        self.latest_us = max(self.latest_us, float(known.max(initial=0.0)))
        if self.unpadded is None and events and isinstance(events[0], ExactFileEvent):
            exact = [e for e in events if isinstance(e, ExactFileEvent)]
            self.unpadded = _has_unpadded_decimals(t for e in exact for t in (e.ts, e.dur))

    def read(self, events: list[Any]) -> tuple[list[Any], Nanoseconds, Nanoseconds]:
        """Return the events whose time is known, their starts and their durations."""
        starts, durations = _floats([e.ts for e in events]), _floats([e.dur for e in events])
        good = np.abs(starts) < LARGEST_US
        # Some broken device events carry 0 while all others have an epoch (kineto issue #109).
        good &= ~((starts <= 0) & (self.latest_us > EPOCH_US))
        if not good.all():
            self._lost["events without a usable time"] += int(np.count_nonzero(~good))
            events = [event for event, keep in zip(events, good, strict=True) if keep]
            starts, durations = starts[good], durations[good]
        odd = ~((durations >= 0) & (durations < LONGEST_US))
        if odd.any():
            self._lost["durations that are negative or endless (taken as 0)"] += int(odd.sum())
            durations = np.where(odd, 0.0, durations)
        if not events or isinstance(events[0], FileEvent):
            return events, _nanoseconds(starts), _nanoseconds(durations)
        spans = [Decimal(0) if skip else e.dur for e, skip in zip(events, odd, strict=True)]
        return events, self._exact(e.ts for e in events), self._exact(spans)

    def _exact(self, times_us: Iterable[Decimal]) -> Nanoseconds:
        if self.unpadded:
            return np.fromiter(map(_unpadded_nanoseconds, times_us), np.int64)
        return np.fromiter((round(time * 1000) for time in times_us), np.int64)


def _floats(times_us: list[Any]) -> NDArray[np.float64]:
    if times_us and isinstance(times_us[0], Decimal):
        times_us = list(map(to_float, times_us))
    return np.array(times_us, np.float64)


def to_float(time_us: float | Decimal) -> float:
    """Return the nearest binary float; NaN for a signalling NaN, which `float` refuses."""
    is_signal = isinstance(time_us, Decimal) and time_us.is_snan()
    return NO_NUMBER if is_signal else float(time_us)


def _nanoseconds(times_us: NDArray[np.float64]) -> Nanoseconds:
    """The nearest nanosecond of each time.

    Whole and fractional parts are multiplied apart, since a binary float cannot hold the product.
    """
    whole = np.floor(times_us)
    return whole.astype(np.int64) * 1000 + np.rint((times_us - whole) * 1000).astype(np.int64)


def _unpadded_nanoseconds(time_us: Decimal) -> int:
    decimals = _decimals(time_us)
    if not 1 <= decimals <= 3:
        return round(time_us * 1000)
    whole = int(time_us)
    return whole * 1000 + int((time_us - whole).scaleb(decimals))


def _has_unpadded_decimals(times_us: Iterable[Decimal]) -> bool:
    """Whether `.5` means 5 ns.

    Then some times have fewer than three decimals, and others than a program that rewrites the file
    would leave.
    """
    short = (str(time).partition(".")[2] for time in times_us if 1 <= _decimals(time) <= 2)
    return any(int(fraction) not in _ROUND_FRACTIONS for fraction in short)


def _decimals(time_us: Decimal) -> int:
    """How many decimals are written, 0 where the value is not a number."""
    exponent = time_us.as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0
