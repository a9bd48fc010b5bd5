"""In which order the collectives of a job can be computed, many at once."""

from __future__ import annotations

import numpy as np

from .chain import Chain
from .matching import Matched
from .table import Ints

Waves = tuple[tuple[Ints, Ints, Ints], ...]


def waves_of(matched: Matched, chain: Chain) -> Waves:
    """Sort collectives into waves, each after those that its members waited for before.

    Returns:
        Of each wave the numbers of its collectives, their members, and where among these each
        one's begin.
    """
    collective, first, count = matched.collective, matched.first, matched.count
    edges = []
    for before in (chain.before, chain.needed_before, chain.behind):
        followed = np.flatnonzero(before >= 0)
        edges.append((collective[before[followed]], collective[followed]))
    source, target = (np.concatenate(each) for each in zip(*edges, strict=True))
    other = source != target
    source, target = source[other], target[other]
    waiting = np.bincount(target, minlength=len(count))
    order = np.argsort(source, kind="stable")
    bounds = np.append(0, np.cumsum(np.bincount(source, minlength=len(count))))
    target = target[order]
    is_left = np.ones(len(count), bool)
    by_start = np.argsort(matched.start_ns[first[:-1]], kind="stable")
    ready, at = np.flatnonzero(waiting == 0), 0
    waves: list[tuple[Ints, Ints, Ints]] = []
    while True:
        if not len(ready):
            # What follows in a circle, as ranks launch in another order: one goes as recorded.
            while at < len(by_start) and not is_left[by_start[at]]:
                at += 1
            if at == len(by_start):
                return tuple(waves)
            ready = by_start[at : at + 1]
        is_left[ready] = False
        begins = np.append(0, np.cumsum(count[ready]))[:-1]
        waves.append((ready, _stretches(first[ready], count[ready]), begins))
        released = target[_stretches(bounds[ready], bounds[ready + 1] - bounds[ready])]
        released, times = np.unique(released, return_counts=True)
        waiting[released] -= times
        ready = released[(waiting[released] == 0) & is_left[released]]


def _stretches(first: Ints, count: Ints) -> Ints:
    """Return first[i], first[i] + 1, ... of each stretch, one after the other."""
    offset = np.repeat(first - np.append(0, np.cumsum(count))[:-1], count)
    return offset + np.arange(len(offset))
