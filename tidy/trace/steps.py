"""Training steps: `ProfilerStep#N`, or optimizer steps where the script did not mark steps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .event_table import EventTable
from .kinds import EventKind

_PROFILER_STEP = re.compile(r"ProfilerStep#(\d+)")
_OPTIMIZER_STEP = re.compile(r"Optimizer\.step#(.+)\.step")


@dataclass(frozen=True, slots=True)
class Step:
    """One training step: [start_ns, end_ns)."""

    number: int
    start_ns: int
    end_ns: int

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.start_ns


def find_steps(trace: EventTable) -> tuple[Step, ...]:
    """The steps of a trace by time.

    `prof.step()` marks them (`ProfilerStep#N`). Where the script did not call it, a step reaches
    from the end of one optimizer step to the end of the next; the first begins with the trace.
    """
    names = trace.strings.names
    numbers = {
        name_id: int(match[1])
        for name, name_id in names.items()
        if (match := _PROFILER_STEP.fullmatch(name)) and len(match[1]) < 18
    }
    host = trace.kind[: trace.tree_count]
    rows = np.flatnonzero(np.isin(trace.name_id[: trace.tree_count], list(numbers)))
    rows = rows[(host[rows] != EventKind.PyCall) & (trace.duration_ns[rows] > 0)]
    if len(rows):
        rows = rows[np.argsort(trace.start_ns[rows], kind="stable")]
        columns = trace.name_id[rows], trace.start_ns[rows], trace.end_ns[rows]
        found = zip(*(column.tolist() for column in columns), strict=True)
        return tuple(Step(numbers[name_id], start, end) for name_id, start, end in found)
    return _optimizer_steps(trace)


def _optimizer_steps(trace: EventTable) -> tuple[Step, ...]:
    names = trace.strings.names
    labels = [i for name, i in names.items() if _OPTIMIZER_STEP.fullmatch(name)]
    rows = np.flatnonzero(np.isin(trace.name_id[: trace.tree_count], labels))
    if not len(rows):
        return ()
    # An optimizer may wrap another, and a step may use several: the most frequent one counts.
    used, counts = np.unique(trace.name_id[rows], return_counts=True)
    rows = rows[trace.name_id[rows] == used[np.argmax(counts)]]
    return steps_between([trace.start_ns_first, *np.sort(trace.end_ns[rows]).tolist()])


def steps_between(times_ns: Sequence[int]) -> tuple[Step, ...]:
    """Steps from each of these times to the next, without those of no length."""
    pairs = enumerate(pairwise(times_ns))
    return tuple(Step(number, start, end) for number, (start, end) in pairs if end > start)
