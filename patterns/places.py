"""Where in the loop something happens: its place, the steps it happens in, whose code it is."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from enum import Enum
from functools import cached_property, lru_cache
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tidy.trace import Event, EventKind, Trace
from tidy.trace.location import is_user_file, parse_frame

_NUMBERED_STEP = re.compile(r"ProfilerStep#\d+")
_PROFILER = re.compile(r"(^|/)torch/(profiler|autograd/profiler)")
_SCALER = re.compile(r"(^|/)torch/(cuda/)?amp/grad_scaler\.py")
_OPTIMIZER = re.compile(r"(^|/)torch/optim/")


class Owner(Enum):
    """Whose code does something: the first of these on the way up."""

    USER = "user"
    OPTIMIZER = "optimizer"
    GRAD_SCALER = "gradient scaler"
    PROFILER = "profiler"


@lru_cache(maxsize=1 << 12)
def _owner_by_name(name: str) -> Owner | None:
    if name.startswith("Optimizer.step#"):
        return Owner.OPTIMIZER
    frame = parse_frame(name)
    if frame is None:
        return None
    if _PROFILER.search(frame.file):
        return Owner.PROFILER
    if _SCALER.search(frame.file):
        return Owner.GRAD_SCALER
    if _OPTIMIZER.search(frame.file):
        return Owner.OPTIMIZER
    return Owner.USER if is_user_file(frame.file) else None


def owner_of(event: Event) -> Owner:
    """Whose code an event belongs to; the user's where nothing says otherwise."""
    frames = event.trace.call_stack(event.row).split(";")
    above = (each.name for each in event.ancestors())
    for name in chain(map(str.strip, frames), above):
        owner = _owner_by_name(name)
        if owner is not None:
            return owner
    return Owner.USER


def place_of(event: Event) -> Hashable:
    """What events at one place of the source share.

    That is the line, or without Python stacks the names above, but for the number of the step.
    """
    location = event.location
    if location is not None:
        return location, event.name
    above = (each.name for each in event.ancestors())
    return event.name, *(name for name in above if not _NUMBERED_STEP.fullmatch(name))


def range_around(event: Event) -> str:
    """The name of the nearest range that the user marked, "" for none."""
    for above in event.ancestors():
        if above.kind == EventKind.Annotation and not _NUMBERED_STEP.fullmatch(above.name):
            return above.name
    return ""


def within_range(events: Sequence[Event]) -> str:
    """` in NAME`, for events without a line in a range that has a name, else ""."""
    name = "" if events[0].location is not None else range_around(events[0])
    return f" in {name}" if name else ""


def step_of(trace: Trace, times_ns: ArrayLike) -> NDArray[np.int64]:
    """For each time the index of the step it is in, -1 for none; shape as given."""
    times = np.asarray(times_ns, np.int64)
    if not trace.steps:
        return np.full(times.shape, -1)
    starts = np.array([step.start_ns for step in trace.steps])
    ends = np.array([step.end_ns for step in trace.steps])
    at = np.searchsorted(starts, times, side="right") - 1
    inside = (at >= 0) & (times < ends[np.maximum(at, 0)])
    return np.where(inside, at, -1).astype(np.int64)


class Loop:
    """What repeats in a trace: in its steps or, where it has none, in rounds of work.

    A launch of a kernel ends a round. What happens many times before any kernel is launched, such
    as a model that moves to the device, one parameter after the other, is in a single one.
    """

    FEWEST_STEPS, FEWEST_ROUNDS = 2, 3

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def repeated(self, times_ns: ArrayLike, enough: int | None = None) -> list[bool]:
        """For each time whether it counts: none does where they do not repeat, nor one in no step.

        Args:
            enough: so many repeat wherever they are.
        """
        times = np.asarray(times_ns, np.int64)
        if self._trace.steps:
            steps = step_of(self._trace, times)
            counts = steps >= 0
            repeats = len(np.unique(steps[counts])) >= self.FEWEST_STEPS
        else:
            counts = np.ones(times.shape, bool)
            rounds = np.searchsorted(self._launches_ns, times)
            repeats = len(np.unique(rounds)) >= self.FEWEST_ROUNDS
        repeats = repeats or (enough is not None and int(counts.sum()) >= enough)
        return [bool(each) and repeats for each in counts]

    @cached_property
    def _launches_ns(self) -> NDArray[np.int64]:
        """When kernels were launched, sorted."""
        trace = self._trace
        kernels = trace.rows_of_kind(EventKind.Kernel)
        calls = trace.caller[kernels]
        return np.sort(trace.start_ns[np.where(calls >= 0, calls, kernels)])
