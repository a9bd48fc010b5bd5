"""Which device work a recording lacks: what looks idle then need not be.

CUPTI may record only some of the kernels of a graph, or drop records where its buffers run out; and
some files are thinned out before they are published.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..trace import EventKind, Intervals, Rows, Trace

# Where more launches than this have no work, it is the links of the file that are bad.
_MOST_LOST = 0.5
_BEGIN_CAPTURE, _END_CAPTURE = "*StreamBeginCapture*", "*StreamEndCapture*"


def graph_launched(trace: Trace, starts_ns: Rows, ends_ns: Rows) -> NDArray[np.bool_]:
    """Whether a graph was launched in each [start, end], where kernels of graphs are missing."""
    if not len(trace.graphs_without_kernels):
        return np.zeros(len(starts_ns), bool)
    return _any_between(trace.start_ns[trace.rows_named("*GraphLaunch*")], starts_ns, ends_ns)


def lost_launches(trace: Trace) -> tuple[Rows, Rows]:
    """Launches of kernels of which the file has no record while it has some, and all launches.

    What is launched while a graph is captured does not run, but becomes part of the graph.
    """
    launches = trace.rows_named("*LaunchKernel*", "*LaunchCooperativeKernel*")
    launches = launches[trace.kind[launches] == EventKind.Runtime]
    launches = launches[~_capturing(trace).contains(trace.start_ns[launches])]
    callers = trace.caller[trace.device_rows]
    has_work = np.zeros(len(trace), bool)
    has_work[callers[callers >= 0]] = True
    lost = launches[~has_work[launches]]
    if len(lost) > _MOST_LOST * len(launches):
        lost = lost[:0]
    return lost, launches


def lost_launched(trace: Trace, starts_ns: Rows, ends_ns: Rows) -> NDArray[np.bool_]:
    """Whether work without any record was launched in each [start, end]."""
    lost, _ = lost_launches(trace)
    return _any_between(trace.start_ns[lost], starts_ns, ends_ns)


def _capturing(trace: Trace) -> Intervals:
    """When graphs were captured, by whichever thread: a backward launches on one of its own."""
    begin, end = trace.rows_named(_BEGIN_CAPTURE), trace.rows_named(_END_CAPTURE)
    begins_ns, ends_ns = np.sort(trace.end_ns[begin]), np.sort(trace.start_ns[end])
    until = np.searchsorted(ends_ns, begins_ns)
    begins_ns, until = begins_ns[until < len(ends_ns)], until[until < len(ends_ns)]
    return Intervals(begins_ns, ends_ns[until])


def _any_between(times_ns: Rows, starts_ns: Rows, ends_ns: Rows) -> NDArray[np.bool_]:
    times_ns = np.sort(times_ns, kind="stable")
    after = np.searchsorted(times_ns, ends_ns, side="right")
    return np.greater(after, np.searchsorted(times_ns, starts_ns))
