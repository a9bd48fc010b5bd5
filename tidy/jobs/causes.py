"""Why a rank is late, from the accounts of the ranks of its role."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from ..account import Account
from .table import Floats

_MOST_OF_LATE = 0.5  # of what a rank is late by, a cause explains so much
_GROWS_ALIKE = 0.5  # of the share by which computing is longer, work is larger by so much
# Other work shows in more events: one of a step, by this share, and by times what others differ.
_MORE_EVENTS, _MORE_THAN_OTHERS = 0.002, 3.0

_LOADER = ("data-loading",)
_STALLS = ("host-stall", "garbage-collection", "allocator")
NO_WORK = _LOADER + _STALLS  # parts of an account in which a rank does no work of its own
_NOT_OWN = ("transfer", "rank-wait")


class LateCause(Enum):
    """What a late rank spends its time on, more than others."""

    LOADER = "loading data"
    STALLS = "host stalls"
    HOST = "host code and launching"
    SLOWER_KERNELS = "slower kernels for the same work"
    MORE_WORK = "more work"
    OTHER_WORK = "work that others do not do"


@dataclass(frozen=True, slots=True)
class RankWork:
    """What a rank did in a step, in the mean.

    Attributes:
        loader_ns, stalls_ns, host_ns, device_ns: time in which the device waits for the loader, for
            a host that stands still or for the host otherwise, and in which it computes or copies;
            what waits for other ranks is none of it.
        amount: of the work: operations and bytes, each as kernels report them; shape (2,).
        events: how many were recorded.
    """

    loader_ns: float
    stalls_ns: float
    host_ns: float
    device_ns: float
    amount: tuple[float, float]
    events: float


def rank_work(account: Account, event_count: int) -> RankWork:
    """Gather the work of a rank from its account.

    Args:
        account: of its device, or of its host.
        event_count: how many events the recording has.
    """
    steps = max(len(account.window.steps), 1)
    sums = dict.fromkeys(("loader", "stalls", "host", "device"), 0)
    for part in account.parts:
        if part.cause in _NOT_OWN:
            continue
        if part.part in ("compute", "copy"):
            kind = "device"
        elif part.cause in _LOADER:
            kind = "loader"
        else:
            kind = "stalls" if part.cause in _STALLS else "host"
        sums[kind] += part.time_ns
    rates = account.efficiency
    flops = sum(each.flops for each in rates.products) if rates else 0
    nbytes = rates.elementwise_nbytes if rates else 0
    return RankWork(
        sums["loader"] / steps,
        sums["stalls"] / steps,
        sums["host"] / steps,
        sums["device"] / steps,
        (flops / steps, nbytes / steps),
        event_count / steps,
    )


def cause_of(mine: RankWork, others: Sequence[RankWork], late_ns: float) -> LateCause | None:
    """Tell what makes up half of what a rank is late by; None if nothing does.

    Args:
        others: the ranks of its role that are not late.
        late_ns: what it is late by in a step, in the mean.
    """
    if not others or late_ns <= 0:
        return None

    def more(kind: str) -> float:
        values: Floats = np.array([getattr(each, kind) for each in others], float)
        return float(getattr(mine, kind) - np.median(values))

    longer = {
        LateCause.LOADER: more("loader_ns"),
        LateCause.STALLS: more("stalls_ns"),
        LateCause.HOST: more("host_ns"),
        LateCause.SLOWER_KERNELS: more("device_ns"),
    }
    cause = max(longer, key=lambda each: longer[each])
    if longer[cause] < _MOST_OF_LATE * late_ns:
        return None
    if cause in (LateCause.HOST, LateCause.SLOWER_KERNELS) and does_more(
        mine.events, [each.events for each in others]
    ):
        return LateCause.OTHER_WORK
    if cause != LateCause.SLOWER_KERNELS:
        return cause
    share = longer[cause] / max(mine.device_ns - longer[cause], 1.0)
    amounts = np.median([each.amount for each in others], axis=0)
    grown = max(
        (now / usual - 1 for now, usual in zip(mine.amount, amounts, strict=True) if usual > 0),
        default=0.0,
    )
    return LateCause.MORE_WORK if grown >= _GROWS_ALIKE * share else cause


def does_more(mine: float, others: Sequence[float]) -> bool:
    """Tell whether a rank has more events in a step than the others differ by.

    Args:
        mine, others: the events in a step, in the mean, of the rank and of others of its role.
    """
    least = max(_MORE_THAN_OTHERS * (max(others) - min(others)), _MORE_EVENTS * max(others), 1.0)
    return mine - max(others) >= least
