"""Which device work a recording lacks: what looks idle then need not be.

CUPTI may record only some of the kernels of a graph, or drop records where its buffers run out; and
some files are thinned out before they are published.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..trace import Rows, Trace


def graph_launched(trace: Trace, starts_ns: Rows, ends_ns: Rows) -> NDArray[np.bool_]:
    """Tell whether a graph was launched in each [start, end], where kernels of graphs are
    missing.
    """
    if not len(trace.graphs_without_kernels):
        return np.zeros(len(starts_ns), bool)
    return _any_between(trace.start_ns[trace.rows_named("*GraphLaunch*")], starts_ns, ends_ns)


def lost_launched(trace: Trace, starts_ns: Rows, ends_ns: Rows) -> NDArray[np.bool_]:
    """Tell whether work without any record was launched in each [start, end]."""
    return _any_between(trace.start_ns[trace.lost_launches], starts_ns, ends_ns)


def _any_between(times_ns: Rows, starts_ns: Rows, ends_ns: Rows) -> NDArray[np.bool_]:
    times_ns = np.sort(times_ns, kind="stable")
    after = np.searchsorted(times_ns, ends_ns, side="right")
    return np.greater(after, np.searchsorted(times_ns, starts_ns))
