"""The function of the user's in which the workers of a loader spend most of their time."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from tidy.trace import Location
from tidy.trace.loader_workers import WorkerGroup
from tidy.trace.worker_functions import WorkerFunction, together

_ENOUGH_NS = 100_000_000  # some twenty samples
# A function whose calls are shorter is a part of the work of what calls it.
_SHORT_CALL_NS = 50_000
# From so many runs for a call of its function on, and up to so long ones, a line is in a loop that
# works on single numbers, words or rows; one that takes longer calls what takes the time.
_ROUNDS, _SHORT_RUN_NS, _LONG_RUN_NS = 8, 100_000, 1_000_000
_MOST_OF_IT = 0.25  # of a function's time: its costliest line tells where to look


class Takes(Enum):
    """What takes the time of a function."""

    ROUNDS = "rounds of a loop"
    CALLS = "calls that are long themselves"
    UNKNOWN = "unknown"


class WorkerWork(NamedTuple):
    """A function that takes much of the workers' time, and calls no other one that does.

    Attributes:
        name: `pad`.
        share: of the time that workers are at work.
        location: its costliest line, or its first one where no line takes much.
        takes: what takes the time.
    """

    name: str
    share: float
    location: Location
    takes: Takes


def work_of(loaders: Sequence[WorkerGroup], least: float) -> WorkerWork | None:
    """Return the innermost function that takes so much of the workers' time; None if none does.

    Time in which a worker sleeps or waits for a disk is no function's, and counts against all.
    """
    seen = together(loader.functions for loader in loaders)
    weights = [(loader, loader.functions.sampled_ns) for loader in loaders]
    if seen.sampled_ns < _ENOUGH_NS:
        return None
    part = sum(weight * _at_work(loader) for loader, weight in weights) / seen.sampled_ns
    most = [
        each
        for each in seen.functions
        if each.ns * part >= least * seen.sampled_ns and not _is_short(each, seen.batch_count)
    ]
    if not most:
        return None
    each = min(most, key=lambda each: each.ns)
    is_line = each.runs > 0 and each.line_ns >= _MOST_OF_IT * each.ns
    line = each.line if is_line else each.first_line
    location = Location(each.file, line, each.function, is_line)
    share = min(each.ns / seen.sampled_ns, 1.0) * part
    return WorkerWork(each.function, share, location, _takes(each, seen.batch_count))


def _at_work(loader: WorkerGroup) -> float:
    """The part of the time in which a worker has a processor, but for that in which it waits for
    one.
    """
    return min(loader.cpu_share / max(1 - loader.queued_share, 1e-9), 1.0)


def _is_short(function: WorkerFunction, batch_count: int) -> bool:
    return function.calls > 0 and function.ns < _SHORT_CALL_NS * function.calls * batch_count


def _takes(function: WorkerFunction, batch_count: int) -> Takes:
    if not function.runs:
        return Takes.UNKNOWN
    run_ns = function.line_ns / batch_count / function.runs
    if function.runs >= _ROUNDS * max(function.calls, 1) and run_ns < _LONG_RUN_NS:
        return Takes.ROUNDS if run_ns <= _SHORT_RUN_NS else Takes.UNKNOWN
    return Takes.CALLS if run_ns > _SHORT_RUN_NS else Takes.UNKNOWN
