"""How often the host waits for a device in the steps of a trace."""

from __future__ import annotations

import numpy as np

from ..patterns.evidence.waits import waiting_calls
from ..trace import Capability, Intervals, Location, Trace

# Reading the value of a tensor: `.item()`, `float(x)`, `if x:`.
_READS = ("aten::_local_scalar_dense",)
_OPTIMIZERS = "Optimizer.step#*"


def count_syncs(trace: Trace) -> tuple[int, str, Location | None]:
    """How often the host waits for a device in the steps, what waits, and where it does first.

    These are the operators of all steps, or without steps of the whole recording, each once.
    Without a device they are reads of a tensor's value, but for those of optimizers, which read
    their own counters.
    """
    if Capability.DEVICE in trace.capabilities:
        words, calls = "the host waits for the device", waiting_calls(trace)
        callers = trace.caller[calls].astype(np.int64)
        rows = np.unique(np.where(callers >= 0, callers, calls))
    else:
        words, rows = "a tensor's value is read", trace.rows_named(*_READS)
        steps = trace.rows_named(_OPTIMIZERS)
        inside = Intervals(trace.start_ns[steps], trace.end_ns[steps])
        rows = rows[~inside.contains(trace.start_ns[rows])]
    if trace.steps:
        of_steps = Intervals([s.start_ns for s in trace.steps], [s.end_ns for s in trace.steps])
        rows = rows[of_steps.contains(trace.start_ns[rows])]
    rows = rows[np.argsort(trace.start_ns[rows], kind="stable")]
    return len(rows), words, trace.location(int(rows[0])) if len(rows) else None
