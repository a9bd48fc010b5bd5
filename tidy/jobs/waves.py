"""In which order the collectives of a job can be computed, many at once."""

from __future__ import annotations

import numpy as np

from .chain import Chain
from .matching import Matched
from .table import Ints

_NEAR = 64  # of the collectives that start next, one goes first

Waves = tuple[tuple[Ints, Ints, Ints], ...]


def waves_of(matched: Matched, chain: Chain) -> Waves:
    """Sort collectives into waves, each after those that its members waited for before.

    Returns:
        Of each wave the numbers of its collectives, their members, and where among these each
        one's begin.
    """
    collective, first, count = matched.collective, matched.first, matched.count
    edges = []
    for before in (chain.before, chain.behind, chain.needed_before):
        followed = np.flatnonzero(before >= 0)
        source, target = collective[before[followed]], collective[followed]
        other = source != target
        edges.append((source[other], target[other]))
    source, target = (np.concatenate(each) for each in zip(*edges, strict=True))
    is_firm = np.arange(len(source)) < len(edges[0][0]) + len(edges[1][0])
    waiting, firmly = (
        np.bincount(target[some], minlength=len(count)) for some in (slice(None), is_firm)
    )
    order = np.argsort(source, kind="stable")
    bounds = np.append(0, np.cumsum(np.bincount(source, minlength=len(count))))
    target, is_firm = target[order], is_firm[order]
    is_left = np.ones(len(count), bool)
    by_start = np.argsort(matched.start_ns[first[:-1]], kind="stable")
    ready, at = np.flatnonzero(waiting == 0), 0
    waves: list[tuple[Ints, Ints, Ints]] = []
    while True:
        if not len(ready):
            # Those left wait for each other in a circle, as ranks launch them, or see their ends,
            # in different orders. One goes first: best one that its ranks have all come to, and of
            # which some only see the end after another's.
            while at < len(by_start) and not is_left[by_start[at]]:
                at += 1
            if at == len(by_start):
                return tuple(waves)
            near = by_start[at : at + _NEAR]
            near = near[is_left[near]]
            ready = near[np.argmax(firmly[near] == 0)][None]
        is_left[ready] = False
        begins = np.append(0, np.cumsum(count[ready]))[:-1]
        waves.append((ready, _stretches(first[ready], count[ready]), begins))
        edge = _stretches(bounds[ready], bounds[ready + 1] - bounds[ready])
        np.subtract.at(firmly, target[edge[is_firm[edge]]], 1)
        released = target[edge]
        released, times = np.unique(released, return_counts=True)
        waiting[released] -= times
        ready = released[(waiting[released] == 0) & is_left[released]]


def _stretches(first: Ints, count: Ints) -> Ints:
    """Return first[i], first[i] + 1, ... of each stretch, one after the other."""
    offset = np.repeat(first - np.append(0, np.cumsum(count))[:-1], count)
    return offset + np.arange(len(offset))
