"""The steps of a training, and the schedule that picks what a profiler does in each.

Source: torch/profiler/profiler.py (ProfilerAction, schedule, KinetoStepTracker).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum

from ..errors import UsageError


class ProfilerAction(Enum):
    """The things to do during a step."""

    NONE = 0
    WARMUP = 1  # observe, and drop what was seen
    RECORD = 2
    RECORD_AND_SAVE = 3  # the last step of a cycle: the trace is ready when it ends


Schedule = Callable[[int], ProfilerAction]


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Schedule:
    """Make cycles of `wait` idle, `warmup` and `active` recorded steps, for
    `profile(schedule=...)`.

    Args:
        repeat: the number of cycles; 0 goes on to the end.
        skip_first: steps before the first cycle.
        skip_first_wait: 1 leaves the first cycle's `wait` out.

    Raises:
        UsageError: a negative number, or nothing to record.
    """
    counts = (wait, warmup, active, repeat, skip_first)
    if min(counts) < 0 or active == 0:
        raise UsageError(
            "schedule: wait, warmup, repeat and skip_first must not be negative, and active must "
            f"be at least 1, got {wait=}, {warmup=}, {active=}, {repeat=}, {skip_first=}"
        )

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        cycle = wait + warmup + active
        if repeat and step >= repeat * cycle:
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def always(_: int) -> ProfilerAction:
    """Without a schedule: record from start to stop."""
    return ProfilerAction.RECORD


class StepTracker:
    """The steps of this process, counted by several at once: `prof.step()` and each optimizer.

    Each of them counts for itself, under a name of its own. What counts is the greatest of these
    counts, so that a training loop in which an optimizer and the profiler both step once is at one
    step, not at two.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._current = 0
        # A recorder may be stopped between two bytecodes of what has the lock.
        self._lock = threading.RLock()

    def add(self, requester: str) -> None:
        """Let a new caller start where the others are."""
        with self._lock:
            self._counts[requester] = self._current

    def remove(self, requester: str) -> bool:
        """Forget a caller, and tell whether it was there."""
        with self._lock:
            return self._counts.pop(requester, None) is not None

    def increment(self, requester: str) -> int:
        """Count a step of the caller; return the number of steps made by now."""
        with self._lock:
            count = self._counts.get(requester, self._current) + 1
            self._counts[requester] = count
            # After a jump (a caller that counted alone for a while) all go on from there.
            self._current = max(self._current, count)
            return self._current

    @property
    def current(self) -> int:
        return self._current


tracker = StepTracker()


def current_step() -> int:
    """Training steps of this process so far, while profilers saw them."""
    return tracker.current
