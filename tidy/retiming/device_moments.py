"""Which device work of two steps is the same, and when work ran that no step launched.

Many kernels have one name. Where two steps have different numbers of them (a loop over a sequence),
their order alone would pair a kernel with one that another call launched, and it could begin before
its own call did. So work of two steps is the same where the calls that launched it are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..profiler.timeline import interpolated
from .alignment import align
from .light import LightSteps
from .moments import Moments, Numbers


def launched_alike(
    calls: Sequence[tuple[Numbers, Numbers]], mine: Moments, theirs: Moments
) -> tuple[Numbers, Numbers]:
    """Labels of device work of two steps, others where the calls that launched it are not paired.

    Args:
        calls: moments of the host that are paired, when they are in both steps.
    """
    if not calls:
        return mine.labels, theirs.labels
    times, there = (np.concatenate(each) for each in zip(*calls, strict=True))
    some = np.flatnonzero(np.isin(times, mine.asked_ns) & np.isin(there, theirs.asked_ns))
    step = 1 + max(int(each.labels.max(initial=0)) for each in (mine, theirs))
    return (
        mine.labels + step * _numbered(times[some], mine.asked_ns, alone=1),
        theirs.labels + step * _numbered(there[some], theirs.asked_ns, alone=2),
    )


def _numbered(known: Numbers, times: Numbers, alone: int) -> Numbers:
    """For each time the place among known ones, counted from 3; 0 for none (-1)."""
    known = np.append(known, np.iinfo(np.int64).max)
    order = np.argsort(known, kind="stable")
    near = np.searchsorted(known[order], times)
    number = np.where(known[order][near] == times, 3 + order[near], alone)
    return np.where(times < 0, 0, number)


def with_their_calls(
    work: Moments, counterparts: Sequence[int], bounds: tuple[Numbers, Numbers], queued: Numbers
) -> tuple[Numbers, Numbers]:
    """Device work after the queued without a counterpart; its times move as far as its calls do."""
    alone = np.append(np.array(counterparts, np.int64) < 0, True)[work.step]  # -1: of no step
    alone &= work.times_ns > queued.max(initial=-1)
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
    begins is what the step before has launched. All that was done before then stays where it is.
    """
    nothing = np.empty(0, np.int64), np.empty(0, np.int64)
    follows = [start == end for (_, end), (start, _) in pairwise(light.steps)]
    if not counterparts or counterparts[0] < 0 or not any(follows):
        return nothing
    first = counterparts[0]
    before = first - 1 if first and follows[first - 1] else follows.index(True)
    recorded_ns, given_ns = int(bounds[0][0]), int(bounds[1][0])
    asked = np.where(work.asked_ns < 0, work.times_ns, work.asked_ns)
    there = theirs.within(before)
    # As much as a step launches: what was done long before, such as moving the model, stays there.
    left = np.flatnonzero((work.step < 0) & (asked < recorded_ns))
    left = left[max(len(left) - len(there.times_ns), 0) :]
    pairs, their_pairs = align(work.labels[left], there.labels)
    times = work.times_ns[left][pairs]
    given = there.times_ns[their_pairs] + given_ns - light.steps[before][1]
    # A device that is behind by less as that light step begins is done with all this by then.
    for begun in theirs.within(first).times_ns[:1] + given_ns - light.steps[first][0]:
        given -= max(int(given.max(initial=given_ns)) - int(begun), 0)
    still = np.flatnonzero((times >= recorded_ns) | (given >= given_ns))
    begin = max(int(still[0]) - 1, 0) if len(still) else len(times)
    times, given = times[begin:], given[begin:]
    done = work.times_ns[(work.step < 0) & (asked < recorded_ns)]
    done = done[done < times.min(initial=recorded_ns)]
    return np.append(done, times), np.append(done + given_ns - recorded_ns, given)
