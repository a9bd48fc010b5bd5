"""The job run again across its ranks, to see what a late rank costs all of them.

Each rank comes to a collective some time after the one before, see chain.py; a collective begins
when its last member is there, and lasts as long as its transfer did. Unchanged, that gives the
recorded times back. How soon a rank could have come whose collective is queued behind another one
is not recorded: it comes when that one has ended.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .chain import Chain, excess_of
from .matching import Matched
from .table import Bools, Floats, Ints
from .waits import MemberWaits


@dataclass(frozen=True, slots=True)
class JobReplay:
    """A job that can be run again.

    Attributes:
        matched, chain, waits: what was recorded.
        waves: collectives that can be computed at once, each after those that it follows: their
            numbers, their members, and where among these each one's begin.
        end_ns: when each collective ends unchanged; shape (c,).
        error: by how much the unchanged run is longer than the recorded one, as a share.
        knows_hidden: whether it is known of all collectives how much other work hides. If not, all
            are taken as waited for: what ranks compute beside them makes costs too high.
    """

    matched: Matched
    chain: Chain
    waits: MemberWaits
    waves: tuple[tuple[Ints, Ints, Ints], ...]
    end_ns: Floats
    error: float
    knows_hidden: bool

    def cost_ns(self, places: Bools) -> float:
        """Return by how much the recording would be shorter if some ranks came as others do.

        Args:
            places: of each rank whether its own time is set to the median of the others', where it
                is longer; shape (r,).
        """
        if not len(self.end_ns):
            return 0.0
        excess = excess_of(self.matched, self.chain, self.waits.is_known)
        saved = np.where(places[self.matched.place], np.maximum(excess, 0), 0.0)
        ends = _run(
            self.matched,
            self.chain,
            self.waits,
            self.waves,
            self.chain.gap_ns.astype(float) - saved,
        )
        return float(self.end_ns.max() - ends.max())


def replay_of(matched: Matched, chain: Chain, waits: MemberWaits) -> JobReplay:
    """Prepare a job to be run again, and run it unchanged."""
    waves = _waves(matched, chain)
    ends = _run(matched, chain, waits, waves, chain.gap_ns.astype(float))
    knows = bool((matched.exposed_ns >= 0).all())
    if not len(ends):
        return JobReplay(matched, chain, waits, waves, ends, 0.0, knows)
    first = matched.first[:-1]
    recorded = waits.arrival_ns + (matched.end_ns - matched.start_ns)
    recorded = np.maximum.reduceat(recorded, first)
    start = int(waits.arrival_ns.min())
    length = max(int(recorded.max()) - start, 1)
    error = (float(ends.max()) - (int(recorded.max()) - start)) / length
    return JobReplay(matched, chain, waits, waves, ends, error, knows)


def _waves(matched: Matched, chain: Chain) -> tuple[tuple[Ints, Ints, Ints], ...]:
    """Sort collectives into waves, each after what its members follow."""
    collective, first, count = matched.collective, matched.first, matched.count
    followed = np.flatnonzero(chain.before >= 0)
    source, target = collective[chain.before[followed]], collective[followed]
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


def _run(
    matched: Matched,
    chain: Chain,
    waits: MemberWaits,
    waves: tuple[tuple[Ints, Ints, Ints], ...],
    gaps: Floats,
) -> Floats:
    """Return when each collective ends, from the first arrival of all on; shape (c,)."""
    if not len(matched.group):
        return np.zeros(0)
    origin = waits.arrival_ns.min()
    arrivals = (waits.arrival_ns - origin).astype(float)  # stays for the first of each rank
    took = matched.end_ns - matched.start_ns
    ends = np.maximum.reduceat(arrivals + took, matched.first[:-1])
    collective, before = matched.collective, chain.before
    for ready, members, begins in waves:
        follows = before[members]
        base = np.where(chain.after_end[members], ends[collective[follows]], arrivals[follows])
        arrives = np.where(follows >= 0, base + gaps[members], arrivals[members])
        arrivals[members] = arrives
        ends[ready] = np.maximum.reduceat(arrives, begins) + waits.transfer_ns[ready]
    return ends
