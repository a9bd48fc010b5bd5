"""The function of the user's in which a loader spends most of its time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

import numpy as np

from tidy.trace import Event, EventKind, Location, Rows, Trace
from tidy.trace.location import is_user_file, parse_frame

from ..device.launches import below
from ..device.repeats import calls_in_fetches

_ENOUGH_CALLS = 1000  # to tell lines apart
_LONGEST_PYTHON_NS = 50_000  # before a call, to be of its line
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
    """Return the innermost function that takes so much of these fetches; None if none does."""
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
    at = costliest_line(trace.events(rows), frame)
    return LoaderWork(frame.function, own_ns / fetching_ns, len(rows), own_ns, int(count), at)


def _top_folder(file: str) -> str:
    """The folder that a path begins with; "" where it begins with none, or with the root."""
    return file.partition("/")[0] if "/" in file else ""


def costliest_line(calls: Iterable[Event], frame: Location) -> Location:
    """Return the line of a function that takes a quarter of its calls or more; else its
    first line.
    """
    some, taken_ns = list(islice(calls, _ENOUGH_CALLS)), dict[Location, int]()
    for call in some:
        last_ns = call.start_ns
        for each in call.children:
            at, between_ns = each.location, each.start_ns - last_ns
            last_ns = each.end_ns
            is_line = at is not None and at.is_call_line
            if at is None or not is_line or (at.file, at.function) != (frame.file, frame.function):
                continue
            own_ns = between_ns if between_ns <= _LONGEST_PYTHON_NS else 0
            taken_ns[at] = taken_ns.get(at, 0) + each.duration_ns + own_ns
    line = max(taken_ns, key=taken_ns.__getitem__, default=frame)
    whole_ns = sum(call.duration_ns for call in some)
    return line if taken_ns.get(line, 0) >= _MOST_OF_IT * whole_ns else frame
