"""Which device work a recording lacks: what looks idle then need not be.

CUPTI may record only some of the kernels of a graph, or drop records where its buffers run out; and
some files are thinned out before they are published.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..trace import EventKind, Rows, Trace

# Where more launches than this have no work, it is the links of the file that are bad.
_MOST_LOST = 0.5


class LostWork:
    """When work was launched of which the file has no record, or not of all of it."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def in_graphs(self, starts_ns: Rows, ends_ns: Rows) -> NDArray[np.bool_]:
        """Whether a graph was launched in each [start, end], both included."""
        return _any_between(self._trace.start_ns[self._graphs], starts_ns, ends_ns)

    def in_launches(self, starts_ns: Rows, ends_ns: Rows) -> NDArray[np.bool_]:
        """Whether work without any record was launched in each [start, end]."""
        return _any_between(self._trace.start_ns[self._lost], starts_ns, ends_ns)

    @cached_property
    def _graphs(self) -> Rows:
        return self._trace.rows_named("*GraphLaunch*")

    @cached_property
    def _lost(self) -> Rows:
        trace = self._trace
        callers = trace.caller[trace.device_rows]
        has_work = np.zeros(len(trace), bool)
        has_work[callers[callers >= 0]] = True
        launches = trace.rows_named("*LaunchKernel*", "*LaunchCooperativeKernel*")
        launches = launches[trace.kind[launches] == EventKind.Runtime]
        lost = launches[~has_work[launches]]
        none: Rows = np.empty(0, np.int64)
        return lost if len(lost) <= _MOST_LOST * len(launches) else none


def _any_between(times_ns: Rows, starts_ns: Rows, ends_ns: Rows) -> NDArray[np.bool_]:
    times_ns = np.sort(times_ns, kind="stable")
    after = np.searchsorted(times_ns, ends_ns, side="right")
    any_: NDArray[np.bool_] = after > np.searchsorted(times_ns, starts_ns)
    return any_
