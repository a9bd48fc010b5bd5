"""Timing in turn: each contender for a few milliseconds, round after round, and ratios by round.

A machine whose speed drifts is then the same to all, and the median of a ratio does not care for
the rounds in which somebody else had the processor.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from itertools import repeat
from typing import Any, NamedTuple

Step = Callable[[], Any]


class Ratio(NamedTuple):
    """The median of a ratio over the rounds, and between what lie nine tenths of them."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


class Timings(dict[str, list[float]]):
    """Seconds per call of each contender, one for each round."""

    def microseconds(self, name: str) -> float:
        """The median."""
        return statistics.median(self[name]) * 1e6

    def ratio(self, name: str, base: str) -> Ratio:
        """How long `name` takes, as a multiple of `base`."""
        return spread([a / b for a, b in zip(self[name], self[base], strict=True)])


def spread(ratios: list[float]) -> Ratio:
    """The median with the 5th and 95th percentile."""
    ordered = sorted(ratios)
    last = len(ordered) - 1
    return Ratio(
        statistics.median(ordered), ordered[round(0.05 * last)], ordered[round(0.95 * last)]
    )


def run(step: Step, number: int) -> float:
    """Seconds per call."""
    started = time.perf_counter()
    for _ in repeat(None, number):
        step()
    return (time.perf_counter() - started) / number


def in_turn(contenders: dict[str, Step], rounds: int = 41, slot: float = 0.02) -> Timings:
    """Run all contenders in each round, the order turning by one.

    Args:
        slot: seconds for each contender in each round.
    """
    numbers = {}
    for name, step in contenders.items():
        step()  # compiles, allocates
        once = min(run(step, 1) for _ in range(3))
        numbers[name] = max(1, round(slot / once))
    found = Timings({name: [] for name in contenders})
    names = list(contenders)
    for number in range(rounds + 1):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            seconds = run(contenders[name], numbers[name])
            if number:  # the first warms up
                found[name].append(seconds)
    return found
