"""The parts of a step, from one fetch or optimizer to the next, lightly recorded and unrecorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .light import FEWEST_STEPS, BareStep, LightSteps, usual
from .moments import Numbers
from .stopped_clock import Floats, laid_out

Middle = Callable[[NDArray[Any]], Any]
# Light recording makes no part of a step so much longer (the logarithm of a ratio).
_FAR_APART = float(np.log(1.2))


@dataclass(frozen=True)
class Parts:
    """The parts between ranges of steps that have the same ranges.

    Attributes:
        bounds_ns: of light steps, shape (steps, parts + 1).
        length_ns: of each part in steps with nothing recorded.
        middle: for each part what its length is over many steps: the mean, as a fetch that is slow
            now and then counts, or the median where single steps would decide.
        usual: which of the light steps are about as long as most.
    """

    bounds_ns: Numbers
    length_ns: Floats
    middle: list[Middle]
    usual: NDArray[np.bool_]

    def evened_out(self, bounds_ns: Numbers) -> tuple[Numbers, Numbers]:
        """Bounds as a clock shows them, and what they become when parts are as long as wanted."""
        lengths = np.diff(bounds_ns)
        like_most = lengths[self.usual].T
        now = [middle(each) for middle, each in zip(self.middle, like_most, strict=True)]
        scale = self.length_ns / np.maximum(now, 1.0)
        given = laid_out(bounds_ns, (lengths * scale).astype(np.int64))
        return bounds_ns.ravel(), np.concatenate(given)


def common_parts(
    light: LightSteps, bare: list[BareStep], *, is_disturbed: bool = False
) -> Parts | None:
    """Return the parts that steps with nothing recorded and lightly recorded ones have in common.

    Args:
        is_disturbed: whether neither kind of steps says how often something takes longer.
    """
    main, names = light.moments[light.main], list(light.names)
    # Some ranges are there only while something is recorded.
    known = {name for step in bare for _, name, _ in step.marks}
    kept = np.array([name in known for name in names], bool)
    found: dict[tuple[tuple[str, int], ...], list[list[int]]] = {}
    for index, (start, end) in enumerate(light.recorded):
        mine = main.within(index)
        some = kept[mine.labels // 2]
        shape = tuple((names[label // 2], label % 2) for label in mine.labels[some].tolist())
        times = [start, *mine.times_ns[some].tolist(), end]
        found.setdefault(shape, []).append(times)
    shape, bounds = max(found.items(), key=lambda each: len(each[1]))
    alike = [step for step in bare if tuple((n, e) for _, n, e in step.marks) == shape]
    if not shape or len(alike) < FEWEST_STEPS or len(bounds) < FEWEST_STEPS:
        return None
    turns = [[step.start_ns, *(t for t, _, _ in step.marks), step.end_ns] for step in alike]
    lengths, there = (np.diff(np.array(each, np.int64)) for each in (turns, bounds))
    like_most = usual(there.sum(axis=1))
    those, these = lengths[usual(lengths.sum(axis=1))].T, there[like_most].T
    middle = [
        np.median if is_disturbed else _middle(one, other)
        for one, other in zip(those, these, strict=True)
    ]
    wanted = np.array([of(each) for of, each in zip(middle, those, strict=True)], np.float64)
    now = np.array([of(each) for of, each in zip(middle, these, strict=True)], np.float64)
    if is_disturbed:
        wanted = np.minimum(wanted, now)
    # Where the steps that were recorded lightly happen to be the shorter ones, they stay so.
    wanted *= min(1.0, now.sum() / wanted.sum())
    return Parts(np.array(bounds, np.int64), wanted, middle, like_most)


def _middle(those: Numbers, these: Numbers) -> Middle:
    """By what one part of two kinds of steps is compared.

    The mean, which a single long one of few steps may decide: then their means are far apart, and
    the medians are less so.
    """
    by_mean, by_median = (
        abs(np.log(max(of(those), 1.0) / max(of(these), 1.0))) for of in (np.mean, np.median)
    )
    return np.mean if by_mean <= max(by_median, _FAR_APART) else np.median
