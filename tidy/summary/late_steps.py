"""Why a rank is late in some steps: what it spends longer on in those than in its other steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from ..account import StepParts
from ..account.causes import cause_text
from ..jobs import Lateness, Matched
from ..jobs.reasons import MOST_OF_LATE
from ..jobs.table import Ints
from ..trace import time_text
from .summary import Summary

# Waiting for other ranks, and what says nothing of the rank.
_NO_REASON = ("transfer", "rank-wait", "gap", "recording", "unknown")
_PRODUCTS = ("matmul", "convolution")
_MORE_WORK, _SAME_WORK, _SLOWER = 1.03, 1.01, 1.05
_MOST_BESIDE = 64  # other ranks: their median tells as well as that of more
_COMPUTE, _COPY, _IDLE = "compute", "copy", "idle"
_VERBS = {_COMPUTE: "computes", _COPY: "copies", _IDLE: "idles"}

Name = tuple[str, str]  # of a part: its sort and its cause


def reason_in_steps(
    summaries: Sequence[Summary], matched: Matched, lateness: Lateness, places: Sequence[int]
) -> str:
    """Say what a late rank spends longer on: `in these steps its GPU idles for 6.1 ms longer than
    in others: work on the CPU`.

    What other ranks spend longer in the same steps is no reason.

    Args:
        summaries: of the ranks compared, by their places.
        places: that of the late rank, then those of ranks that do the same work and are not late.

    Returns:
        "" if no part of its time makes up half of what it is late by, or if that is not known.
    """
    place, *beside = places[: 1 + _MOST_BESIDE]
    mine, late_ns = summaries[place], lateness.late_ns[place]
    is_late = np.isin(lateness.steps, lateness.late_steps(place))
    late, others = (lateness.steps[np.isfinite(late_ns) & each] for each in (is_late, ~is_late))
    step = matched.step[matched.collective]
    steps = {
        each: _own_steps(summaries[each], matched, step, each, late, others)
        for each in (place, *beside)
    }
    more = _more_ns(mine.step_parts, *steps[place])
    if not more or not mine.accounts:
        return ""
    known = [_more_ns(summaries[each].step_parts, *steps[each]) for each in beside]
    known = [each for each in known if each]
    for name in more:
        usual_ns = float(np.median([each.get(name, 0) for each in known])) if known else 0.0
        more[name] -= max(usual_ns, 0.0)
    least_ns = MOST_OF_LATE * float(late_ns[is_late].mean())
    of_sort = defaultdict[str, float](float)
    for (sort, _), ns in more.items():  # what takes less makes nobody late
        of_sort[sort] += max(ns, 0)
    sort = max(of_sort, key=of_sort.__getitem__, default="")
    if not sort or of_sort[sort] < least_ns:
        return ""
    device = mine.accounts[0].sort
    what = f"its {device} {_VERBS[sort]} for" if sort in _VERBS else "its host takes"
    when = "this step" if len(late) == 1 else "these steps"
    said = f"in {when} {what} {time_text(of_sort[sort])} longer than in others"
    if sort == _COMPUTE:
        return said + _work(mine, *steps[place])
    cause = max((each for each in more if each[0] == sort), key=more.__getitem__)
    if sort == _COPY or more[cause] < least_ns:
        return said
    if cause[1] == "device-wait":
        return f"{said}, and its host stands still in a call that waits for the {device}"
    return f"{said}: {cause_text(cause[1])}"


def _own_steps(
    summary: Summary, matched: Matched, step: Ints, place: int, *some: Ints
) -> list[Ints]:
    """Return the numbers that a rank gives to some steps, which may be others than the job's.

    Args:
        step: of each member; shape (m,).
    """
    mine = matched.place == place
    own = summary.collectives.step[matched.row[mine]]
    return [np.unique(own[np.isin(step[mine], each)]) for each in some]


def _more_ns(parts: StepParts | None, late: Ints, others: Ints) -> dict[Name, float]:
    """Return by how much longer each part takes in the mean of late steps than in others."""
    if parts is None:
        return {}
    are, usual = (parts.time_ns[:, np.isin(parts.steps, each)] for each in (late, others))
    if not are.shape[1] or not usual.shape[1]:
        return {}
    more = are.mean(axis=1) - np.median(usual, axis=1)
    named = zip(parts.names, more.tolist(), strict=True)
    return {name: ns for name, ns in named if name[1] not in _NO_REASON}


def _work(summary: Summary, late: Ints, others: Ints) -> str:
    """Say whether there are more products in late steps, or the same for longer; "" if unknown.

    Steps of which the operations are not known are left out.
    """
    table, parts = summary.collectives, summary.step_parts
    if table.step_flops is None or parts is None:
        return ""
    known = np.intersect1d(table.step[table.step_flops >= 0], parts.steps)
    is_product = [cause in _PRODUCTS for _, cause in parts.names]
    time_ns = parts.time_ns[is_product].sum(axis=0)
    flops, times = list[float](), list[float]()
    for some in (np.intersect1d(each, known) for each in (late, others)):
        if not len(some):
            return ""
        flops.append(float(np.median(table.step_flops[np.isin(table.step, some)])))
        times.append(float(np.median(time_ns[np.isin(parts.steps, some)])))
    if not min(*flops, *times) > 0:
        return ""
    more, longer = flops[0] / flops[1], times[0] / times[1]
    if more >= _MORE_WORK:
        return f", with {more - 1:.0%} more operations in products"
    if 1 / _SAME_WORK <= more <= _SAME_WORK and longer >= _SLOWER:
        return f": the same products take {longer:.2f} times as long"
    return ""
