"""Why a rank is late, from its own account beside the others', and from the work it was given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

import numpy as np

from .table import Floats

MOST_OF_LATE = 0.5  # a part that makes up so much of the lateness is the reason
_GOES_WITH = 0.8  # how closely time has to follow the amount of work
_FEWEST_CELLS = 8


@dataclass(frozen=True, slots=True)
class LateReason:
    """The part of a rank's account that makes it late.

    Attributes:
        part: its name, as given.
        more_ns: how much more of a step the rank spends on it than the median of the others.
        share: that, as a part of what the rank is late by.
    """

    part: str
    more_ns: float
    share: float


def reason_of(parts: Mapping[str, Floats], place: int, late_ns: float) -> LateReason | None:
    """Find the part that a late rank spends its time on; None if none makes up half of it.

    Args:
        parts: what each rank spends on each part of a step in ns; shape (r,) each. Parts must not
            overlap, and waiting for other ranks is none of them.
        place: the late rank.
        late_ns: what it is late by in a step.
    """
    if late_ns <= 0:
        return None
    more = {
        name: float(ns[place] - np.nanmedian(np.delete(ns, place)))
        for name, ns in parts.items()
        if len(ns) > 1 and np.isfinite(np.delete(ns, place)).any()
    }
    more = {name: ns for name, ns in more.items() if isfinite(ns)}
    if not more:
        return None
    part = max(more, key=lambda name: more[name])
    share = more[part] / late_ns
    return LateReason(part, more[part], share) if share >= MOST_OF_LATE else None


@dataclass(frozen=True, slots=True)
class UnevenWork:
    """Time that follows the amount of work (tokens, samples, elements) a rank is given in a step.

    Attributes:
        correlation: of time and amount, over ranks and steps.
        ns_per_unit: what one more of it takes.
        share: what part of the differences in time these of the amount explain.
        spread: the largest amount in a step above the mean of its ranks, as a share, in the median.
    """

    correlation: float
    ns_per_unit: float
    share: float
    spread: float


def uneven_work(late_ns: Floats, amount: Floats) -> UnevenWork | None:
    """Tell whether ranks are late as they have more to do; None if not, or not known.

    Args:
        late_ns: as in `Lateness`; shape (r, s).
        amount: how much each rank was given in each step, NaN if not known; shape (r, s).
    """
    known = np.isfinite(late_ns) & np.isfinite(amount)
    whole = known.all(axis=0)
    late, amount = late_ns[:, whole], amount[:, whole]
    if late.size < _FEWEST_CELLS:
        return None
    more = amount - amount.mean(axis=0)
    late = late - late.mean(axis=0)
    size = float((more * more).sum())
    length = float((late * late).sum())
    if size <= 0 or length <= 0:
        return None
    both = float((more * late).sum())
    correlation = both / (size * length) ** 0.5
    if correlation < _GOES_WITH:
        return None
    spread = amount.max(axis=0) / np.maximum(amount.mean(axis=0), 1e-300) - 1
    return UnevenWork(correlation, both / size, correlation**2, float(np.median(spread)))
