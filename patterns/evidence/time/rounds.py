"""A loop's rounds: how many there are, and what they cost with their backward."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np

from tidy.trace import Intervals, Rows, Trace

from ..device.autograd import backward_of
from ..python.loops import count_steps, time_of_rounds


@dataclass(frozen=True)
class Rounds:
    """All rounds of some loops.

    Attributes:
        rows: their operators, and what the engine runs for the nodes that these made.
        host: when each thread is in them, by track.
    """

    rows: Rows
    host: dict[int, Intervals]

    @property
    def time(self) -> Intervals:
        """Return the time in which any thread is in them."""
        return reduce(or_, self.host.values(), Intervals())


def count_text(trace: Trace, count: int, what: str, counted: Iterable[Rows]) -> str:
    """Return `16 rounds a step`, or of what is outside of the window `48 rounds`, in all.

    That is the mean over the steps that have some: most steps may have no validation.

    Args:
        counted: rows of what is counted, all of it in the window or all outside.
    """
    window, rows = trace.window, np.concatenate(list(counted))
    steps = count_steps(trace, trace.start_ns[rows])
    if not steps or window.unit == "run" or not trace.in_window(rows[:1])[0]:
        return f"{count:,} {what}"
    a_step = count / steps
    digits = 0 if a_step >= 10 or a_step == round(a_step) else 1
    return f"{a_step:,.{digits}f} {what} a {window.unit}"


def with_backward(trace: Trace, loops: Sequence[Rows]) -> Rounds:
    """Return the rounds of these loops, given the operators of each by start, all on one thread."""
    forward = np.concatenate(loops)
    backward = backward_of(trace, forward)
    host = {int(trace.track_id[forward[0]]): time_of_rounds(trace, loops)}
    tracks = trace.track_id[backward]
    for track in np.unique(tracks).tolist():
        own = backward[tracks == track]
        own = own[np.argsort(trace.start_ns[own], kind="stable")]
        host[track] = host.get(track, Intervals()) | time_of_rounds(trace, [own])
    return Rounds(np.concatenate([forward, backward]), host)
