"""Why a rank is late, from its own account beside the others'."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

import numpy as np

from .table import Floats

MOST_OF_LATE = 0.5  # a part that makes up so much of the lateness is the reason


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
