"""Training steps: `ProfilerStep#N`, or optimizer steps where the script did not mark steps."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .event_table import EventTable
from .kinds import EventKind
from .raw_columns import Rows

_PROFILER_STEP = re.compile(r"ProfilerStep#(\d+)")
_OPTIMIZER_STEP = re.compile(r"Optimizer\.step#(.+)\.step")
_MOST_OPTIMIZERS = 16  # in one step, an optimizer that steps several times counted as often


@dataclass(frozen=True, slots=True)
class Step:
    """One training step: [start_ns, end_ns)."""

    number: int
    start_ns: int
    end_ns: int

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.start_ns


def find_steps(trace: EventTable, location: Callable[[int], object]) -> tuple[Step, ...]:
    """Return the steps of a trace by time.

    `prof.step()` marks them (`ProfilerStep#N`). Where the script did not call it, a step reaches
    from the end of one optimizer step to the end of the next; the first begins with the trace.
    Where several optimizers take turns, as those of a generator and its critic do, a step has a
    turn of each: they are told apart by name, by the `location` of a row, and by what they run.
    """
    numbers = _step_numbers(trace)
    rows = _ranges_named(trace, list(numbers))
    if len(rows):
        rows = rows[np.argsort(trace.start_ns[rows], kind="stable")]
        columns = trace.name_id[rows], trace.start_ns[rows], trace.end_ns[rows]
        found = zip(*(column.tolist() for column in columns), strict=True)
        return tuple(Step(numbers[name_id], start, end) for name_id, start, end in found)
    return _optimizer_steps(trace, location)


def step_ranges(trace: EventTable) -> Rows:
    """Return the ranges that `prof.step()` wrote, but for those of a process that did nothing else.

    Such a process is none of the run, if another one did something: files are put together.
    """
    return _ranges_named(trace, list(_step_numbers(trace)))


def _ranges_named(trace: EventTable, name_ids: list[int]) -> Rows:
    of_host = slice(trace.tree_count)
    is_range = np.isin(trace.name_id[of_host], name_ids)
    is_range &= (trace.kind[of_host] != EventKind.PyCall) & (trace.duration_ns[of_host] > 0)
    pids = [pid for pid, _ in trace.strings.tracks]
    others = np.bincount(trace.track_id[of_host][~is_range])  # many times as fast as np.unique
    at_work = {pids[track] for track in np.flatnonzero(others).tolist()}
    tracks = [track for track, pid in enumerate(pids) if pid in at_work or not at_work]
    return np.flatnonzero(is_range & np.isin(trace.track_id[of_host], tracks))


def _step_numbers(trace: EventTable) -> dict[int, int]:
    """The number of a step by the id of its range's name."""
    return {
        name_id: int(match[1])
        for name, name_id in trace.strings.names.items()
        if (match := _PROFILER_STEP.fullmatch(name)) and len(match[1]) < 18
    }


def _optimizer_steps(trace: EventTable, location: Callable[[int], object]) -> tuple[Step, ...]:
    labels = [i for name, i in trace.strings.names.items() if _OPTIMIZER_STEP.fullmatch(name)]
    host, first_ns = trace.kind[: trace.tree_count], trace.start_ns_first
    rows = np.flatnonzero(np.isin(trace.name_id[: trace.tree_count], labels))
    if not len(rows):
        return ()
    rows = rows[np.argsort(trace.start_ns[rows], kind="stable")]
    # An optimizer may wrap another.
    ends_ns = np.maximum.accumulate(trace.end_ns[rows])
    rows = rows[trace.start_ns[rows] >= np.append(0, ends_ns)[:-1]]
    ops_upto = np.append(0, np.cumsum(host == EventKind.TorchOp))
    names = trace.name_id[rows].tolist()
    places = list(zip(names, map(location, rows.tolist()), strict=True))
    ops = (ops_upto[trace.subtree_end[rows]] - ops_upto[rows]).tolist()
    kernels = [len(trace.device_rows_under(row)) for row in rows.tolist()]
    runs = list(zip(ops, kernels, strict=True))
    for period in (_period(places, runs), _period(places), _period(names)):
        if period:
            return steps_between([first_ns, *trace.end_ns[rows[period - 1 :: period]].tolist()])
    # Of optimizers in no order the most frequent one counts.
    used, counts = np.unique(names, return_counts=True)
    rows = rows[trace.name_id[rows] == used[np.argmax(counts)]]
    return steps_between([first_ns, *trace.end_ns[rows].tolist()])


def _period(labels: Sequence[object], runs: Sequence[object] = ()) -> int:
    """After how many labels they begin anew, three times at least; 0 if they do not.

    So has what each runs, but for the first time: an optimizer makes its state then.
    """
    most = min(_MOST_OPTIMIZERS, len(labels) // 3)
    fit = (n for n in range(1, most + 1) if labels[:-n] == labels[n:])
    return next((n for n in fit if runs[n:-n] == runs[2 * n :]), 0)


def steps_between(times_ns: Sequence[int]) -> tuple[Step, ...]:
    """Steps from each of these times to the next, without those of no length."""
    pairs = enumerate(pairwise(times_ns))
    return tuple(Step(number, start, end) for number, (start, end) in pairs if end > start)
