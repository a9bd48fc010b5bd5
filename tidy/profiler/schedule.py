"""When a profiler records: the actions, and the schedule that picks one for each step.

Source: torch/profiler/profiler.py (ProfilerAction, schedule).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from ..errors import UsageError


class ProfilerAction(Enum):
    """What to do during a step."""

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
    """For `profile(schedule=...)`: cycles of `wait` idle, `warmup` and `active` recorded steps.

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
