"""The cost of events, and the share of the window that is worth a warning."""

from __future__ import annotations

from typing import NamedTuple

from tidy.trace import Intervals, Trace


class Cost(NamedTuple):
    """The cost of some events where that is not their own time.

    Attributes:
        time: of the host or, if it is so, of devices.
        matters: whether that is worth a warning where nothing is replayed; by default from the
            share of the window on that the match or its rule gives.
    """

    time: Intervals
    matters: bool | None = None
    on_device: bool = False


NO_COST = Cost(Intervals(), matters=False)  # what is found takes no time, or none that is known


def part_of_window(trace: Trace, time: Intervals) -> float:
    """Return the share of the window, or of what is outside of it alone: its length in windows.

    So a floor is the same for what counts and for what does not. 1 where there is no window.
    """
    share = trace.step_share(time)
    if share is not None:
        return share
    window_ns = trace.step_time.total_ns
    return time.total_ns / window_ns if window_ns else 1.0
