"""The function of the user's in which a loader spends most of its time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tidy.trace import Event, EventKind, Location, Rows, Trace
from tidy.trace.location import is_user_file, parse_frame

from ..device.launches import below
from ..device.repeats import calls_in_fetches

_ENOUGH_CALLS = 1000  # to tell lines apart
_MOST_OF_IT = 0.25  # of a function's time: its costliest line tells where to look


class LoaderWork(NamedTuple):
    """A function that takes much of the fetches, and calls no other one that does.

    Attributes:
        name: `collate`.
        share: of the time of the fetches.
        calls, time_ns, ops: how many there are, how long they take, and what operators they hold.
        location: its costliest line, where lines are recorded; else its first one.
    """

    name: str
    share: float
    calls: int
    time_ns: int
    ops: int
    location: Location


def costliest_function(trace: Trace, fetches: Rows, least: float) -> LoaderWork | None:
    """The innermost function that takes so much of these fetches; None where none does."""
    fetching_ns = trace.time_of(fetches).total_ns
    called = trace.rows_of_kind(EventKind.PyCall)
    called = called[below(trace, fetches).contains(called)]
    names, least_ns = trace.name_id[called], least * fetching_ns
    at_most_ns = np.bincount(names, trace.duration_ns[called])  # those in each other count twice
    # Kineto cuts the paths of libraries too. The user's own is called first, and what lies beside.
    by_loader = np.unique(trace.name_id[calls_in_fetches(trace)]).tolist()
    tops = {_top_folder(trace.names[each]) for each in by_loader}
    found = list[tuple[int, Rows, Location]]()
    for name in np.flatnonzero(at_most_ns >= max(least_ns, 1)).tolist():
        frame, rows = parse_frame(trace.names[name]), called[names == name]
        own_ns = trace.time_of(rows).total_ns
        if frame is None or not frame.function.isidentifier() or own_ns < least_ns:
            continue
        if is_user_file(frame.file) and _top_folder(frame.file) in tops:
            found.append((own_ns, rows, frame))
    if not found:
        return None
    own_ns, rows, frame = min(found, key=lambda each: (each[0], -each[1][0]))
    ops = trace.rows_of_kind(EventKind.TorchOp)
    count = np.count_nonzero(below(trace, rows).contains(ops[ops < trace.tree_count]))
    at = _costliest_line(list(trace.events(rows[:_ENOUGH_CALLS].tolist())), frame)
    return LoaderWork(frame.function, own_ns / fetching_ns, len(rows), own_ns, int(count), at)


def _top_folder(file: str) -> str:
    """The folder that a path begins with; "" where it begins with none, or with the root."""
    return file.partition("/")[0] if "/" in file else ""


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
