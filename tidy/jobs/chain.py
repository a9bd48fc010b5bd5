"""What each rank does between its collectives, and by how much that is more than the others'.

A rank comes to a collective some time after the one before it: after its end, if it waited for it,
else after its start. That time is the rank's own; that a rank comes late because those that it
waited for were late is no part of it. It needs no clocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .matching import Matched
from .stretches import above_others
from .table import Bools, Floats, Ints

# A kernel that starts so soon after another one was queued behind it.
_AT_ONCE_NS = 20_000


@dataclass(frozen=True, slots=True)
class Chain:
    """How members follow one another on their ranks; columns have shape (m,).

    Attributes:
        before: the member of the same rank that each one follows, -1 for the rank's first.
        after_end: whether it follows its end, and not its start.
        is_queued: whether it starts at once after one that the rank does not wait for, so that it
            was ready at some time before.
        gap_ns: how long after that it arrives; 0 for the rank's first.
        since_start_ns: how long it arrives after the start of the one that started before it.
    """

    before: Ints
    after_end: Bools
    is_queued: Bools
    gap_ns: Ints
    since_start_ns: Ints


def chain_of(matched: Matched) -> Chain:
    """Find what each member follows on its rank."""
    count = len(matched.place)
    before, after_end = np.full(count, -1, np.int64), np.zeros(count, bool)
    if not count:
        return Chain(before, after_end, after_end, before, before)
    order = np.lexsort((matched.end_ns, matched.start_ns, matched.place))
    same = np.append(False, np.diff(matched.place[order]) == 0)
    before[order[1:]] = np.where(same[1:], order[:-1], -1)
    # Of those that the rank waited for: the last that had ended. Hidden ones it did not wait for,
    # but one may have kept the next from starting.
    is_hidden = matched.exposed_ns == 0
    ended, has_ended = _last_ended(matched, ~is_hidden)
    of_all, any_ended = _last_ended(matched, np.ones(count, bool))
    at_once = any_ended & (matched.start_ns - matched.end_ns[of_all] < _AT_ONCE_NS)
    is_queued = at_once & is_hidden[of_all] & (of_all != np.arange(count))
    ended, has_ended = np.where(is_queued, of_all, ended), has_ended | is_queued
    previous_start = np.where(before >= 0, matched.start_ns[before], np.iinfo(np.int64).min)
    since_start = np.where(before >= 0, matched.start_ns - matched.start_ns[before], 0)
    # One of no length would be its own end.
    after_end = has_ended & (matched.end_ns[ended] >= previous_start) & (before >= 0)
    after_end &= ended != np.arange(count)
    before = np.where(after_end, ended, before)
    base = np.where(after_end, matched.end_ns[before], matched.start_ns[before])
    gap = np.where(before >= 0, matched.start_ns - base, 0)
    return Chain(before, after_end, is_queued & after_end, gap, since_start)


def _last_ended(matched: Matched, some: Bools) -> tuple[Ints, Bools]:
    """Find for each member which of some on its rank ended last before it starts, if any did."""
    at = np.flatnonzero(some)
    if not len(at):
        return np.full(len(some), -1, np.int64), np.zeros(len(some), bool)
    at = at[np.lexsort((matched.end_ns[at], matched.place[at]))]
    # Ranks of times within all times, so that place and time are one number that ascends.
    times = np.unique(np.concatenate([matched.end_ns, matched.start_ns]))
    scale = len(times) + 1
    ends = matched.place[at] * scale + np.searchsorted(times, matched.end_ns[at])
    starts = matched.place * scale + np.searchsorted(times, matched.start_ns)
    found = np.searchsorted(ends, starts, side="right") - 1
    ended = at[np.maximum(found, 0)]
    return ended, (found >= 0) & (matched.place[ended] == matched.place)


def excess_of(matched: Matched, chain: Chain, known: Bools) -> Floats:
    """Return by how much each member's gap is above the median of the other members'; shape (m,).

    It is 0 where that cannot be told: of the first collectives of a rank, of those in which not all
    members wait for all, of those for which a member was ready before, and of those that are not
    `known`; shape (c,).
    """
    first, count = matched.first[:-1], matched.count
    if not len(first):
        return np.zeros(0)
    tells = np.logical_and.reduceat(chain.before >= 0, first) & matched.all_wait & known
    tells &= ~np.logical_or.reduceat(chain.is_queued, first)
    # Where some waited for the one before and others did not, starts are what can be compared.
    waiters = np.add.reduceat(chain.after_end.astype(np.int64), first)
    alike = np.repeat((waiters == 0) | (waiters == count), count)
    gap = np.where(alike, chain.gap_ns, chain.since_start_ns)
    excess = above_others(gap, matched.first)
    return np.where(np.repeat(tells & (count > 1), count), excess, 0.0)
