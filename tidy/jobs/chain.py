"""What each rank does by itself between its collectives.

A rank's own time goes on except while it waits for a collective. It comes to a collective at some
own time, and from some own time on it needs that one to be over; if it hides the collective behind
other work it never needs it. That a rank comes late because those that it waited for were late is
no part of its own time. It needs no clocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .matching import Matched
from .own_time import OwnTime, above_others_of, own_time_of
from .table import Bools, Floats, Ints

# A kernel that starts so soon after another one may have been queued behind it.
_AT_ONCE_NS = 20_000


@dataclass(frozen=True, slots=True)
class Chain:
    """How members follow one another on their ranks; columns have shape (m,).

    Times since the first start of the rank do not count what it waited for matched collectives;
    own times do not count what it waited for others either.

    Attributes:
        before: the member whose end the rank waited for last before it came to each one; -1 if
            none.
        after_end: whether there is one.
        gap_ns: how long after that end, or after the rank's first start, it arrives.
        arrives_ns: when it arrives, without waits.
        needs_ns: from when on the rank waits for its end, without waits; -1 if it never does.
        needed_before: the member that the rank waited for before this one, -1 if none.
        behind: the member of the same rank that each one was queued behind: it was launched before
            that one ended and starts at once after it; -1 if none.
        own_start_ns, own_end_ns: the rank's own time at its start and at its end.
        first_ns: the first start of each rank, by its clock; shape (r,).
        own: the own time of ranks by steps.
    """

    before: Ints
    after_end: Bools
    gap_ns: Ints
    arrives_ns: Ints
    needs_ns: Ints
    needed_before: Ints
    behind: Ints
    own_start_ns: Ints
    own_end_ns: Ints
    first_ns: Ints
    own: OwnTime


def chain_of(matched: Matched) -> Chain:
    """Find what each member follows on its rank."""
    place, start, end = matched.place, matched.start_ns, matched.end_ns
    first_ns = np.full(len(matched.ranks), np.iinfo(np.int64).max)
    np.minimum.at(first_ns, place, start)
    first_ns[first_ns == np.iinfo(np.int64).max] = 0
    waited = matched.waited_ns
    needs = waited > 0
    since = np.where(needs, end - waited, end)
    other = matched.others
    times = start, end, since, matched.launch_ns, other.end_ns, other.end_ns - other.waited_ns
    order = _Order(np.concatenate(times), len(first_ns))
    waits = _Waits(order, place[needs], since[needs], end[needs])
    all_waits = _Waits(
        order,
        np.append(place[needs], other.place),
        np.append(since[needs], other.end_ns - other.waited_ns),
        np.append(end[needs], other.end_ns),
    )
    elapsed = [each - first_ns[place] for each in (start, since, end)]
    arrives = elapsed[0] - waits.before_ns(place, start)
    needs_ns = np.where(needs, elapsed[1] - waits.before_ns(place, since), -1)
    own_start = elapsed[0] - all_waits.before_ns(place, start)
    own_end = elapsed[2] - all_waits.before_ns(place, end)

    behind = _last_ended(order, matched, np.ones(len(needs), bool), start)
    if len(behind):
        at_once = start - end[behind] < _AT_ONCE_NS
        at_once &= (matched.launch_ns < end[behind]) & (behind != np.arange(len(behind)))
        behind = np.where(at_once, behind, -1)
    # What was queued may have been ready before the rank waited for what it was queued behind.
    upto = np.where(behind >= 0, np.minimum(matched.launch_ns, start), start)
    ended = _last_ended(order, matched, needs, upto)
    follows = ended >= 0
    base = np.where(follows, needs_ns[ended], 0) if len(ended) else ended
    return Chain(
        ended, follows, arrives - base, arrives, needs_ns, _needed_before(matched, needs),
        behind, own_start, own_end, first_ns, own_time_of(matched, own_end),
    )  # fmt: skip


def excess_of(matched: Matched, chain: Chain, known: Bools) -> Floats:
    """Return by how much more own time a rank has spent in the step when it comes; shape (m,).

    That is above the median of what the other ranks of its role have spent when they come to what
    corresponds. It is 0 where that cannot be told: without others, in the first step and after
    one that was not recorded, and for collectives that are not `known`; shape (c,).
    """
    base = chain.own.base_ns[matched.place, chain.own.column]
    spent = chain.own_start_ns - base
    some = np.repeat(known, matched.count) & np.isfinite(base)
    late = above_others_of(some, matched.slot, spent)
    return np.nan_to_num(late)


class _Order:
    """Makes one ascending number of a place and a time."""

    def __init__(self, times_ns: Ints, places: int) -> None:
        self.times_ns = np.unique(times_ns)
        self.scale = len(self.times_ns) + 1
        self.places = places

    def keys(self, place: Ints, times_ns: Ints) -> Ints:
        return place * self.scale + np.searchsorted(self.times_ns, times_ns)


class _Waits:
    """The times in which ranks wait; what overlaps counts once."""

    def __init__(self, order: _Order, place: Ints, start_ns: Ints, end_ns: Ints) -> None:
        self._order = order
        starts = order.keys(place, start_ns)
        by_start = np.argsort(starts, kind="stable")
        place, start_ns = place[by_start], start_ns[by_start]
        end_ns = end_ns[by_start]
        latest = np.maximum.accumulate(order.keys(place, end_ns))
        before = np.append(-1, latest[:-1])[: len(latest)]
        same = (before >= 0) & (before // order.scale == place)
        covered = order.times_ns[np.maximum(before, 0) % order.scale] if len(before) else start_ns
        begin = np.where(same, np.maximum(start_ns, covered), start_ns)
        self._starts, self._latest = starts[by_start], latest
        self._upto = np.append(0, np.cumsum(np.maximum(end_ns - begin, 0)))
        self._first = np.searchsorted(place, np.arange(order.places))

    def before_ns(self, place: Ints, times_ns: Ints) -> Ints:
        """Return how long ranks have waited until given times; shape (n,)."""
        if not len(self._latest):
            return np.zeros(len(place), np.int64)
        at = np.searchsorted(self._starts, self._order.keys(place, times_ns), side="right")
        first = self._first[place]
        latest = self._latest[np.maximum(at - 1, 0)]
        still = self._order.times_ns[latest % self._order.scale] - times_ns
        waited = self._upto[at] - self._upto[first] - np.maximum(still, 0)
        return np.where(at > first, waited, 0)


def _last_ended(order: _Order, matched: Matched, some: Bools, upto_ns: Ints) -> Ints:
    """Find which of some members ended last on each one's rank up to a time; -1 for none; (m,)."""
    at = np.flatnonzero(some)
    if not len(at):
        return np.full(len(some), -1, np.int64)
    ends = order.keys(matched.place[at], matched.end_ns[at])
    by_end = np.argsort(ends, kind="stable")
    starts = order.keys(matched.place, upto_ns)
    found = np.searchsorted(ends[by_end], starts, side="right") - 1
    ended = at[by_end][np.maximum(found, 0)]
    return np.where((found >= 0) & (matched.place[ended] == matched.place), ended, -1)


def _needed_before(matched: Matched, needs: Bools) -> Ints:
    """Find for each member that its rank waits for the one that it waited for before."""
    result = np.full(len(needs), -1, np.int64)
    at = np.flatnonzero(needs)
    at = at[np.lexsort((matched.end_ns[at], matched.place[at]))]
    same = np.diff(matched.place[at]) == 0
    result[at[1:]] = np.where(same, at[:-1], -1)
    return result
