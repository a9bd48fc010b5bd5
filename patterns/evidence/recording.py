"""How good a recording is: what is cold in it, what it lost, and whether its clocks agree."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from tidy.finding import NotChecked, Obstacle
from tidy.trace import Capability, EventKind, Intervals, Rows, Trace
from tidy.trace.window import ONCE

from .launches import calls_of, rows_matching

_DEVICE_SYNCS = ("cudaDeviceSynchronize", "hipDeviceSynchronize", "cuCtxSynchronize")
# Looking something up takes one to five, loading it tens to thousands.
_SHORTEST_LOAD_NS = 10_000
# The host's clock and the device's are matched to about this much.
_SKEW_NS, _LATE_NS = 2_000, 20_000


def stacks_slow_it(trace: Trace) -> bool:
    """Whether the host's times have what Python stacks cost in them: `tidy run` gives others."""
    return Capability.STACKS in trace.capabilities and "tidy_times" not in trace.info.header


def first_calls(trace: Trace) -> Intervals:
    """The time of the window in which kernels and libraries were loaded.

    A short call loads nothing: some libraries ask for properties of a device, or of a kernel that
    is loaded already, before each launch.
    """
    pattern = next(pattern for words, pattern in ONCE if words == "first launches")
    rows = rows_matching(trace, re.compile(pattern))
    rows = rows[trace.duration_ns[rows] >= _SHORTEST_LOAD_NS]
    return trace.time_of(rows) & trace.step_time


def begun_before_launch(trace: Trace) -> tuple[Rows, int]:
    """Kernels that begin before the call that launched them, and how many are known."""
    kernels = trace.rows_of_kind(EventKind.Kernel)
    calls = trace.caller[kernels].astype(np.int64)
    kernels, calls = kernels[calls >= trace.tree_count], calls[calls >= trace.tree_count]
    early: Rows = kernels[trace.start_ns[kernels] < trace.start_ns[calls] - _SKEW_NS]
    return early, len(kernels)


def done_after_wait(trace: Trace) -> Rows:
    """Waits for a whole device that return before all that was launched on it before is done."""
    waits = calls_of(trace, *_DEVICE_SYNCS)
    work = trace.device_rows
    calls = trace.caller[work].astype(np.int64)
    work, calls = work[calls >= trace.tree_count], calls[calls >= trace.tree_count]
    if not len(waits) or not len(work) or len(trace.devices_used) > 1:
        return waits[:0]  # it waits for one device, and which one is not known
    order = np.argsort(trace.start_ns[calls], kind="stable")
    launched: NDArray[np.int64] = trace.start_ns[calls][order]
    done = np.append(0, np.maximum.accumulate(trace.end_ns[work][order]))
    before = np.searchsorted(launched, trace.start_ns[waits])
    late: Rows = waits[done[before] > trace.end_ns[waits] + _LATE_NS]
    return late


def too_few_steps(trace: Trace, fewest: int) -> Obstacle | None:
    """Why a rule that compares steps cannot tell; None where there are enough of them."""
    count = len(trace.window.steps)
    if not trace.steps or count >= fewest:
        return None
    counted = "1 step that counts" if count == 1 else f"{count} steps that count"
    return NotChecked(f"the recording has {counted}", f"record {fewest + 1} steps or more")
