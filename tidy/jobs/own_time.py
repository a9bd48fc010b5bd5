"""By how much a rank's own time is longer than that of the others of its role."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .matching import Matched
from .stretches import above_others
from .table import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class OwnTime:
    """The own time of ranks in steps, from the end of one's last collective to the next's.

    Attributes:
        steps: the numbers of the steps, -1 for what is in none; shape (s,).
        column: the step of each member as an index into `steps`; shape (m,).
        last: the last member of each rank in each step, -1 for none; shape (r, s).
        base_ns: the rank's own time when the step before ended, NaN if that was not recorded;
            shape (r, s).
        own_ns: its own time in the step, NaN if not known; shape (r, s).
        late_ns: that, above the median of the other ranks that do the same in this step; NaN
            without any; shape (r, s).
    """

    steps: Ints
    column: Ints
    last: Ints
    base_ns: Floats
    own_ns: Floats
    late_ns: Floats


def own_time_of(matched: Matched, own_end_ns: Ints) -> OwnTime:
    """Add up the own time of ranks by steps, and compare it.

    Args:
        own_end_ns: the rank's own time at the end of each member, see `Chain`; shape (m,).
    """
    ranks = len(matched.ranks)
    steps, column = np.unique(matched.step[matched.collective], return_inverse=True)
    column = column.reshape(-1)
    cell = matched.place * len(steps) + column
    last: Ints = np.full(ranks * len(steps), -1, np.int64)
    by_end = np.argsort(matched.end_ns, kind="stable")
    last[cell[by_end]] = by_end  # of several with one place the last one stays
    there = last >= 0
    own = np.where(there, own_end_ns[last] if len(cell) else 0, np.nan)
    own, last = own.reshape(ranks, len(steps)), last.reshape(ranks, len(steps))
    base = np.full(own.shape, np.nan)
    follows = (np.diff(steps) == 1) & (steps[:-1] >= 0)
    base[:, 1:] = np.where(follows, own[:, :-1], np.nan)
    own = own - base
    role = np.where(last >= 0, matched.role[last] if len(cell) else 0, -1)
    late = above_others_of(np.isfinite(own).reshape(-1), role.reshape(-1), own.reshape(-1))
    return OwnTime(steps, column, last, base, own, late.reshape(own.shape))


def above_others_of(some: Bools, family: Ints, values: Floats) -> Floats:
    """Return values less the median of others of their family, NaN without any; shape (n,).

    Args:
        some: which values there are; shape (n,).
        family: shape (n,).
        values: shape (n,).
    """
    result = np.full(len(values), np.nan)
    at = np.flatnonzero(some)
    at = at[np.argsort(family[at], kind="stable")]
    if len(at):
        fresh = np.append(True, np.diff(family[at]) != 0)
        first = np.append(np.flatnonzero(fresh), len(at))
        count = np.diff(first)
        result[at] = np.where(np.repeat(count > 1, count), above_others(values[at], first), np.nan)
    return result
