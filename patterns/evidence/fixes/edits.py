"""Edits: the time of the host, the device work and the waits that fixes take from a recorded run.

`left` is the part that stays, at best and at worst.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from tidy.savings import Edit
from tidy.trace import Event, EventKind, Events, Intervals, Rows, Trace, rows_of
from tidy.trace.kinds import DEVICE_WORK

# What stays of calls and copies that a fix removes: memory that is kept has to be looked up, and
# a value that is not copied has to be made.
REMOVED = (0.1, 0.3)


def host_time(trace: Trace, rows: ArrayLike) -> dict[int, Intervals]:
    """Return the time of these ops, frames or calls, by the thread (its track) that they are on."""
    index = np.asarray(rows, np.int64)
    tracks = trace.track_id[index]
    return {
        int(track): trace.time_of(index[tracks == track])
        for track in np.flatnonzero(np.bincount(tracks))
    }


def work_of(trace: Trace, events: Iterable[Event]) -> Rows:
    """Return the device work that these ops, and all that they call, launch, or the work itself."""
    rows = rows_of(events)
    own = rows[np.isin(trace.kind[rows], DEVICE_WORK)]
    work = trace.device_rows_under_any(rows)
    return np.union1d(own, work) if len(own) else work


def calls_in(trace: Trace, events: Iterable[Event]) -> Rows:
    """Return the calls of the driver in these events, or the events themselves where they are
    calls.
    """
    rows = rows_of(events)
    own = rows[trace.kind[rows] == EventKind.Runtime]
    calls = trace.runtime_rows_under_any(rows)
    return np.union1d(own, calls) if len(own) else calls


def without_waits(trace: Trace, events: Iterable[Event]) -> Edit:
    """Return the run without the waits in these events: the host goes on at once."""
    return Edit("without the waits", waits=calls_in(trace, events))


def without_ops(
    trace: Trace, events: Sequence[Event], model: str, left: tuple[float, float]
) -> Edit:
    """Return the run with `left` of these ops: their time on the host, their device work,
    no waits.
    """
    host = host_time(trace, rows_of(events))
    return Edit(
        model, host=host, work=work_of(trace, events), waits=calls_in(trace, events), left=left
    )


def one_op_for_rounds(
    trace: Trace, rows: Rows, host: dict[int, Intervals], fewest_rounds: int
) -> Edit:
    """Return the run with these loops as one operator each: a round stays, or as much as a few.

    Args:
        rows: operators of the rounds, and of their backward.
        host: when each thread is in them, by track.
        fewest_rounds: of any of the loops.
    """
    left = 1 / fewest_rounds, 4 / fewest_rounds
    ops = without_ops(trace, Events(trace, rows), "one op for all rounds", left)
    return replace(ops, host=host)
