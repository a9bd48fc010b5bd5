"""Calls in which the host waits for a device, and what the device does afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tidy.finding import Finding, Saving, Severity
from tidy.trace import Event, EventKind, Intervals, Trace

from .places import step_of

# They return when the work of a stream, of an event or of the device is done.
SYNCHRONIZE = (
    "cudaStreamSynchronize*", "cudaDeviceSynchronize*", "cudaEventSynchronize*",
    "cuStreamSynchronize*", "cuCtxSynchronize*", "cuEventSynchronize*",
    "hipStreamSynchronize*", "hipDeviceSynchronize*", "hipEventSynchronize*",
)  # fmt: skip
# Copies that return when they are done (the last is what PyTorch calls on ROCm).
BLOCKING_COPY = (
    "cudaMemcpy", "cudaMemcpy_*", "cudaMemcpy2D", "hipMemcpy", "hipMemcpyDtoH",
    "hipMemcpyWithStream",
)  # fmt: skip
# A wait that costs less of the steps is not worth a warning; TDY501 draws the line there too.
WORTH_A_WARNING = 0.01


def calls_of(trace: Trace, *names: str) -> NDArray[np.int64]:
    """Rows of Runtime calls with one of these names."""
    rows = trace.rows_named(*names)
    is_call: NDArray[np.bool_] = trace.kind[rows] == EventKind.Runtime
    return rows[is_call]


def calls_that_launched(trace: Trace, *names: str) -> NDArray[np.int64]:
    """Rows of the calls that launched device work with one of these names."""
    calls = trace.caller[trace.rows_named(*names)].astype(np.int64)
    launched: NDArray[np.int64] = np.unique(calls[calls >= trace.tree_count])
    return launched


def waiting_calls(trace: Trace) -> NDArray[np.int64]:
    """Rows of calls that wait: synchronising ones, blocking copies, reads into pageable memory.

    `cudaMemcpyAsync` to pageable memory returns when the copy is done (CUDA Runtime API, "API
    synchronization behavior").
    """
    reads = calls_that_launched(trace, "Memcpy DtoH (Device -> Pageable)*")
    return np.union1d(calls_of(trace, *SYNCHRONIZE, *BLOCKING_COPY), reads)


@dataclass(frozen=True, slots=True)
class Wait:
    """An event in which the host waits.

    Attributes:
        event: the op that waits, or the call itself.
        waited_ns: time in the calls that wait.
        end_ns: when the host goes on.
    """

    event: Event
    waited_ns: int
    end_ns: int


def idle_after(
    trace: Trace, waits: Iterable[Wait], busy: Intervals, *, cut: bool = True
) -> Intervals:
    """The time from the end of each wait to the next device work, `cut` at the end of its step.

    Where a device works on, or no work follows, there is none. It is no longer than the host
    waited: without the wait it would have been ahead by that, and what else keeps the device idle
    (a loader) is not the wait's fault.

    Args:
        busy: when any device has work.
    """
    known = np.array([(wait.end_ns, wait.waited_ns) for wait in waits], np.int64).reshape(-1, 2)
    known = known[~busy.contains(known[:, 0])]
    at = np.searchsorted(busy.starts_ns, known[:, 0], side="left")
    known, at = known[at < len(busy)], at[at < len(busy)]
    ends = known[:, 0]
    until = np.minimum(busy.starts_ns[at], ends + known[:, 1])
    if cut and trace.steps:
        steps = step_of(trace, ends)
        step_ends = np.array([step.end_ns for step in trace.steps])
        until = np.where(steps >= 0, np.minimum(until, step_ends[np.maximum(steps, 0)]), until)
    return Intervals(ends, until)


def severity_of(trace: Trace, waits: Sequence[Wait], busy: Intervals) -> Severity:
    """A warning where each step waits, and that may cost 1 % of the steps."""
    # What the host was ahead is lost also where the next work comes in the next step.
    idle = idle_after(trace, waits, busy, cut=False)
    matters = saving_of(idle, waits).high_ns >= WORTH_A_WARNING * trace.step_time.total_ns
    each_step = len(waits) >= len(trace.steps)
    return Severity.WARNING if matters and each_step else Severity.INFO


def saving_of(idle: Intervals, waits: Iterable[Wait]) -> Saving:
    """Without the waits the host is ahead by what it waited: no more than that is saved."""
    waited_ns = sum(wait.waited_ns for wait in waits)
    return Saving(
        0, min(idle.total_ns, waited_ns), "device idle after the waits, at most the time waited"
    )


def costing(
    finding: Finding, trace: Trace, cost: Intervals, saving: Saving, *, on_device: bool
) -> Finding:
    """The finding with the time of `cost`, which is no event's own."""
    return replace(
        finding,
        cost_ns=cost.total_ns,
        cost_share=trace.step_share(cost),
        on_device=on_device,
        saving=saving,
    )
