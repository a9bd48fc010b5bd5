"""Launches of kernels of which a recording has no record."""

from __future__ import annotations

import numpy as np

from .event_table import EventTable
from .intervals import Intervals
from .kinds import EventKind
from .raw_columns import Rows

# Where fewer kernels than this have their launch, it is the links of the file that are bad.
_FEWEST_LINKED = 0.5
# A few are lost at the edges of a recording as a rule.
FEWEST_LOST, FEWEST_LOST_SHARE = 10, 0.01
_BEGIN_CAPTURE, _END_CAPTURE = "*StreamBeginCapture*", "*StreamEndCapture*"


def kernel_launches(trace: EventTable) -> Rows:
    """Return the calls that launch a kernel each.

    What is launched while a graph is captured does not run, but becomes part of the graph.
    """
    launches = trace.rows_named("*LaunchKernel*", "*LaunchCooperativeKernel*")
    launches = launches[trace.kind[launches] == EventKind.Runtime]
    rows: Rows = launches[~capturing(trace).contains(trace.start_ns[launches])]
    return rows


def lost_launches(trace: EventTable) -> Rows:
    """Return the launches whose kernels are not in the file, where it has others."""
    launches, callers = kernel_launches(trace), trace.caller[trace.device_rows]
    linked = callers[callers >= 0]
    linked = linked[trace.kind[linked] == EventKind.Runtime]
    if not len(callers) or len(linked) < _FEWEST_LINKED * len(callers):
        return launches[:0]
    has_work = np.zeros(len(trace), bool)
    has_work[linked] = True
    rows: Rows = launches[~has_work[launches]]
    return rows


def capturing(trace: EventTable) -> Intervals:
    """Find when graphs were captured, by whichever thread: a backward launches on one of
    its own.
    """
    begin, end = trace.rows_named(_BEGIN_CAPTURE), trace.rows_named(_END_CAPTURE)
    begins_ns, ends_ns = np.sort(trace.end_ns[begin]), np.sort(trace.start_ns[end])
    until = np.searchsorted(ends_ns, begins_ns)
    begins_ns, until = begins_ns[until < len(ends_ns)], until[until < len(ends_ns)]
    return Intervals(begins_ns, ends_ns[until])
