"""A clock that stands while something is recorded, and for how long it has to.

To record an event takes the host some hundred nanoseconds before its start and after its end. So
the host's clock is stopped for that long at each; where the next one comes sooner, it stops the
longer there.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from ..profiler.timeline import interpolated
from .moments import HostTimes, Numbers

Floats = NDArray[np.float64]
# PyTorch's profiler and tidy's own take around a microsecond for an event with its times alone; on
# a slow, busy machine some.
MOST_NS = 5_000
PRECISION_NS = 5
# Events that lie densest, so many at a time, and how much of their time is recording at the most:
# calling an operator takes about as long as recording it.
_DENSE, _DENSEST, _MOST_OF_TIME = 30, 0.05, 0.5


class StoppedClock:
    """A clock that stands before each start and after each end, for half of what an event takes.

    It never goes back: what does not fit before the next time is taken off later.

    Args:
        when: starts and ends of events.
        event_ns: for how long at both together; one number for all, or those of all starts, then
            of all ends.
        parts: clock times, ascending, and what they become; evenly between them.
    """

    def __init__(
        self,
        when: HostTimes,
        event_ns: int | Floats,
        parts: tuple[Numbers, Numbers] | None = None,
    ) -> None:
        count = len(when.starts_ns)
        each = np.broadcast_to(np.asarray(event_ns, np.float64) / 2, count + len(when.ends_ns))
        since = np.concatenate([when.starts_ns - each[:count].astype(np.int64), when.ends_ns])
        order = np.argsort(since, kind="stable")
        self._since, self._parts = since[order], parts
        self._taken = np.concatenate([[0.0], np.cumsum(each[order])]).astype(np.int64)
        self._shown = np.maximum.accumulate(self._since - self._taken[:-1])

    def at(self, times_ns: Numbers) -> Numbers:
        """Return what it shows at recorded times."""
        found = times_ns
        if len(self._since):
            upto = np.searchsorted(self._since, times_ns, side="right")
            shown = self._shown[np.maximum(upto, 1) - 1]
            found = np.where(upto > 0, np.maximum(shown, times_ns - self._taken[upto]), times_ns)
        return found if self._parts is None else interpolated(*self._parts, found)


def calibrate(step_ns: Callable[[int], float], wanted_ns: float) -> int:
    """Return how long to stand at an event, so that something is as long as it is unrecorded.

    Args:
        step_ns: how long it is when the clock stands so long; the longer, the shorter.
    """
    tried_ns = range(0, MOST_NS, PRECISION_NS)
    place = bisect_left(tried_ns, -wanted_ns, key=lambda event_ns: -step_ns(event_ns))
    return place * PRECISION_NS


def most_recorded_ns(when: HostTimes) -> float:
    """Return what to record an event takes at the most, as events follow each other in the densest
    stretches of a recording; `MOST_NS` if there are few.
    """
    times = np.sort(np.concatenate(when))
    if len(times) <= 2 * _DENSE:
        return MOST_NS
    each_ns = (times[2 * _DENSE :] - times[: -2 * _DENSE]) / _DENSE
    return min(MOST_NS, _MOST_OF_TIME * float(np.quantile(each_ns, _DENSEST)))


def laid_out(bounds: Iterable[Numbers], lengths: Iterable[Numbers]) -> list[Numbers]:
    """Return what the bounds of parts become, a row for each step, when the parts have these
    lengths.

    What is between two steps stays between them.
    """
    found, earlier = list[Numbers](), 0
    for row, each in zip(bounds, lengths, strict=True):
        found.append(row[0] - earlier + np.append(0, np.cumsum(each)))
        earlier = int(row[-1] - found[-1][-1])
    return found
