"""Whether ranks are late by turns as they are given more to do in one step than in another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .stretches import above_others
from .table import Collectives, Floats, Ints

_GOES_WITH = 0.8  # how closely time has to follow the amount of work
# (ranks - 1) * (steps - 1): of fewer numbers that are free such a correlation may be chance.
_FEWEST_FREE = 10


@dataclass(frozen=True, slots=True)
class UnevenWork:
    """Time that follows the amount of work that a rank is given in a step.

    Attributes:
        correlation: of time and amount over ranks and steps, without what a rank has more of, or
            takes longer for, in all steps.
        ns_per_unit: what one more of it takes.
        spread: the largest amount in a step above the mean of its ranks, as a share, in the median.
        more_ns: what that takes in a step, in the mean.
    """

    correlation: float
    ns_per_unit: float
    spread: float
    more_ns: float


def uneven_work(late_ns: Floats, amount: Floats) -> UnevenWork | None:
    """Tell whether ranks are late as they have more to do; None if not, or not known.

    Args:
        late_ns: as in `Lateness`; shape (r, s).
        amount: how much each rank was given in each step, NaN if not known; shape (r, s).
    """
    whole = (np.isfinite(late_ns) & np.isfinite(amount)).all(axis=0)
    late, amount = late_ns[:, whole], amount[:, whole]
    ranks, steps = late.shape
    if (ranks - 1) * (steps - 1) < _FEWEST_FREE:
        return None
    # Compared as late_ns is: with the median of the other ranks.
    above = above_others(amount.T.reshape(-1), np.arange(steps + 1) * ranks).reshape(steps, ranks)
    more, late = _by_turns(above.T), _by_turns(late)
    size, length = float((more * more).sum()), float((late * late).sum())
    if size <= 0 or length <= 0:
        return None
    both = float((more * late).sum())
    correlation = both / (size * length) ** 0.5
    if correlation < _GOES_WITH:
        return None
    mean = amount.mean(axis=0)
    most = amount.max(axis=0) - mean
    spread = float(np.median(most / np.maximum(mean, 1e-300)))
    per_unit = both / size
    return UnevenWork(correlation, per_unit, spread, per_unit * float(most.mean()))


def step_flops_of(tables: Sequence[Collectives], steps: Ints) -> Floats:
    """Return the operations of products in each step, NaN if not known; shape (r, s).

    Args:
        tables: of each rank.
        steps: numbers of steps, ascending; shape (s,).
    """
    result = np.full((len(tables), len(steps)), np.nan)
    for place, table in enumerate(tables):
        if table.step_flops is None or not len(steps):
            continue
        some = np.flatnonzero((table.step_flops > 0) & np.isin(table.step, steps))
        result[place, np.searchsorted(steps, table.step[some])] = table.step_flops[some]
    return result


def _by_turns(values: Floats) -> Floats:
    """Take off what all ranks have in a step, and what a rank has in all of them; shape (r, s)."""
    values = values - values.mean(axis=0)
    result: Floats = values - values.mean(axis=1, keepdims=True)
    return result
