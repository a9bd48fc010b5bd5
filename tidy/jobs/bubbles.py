"""What the stages of a pipeline wait for one another."""

from __future__ import annotations

import numpy as np

from .matching import Matched
from .table import Floats, Ints
from .waits import MemberWaits, is_point_to_point


def bubbles_ns(matched: Matched, waits: MemberWaits, steps: Ints) -> Floats:
    """Add up what ranks wait in sends and receives for the other stage; shape (r, s).

    Args:
        steps: the steps to look at, ascending; shape (s,).
    """
    result = np.zeros((len(matched.ranks), len(steps)))
    if not len(steps):
        return result
    pairs = is_point_to_point(matched) & waits.is_known
    members = np.flatnonzero(pairs[matched.collective])
    step = matched.step[matched.collective[members]]
    column = np.minimum(np.searchsorted(steps, step), len(steps) - 1)
    inside = steps[column] == step
    members, column = members[inside], column[inside]
    np.add.at(result, (matched.place[members], column), waits.waiting_ns[members])
    return result
