"""How much of some time falls to each interval, and in which step it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tidy.finding import Severity
from tidy.trace import Intervals, Trace

# Below this share of the step a finding is worth knowing, from it on worth a warning; the 5 % of
# Kineto's TensorBoard plug-in.
WORTH_A_WARNING = 0.05


def severity_by_share(share: float | None, warning: float = WORTH_A_WARNING) -> Severity:
    """A warning where the share of the step is real, else info."""
    return Severity.WARNING if (share or 0.0) >= warning else Severity.INFO


def covered_ns(time: Intervals, starts_ns: ArrayLike, ends_ns: ArrayLike) -> NDArray[np.int64]:
    """For each [start, end) how much of it lies in `time`; shape as given."""
    upto = np.append(0, np.cumsum(time.ends_ns - time.starts_ns))

    def before(times_ns: ArrayLike) -> NDArray[np.int64]:
        times = np.asarray(times_ns, np.int64)
        after = np.searchsorted(time.starts_ns, times, side="right")
        if not len(time):
            return np.zeros(times.shape, np.int64)
        at = np.maximum(after - 1, 0)
        last = np.clip(times, time.starts_ns[at], time.ends_ns[at]) - time.starts_ns[at]
        return np.where(after > 0, upto[at] + last, 0)

    return before(ends_ns) - before(starts_ns)


def step_of(trace: Trace, times_ns: ArrayLike) -> NDArray[np.int64]:
    """For each time the index in `trace.steps` of the step it is in, -1 for none."""
    times = np.asarray(times_ns, np.int64)
    if not trace.steps:
        return np.full(times.shape, -1, np.int64)
    starts = np.array([step.start_ns for step in trace.steps], np.int64)
    ends = np.array([step.end_ns for step in trace.steps], np.int64)
    at = np.searchsorted(starts, times, side="right") - 1
    return np.where((at >= 0) & (times < ends[at]), at, -1)


def device_idle(trace: Trace) -> Intervals:
    """All time in which no device of the run had work."""
    rows = trace.device_rows
    return Intervals(trace.start_ns[rows], trace.end_ns[rows]).complement()
