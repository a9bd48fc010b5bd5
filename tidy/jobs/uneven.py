"""Whether ranks are late by turns as they are given more to do in one step than in another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .matching import Matched
from .own_time import above_others_of
from .table import Collectives, Floats, Ints

_GOES_WITH = 0.8  # how closely time has to follow the amount of work
# (ranks - 1) * (steps - 1): of fewer numbers that are free such a correlation may be chance.
_FEWEST_FREE = 10


@dataclass(frozen=True, slots=True)
class UnevenWork:
    """Time that follows the amount of work that a rank is given in a step.

    What a rank has more of, or takes longer for, in all steps is left out of all three.

    Attributes:
        correlation: of time and amount over ranks and steps.
        spread: the largest amount in a step above the mean of its role, as a share, in the median.
        more_ns: what that takes in a step, in the mean.
    """

    correlation: float
    spread: float
    more_ns: float


def uneven_work(late_ns: Floats, amount: Floats, role: Ints) -> UnevenWork | None:
    """Tell whether ranks are late as they have more to do; None if not, or not known.

    Args:
        late_ns: as in `Lateness`; shape (r, s).
        amount: how much each rank was given in each step, NaN if not known; shape (r, s).
        role: of each rank in each step, see `step_roles_of`; shape (r, s).
    """
    # Compared as late_ns is: with the median of the other ranks of the role.
    family = role * late_ns.shape[1] + np.arange(late_ns.shape[1])
    above = above_others_of(
        np.isfinite(amount).reshape(-1), family.reshape(-1), amount.reshape(-1)
    ).reshape(amount.shape)
    whole = (np.isfinite(late_ns) & np.isfinite(above)).all(axis=0)
    ranks, steps = len(late_ns), np.count_nonzero(whole)
    if (ranks - 1) * (steps - 1) < _FEWEST_FREE:
        return None
    above = above[:, whole]
    more, late = _by_turns(above), _by_turns(late_ns[:, whole])
    size, length = float((more * more).sum()), float((late * late).sum())
    if size <= 0 or length <= 0:
        return None
    both = float((more * late).sum())
    correlation = both / (size * length) ** 0.5
    if correlation < _GOES_WITH:
        return None
    amount, family = amount[:, whole], family[:, whole]
    usual = amount - above.mean(axis=1, keepdims=True)
    most = usual - _mean_of_family(family, usual)
    mean = _mean_of_family(family, amount)
    share = np.where(mean > 0, most / np.maximum(mean, 1.0), 0.0)
    spread = float(np.median(share.max(axis=0)))
    return UnevenWork(correlation, spread, both / size * float(most.max(axis=0).mean()))


def step_flops_of(tables: Sequence[Collectives], matched: Matched, steps: Ints) -> Floats:
    """Return the operations of products in each step, NaN if not known; shape (r, s).

    Args:
        tables: of each rank, as `match` was given them.
        steps: numbers of steps as `matched` has them, ascending; shape (s,).
    """
    tables = sorted(tables, key=lambda each: each.rank)  # as their places in `matched` are
    flops = [
        np.full(len(each), -1, np.int64) if each.step_flops is None else each.step_flops
        for each in tables
    ]
    begins = np.cumsum([0, *map(len, tables)])
    result = np.full((len(tables), len(steps)), np.nan)
    step = matched.step[matched.collective]
    some = np.flatnonzero(np.isin(step, steps))
    if len(some):
        known = np.concatenate(flops)[begins[matched.place[some]] + matched.row[some]]
        at = matched.place[some], np.searchsorted(steps, step[some])
        result[at] = np.where(known >= 0, known, np.nan)
    return result


def step_roles_of(matched: Matched, steps: Ints) -> Ints:
    """Return the role of each rank in each step, -1 if it has no collective there; shape (r, s).

    Args:
        steps: numbers of steps as `matched` has them, ascending; shape (s,).
    """
    result = np.full((len(matched.ranks), len(steps)), -1, np.int64)
    step = matched.step[matched.collective]
    some = np.flatnonzero(np.isin(step, steps))
    result[matched.place[some], np.searchsorted(steps, step[some])] = matched.role[some]
    return result


def _mean_of_family(family: Ints, values: Floats) -> Floats:
    """Return the mean of the values with the same family, for each; shape (r, s)."""
    _, number = np.unique(family.reshape(-1), return_inverse=True)
    number = number.reshape(-1)
    mean = np.bincount(number, values.reshape(-1)) / np.bincount(number)
    result: Floats = mean[number].reshape(values.shape)
    return result


def _by_turns(values: Floats) -> Floats:
    """Take off what all ranks have in a step, and what a rank has in all of them; shape (r, s)."""
    values = values - values.mean(axis=0)
    result: Floats = values - values.mean(axis=1, keepdims=True)
    return result
