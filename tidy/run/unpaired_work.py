"""When device work ran that no step launched, once steps have other times than recorded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .alignment import align
from .light import LightSteps
from .moments import Moments
from .stopped_clock import interpolated

Numbers = NDArray[np.int64]


def with_their_calls(
    work: Moments, counterparts: Sequence[int], bounds: tuple[Numbers, Numbers]
) -> tuple[Numbers, Numbers]:
    """Device work without a counterpart, and its times when it moves as far as its calls do."""
    alone = np.append(np.array(counterparts, np.int64) < 0, True)[work.step]  # -1: of no step
    times, asked = work.times_ns[alone], work.asked_ns[alone]
    asked = np.where(asked < 0, times, asked)
    return times, times + interpolated(*bounds, asked) - asked


def queued_before(
    work: Moments,
    theirs: Moments,
    counterparts: Sequence[int],
    bounds: tuple[Numbers, Numbers],
    light: LightSteps,
) -> tuple[Numbers, Numbers]:
    """Work that was launched before the first step, with the times that it has before light ones.

    How far a device is behind its host is another in light steps. What it still has to do as a step
    begins is what the step before has launched.
    """
    nothing = np.empty(0, np.int64), np.empty(0, np.int64)
    follows = [
        start == end for (start, _), (_, end) in zip(light.steps[1:], light.steps, strict=False)
    ]
    if not counterparts or counterparts[0] < 0 or not any(follows):
        return nothing
    first = counterparts[0]
    before = first - 1 if first and follows[first - 1] else follows.index(True)
    recorded_ns, given_ns = int(bounds[0][0]), int(bounds[1][0])
    asked = np.where(work.asked_ns < 0, work.times_ns, work.asked_ns)
    left = (work.step < 0) & (asked < recorded_ns)
    there, their_labels = theirs.within(before)
    pairs, their_pairs = align(work.labels[left], their_labels)
    later = given_ns - light.steps[before][1]
    return work.times_ns[left][pairs], there[their_pairs] + later
