"""Timing in turn: each contender for a few milliseconds, round after round, and ratios by round.

A machine whose speed drifts is then the same to all, and the median of a ratio does not care for
the rounds in which somebody else had the processor.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
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


class Timings(dict[str, Any]):
    """What was measured of each contender, once in each round: seconds per call."""

    def microseconds(self, name: str) -> float:
        """The median."""
        return statistics.median(self[name]) * 1e6

    def ratio(self, name: str, base: str) -> Ratio:
        """How long `name` takes, as a multiple of `base`."""
        ordered = sorted(a / b for a, b in zip(self[name], self[base], strict=True))
        last = len(ordered) - 1
        ends = ordered[round(0.05 * last)], ordered[round(0.95 * last)]
        return Ratio(statistics.median(ordered), *ends)


def run(step: Step, number: int) -> float:
    """Seconds per call."""
    started = time.perf_counter()
    for _ in repeat(None, number):
        step()
    return (time.perf_counter() - started) / number


def how_often(step: Step, slot: float) -> int:
    """How many calls fill `slot` seconds; a first one compiles and allocates."""
    step()
    return max(1, round(slot / min(run(step, 1) for _ in range(3))))


def in_rounds(measures: Mapping[str, Callable[[], Any]], rounds: int) -> Timings:
    """Take each measure once in each round, the order turning by one; a first round warms up."""
    names, taken = list(measures), Timings({name: [] for name in measures})
    for number in range(rounds + 1):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            measured = measures[name]()
            if number:
                taken[name].append(measured)
    return taken


def in_turn(contenders: dict[str, Step], rounds: int = 41, slot: float = 0.02) -> Timings:
    """Run all contenders in each round, each for `slot` seconds."""
    return in_rounds(
        {name: partial(run, step, how_often(step, slot)) for name, step in contenders.items()},
        rounds,
    )
