"""The function of the user's in which a loader spends most of its time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tidy.trace import Event, EventKind, Location, Rows, Trace
from tidy.trace.location import is_user_file, parse_frame

from ..device.launches import below

_MOST_OF_IT = 0.25  # of a function's time: its costliest line tells where to look


class LoaderWork(NamedTuple):
    """A function that takes much of the fetches, and calls no other one that does.

    Attributes:
        name: `collate`.
        share: of the time of the fetches.
        call_ns: how long a call takes in the mean.
        location: its costliest line, where lines are recorded; else its first one.
    """

    name: str
    share: float
    call_ns: float
    location: Location


def costliest_function(trace: Trace, fetches: Rows, least: float) -> LoaderWork | None:
    """The innermost function that takes so much of these fetches; None where none does."""
    fetching_ns = trace.time_of(fetches).total_ns
    called = trace.rows_of_kind(EventKind.PyCall)
    called = called[below(trace, fetches).contains(called)]
    names, least_ns = trace.name_id[called], least * fetching_ns
    at_most_ns = np.bincount(names, trace.duration_ns[called])  # those in each other count twice
    found = list[tuple[int, Rows, Location]]()
    for name in np.flatnonzero(at_most_ns >= max(least_ns, 1)).tolist():
        frame, rows = parse_frame(trace.names[name]), called[names == name]
        own_ns = trace.time_of(rows).total_ns
        if frame is not None and is_user_file(frame.file) and own_ns >= least_ns:
            found.append((own_ns, rows, frame))
    if not found:
        return None
    own_ns, rows, frame = min(found, key=lambda each: (each[0], -each[1][0]))
    at = _costliest_line(list(trace.events(rows.tolist())), frame)
    return LoaderWork(frame.function, own_ns / fetching_ns, own_ns / len(rows), at)


def _costliest_line(calls: list[Event], frame: Location) -> Location:
    """The line of the function in which most of what it calls is called."""
    taken_ns = dict[Location, int]()
    for each in (child for call in calls for child in call.children):
        at = each.location
        is_line = at is not None and at.is_call_line
        if at is not None and is_line and (at.file, at.function) == (frame.file, frame.function):
            taken_ns[at] = taken_ns.get(at, 0) + each.duration_ns
    line = max(taken_ns, key=taken_ns.__getitem__, default=frame)
    whole_ns = sum(call.duration_ns for call in calls)
    return line if taken_ns.get(line, 0) >= _MOST_OF_IT * whole_ns else frame
