"""Steps that were recorded lightly, and those with nothing recorded: what the script's cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..trace import Trace, TraceInfo, build_trace
from ..trace.kinds import COLLECTIVES_ON_HOST, DEVICE_WORK
from ..trace.raw_columns import Column, Interner, RawColumns, Strings, Track
from .moments import Moments, Numbers, moments_of

Bounds = list[tuple[int, int]]
FEWEST_STEPS = 3
_FEWEST_LATER = 5  # full steps that tell what those before them were not
_MOST_AT_FIRST = 10  # more are no beginning
# A step that is so much longer than others had something else to do, such as compiling.
UNLIKE = 3.0
_UNUSUAL = 2.0
_NEARLY_ALL, _MANY = 0.9, 0.75


class BareStep(NamedTuple):
    """A step with nothing recorded: when ranges in it began (0) and ended (1)."""

    start_ns: int
    end_ns: int
    marks: tuple[tuple[int, str, int], ...]


@dataclass(frozen=True)
class LightSteps:
    """Steps that were recorded lightly, among other things.

    Attributes:
        table, strings: the rows.
        recorded: the steps as times of the host, [start, end) each.
        main: the track that they are on.
        steps: the same without what was taken off.
        given: starts and ends of rows without what was taken off; None for those recorded.
        taken_off_ns: what was taken off each host event for being recorded; None where nothing
            told how much that is.
        are_quickest: whether each of their parts is as long as in the quickest steps.
        names: the numbers in the labels of moments.
    """

    table: dict[str, Column]
    strings: Strings
    recorded: Bounds
    main: Track
    steps: Bounds
    given: tuple[Numbers, Numbers] | None = None
    taken_off_ns: int | None = None
    are_quickest: bool = False
    names: Interner = field(default_factory=Interner)

    @cached_property
    def moments(self) -> dict[Track, Moments]:
        return moments_of(self.table, self.strings, self.recorded, self.names, self.given)

    @cached_property
    def lengths_ns(self) -> Numbers:
        return np.array([end - start for start, end in self.steps], np.int64)

    @property
    def communicates(self) -> bool:
        """Tell whether collectives ran on the host, which may wait for other ranks."""
        return any(name.startswith(COLLECTIVES_ON_HOST) for name in self.strings.names)

    @property
    def has_device(self) -> bool:
        """Tell whether a device worked."""
        return bool(np.isin(self.table["kind"], DEVICE_WORK).any())

    @cached_property
    def trace(self) -> Trace:
        """The rows as a trace, with their recorded times."""
        raw = RawColumns(self.strings)
        raw.append(len(self.table["kind"]), **self.table)
        return build_trace(raw, TraceInfo())


def usual(lengths_ns: ArrayLike) -> NDArray[np.bool_]:
    """Tell which steps are usual: no rare ones that are twice as long as nearly all others."""
    lengths = np.asarray(lengths_ns)
    most = np.quantile(lengths, _NEARLY_ALL, method="lower") if len(lengths) else 0
    return np.asarray(lengths <= _UNUSUAL * most)


def typical_ns(lengths_ns: ArrayLike) -> float:
    """Return how long a step takes: the median, or the mean of usual ones that are of two kinds.

    Two workers that are too slow give two batches at a time: every second step waits.
    """
    lengths = np.asarray(lengths_ns, np.float64)
    low, median, high = np.quantile(lengths, (1 - _MANY, 0.5, _MANY)).tolist()
    if low >= median / _UNUSUAL and high <= median * _UNUSUAL:
        return float(median)
    return float(lengths[usual(lengths)].mean())


def slow_at_first(lengths_ns: ArrayLike, waited_ns: ArrayLike, later_ns: ArrayLike) -> int:
    """Count the steps, two or more, that a script is slow in at first, and never again.

    Args:
        lengths_ns: of steps recorded in full, shape (n,).
        waited_ns: for how long they may have waited for a processor, of the same shape.
        later_ns: of the steps after them.
    """
    lengths, later = np.asarray(lengths_ns), np.asarray(later_ns)
    for count in range(min(len(lengths) - _FEWEST_LATER, _MOST_AT_FIRST), 1, -1):
        rest = lengths[count:]
        longest = np.quantile(np.concatenate([rest, later]), _NEARLY_ALL, method="lower")
        if (lengths - waited_ns)[:count].min() > max(UNLIKE * np.median(rest), longest):
            return count
    return 0


def light_steps(raw: RawColumns, ends_ns: list[list[int]], main: Track) -> LightSteps | None:
    """Return the lightly recorded steps; None if they are too few.

    Args:
        ends_ns: the ends of steps, a list for each piece. What came before the first of them only
            warmed up.
    """
    steps = [pair for ends in ends_ns for pair in pairwise(ends)]
    if len(steps) < FEWEST_STEPS:
        return None
    return LightSteps(raw.join()[0], raw.strings, steps, main, steps)
