"""Steps of optimizers: when they run, and what they do in them."""

from __future__ import annotations

from tidy.account import closures
from tidy.trace import EventKind, Intervals, Rows, Trace
from tidy.trace.kept import kept

from .launches import tree_rows

STEP = "Optimizer.step#*"


@kept
def optimizing(trace: Trace) -> Intervals:
    """When steps of optimizers run, without the closures that they call."""
    return trace.time_of(tree_rows(trace, STEP)) - closures(trace)


@kept
def ops_of_optimizers(trace: Trace) -> Rows:
    """All operators in the steps of optimizers, on whatever thread."""
    ops = trace.rows_of_kind(EventKind.TorchOp)
    ops = ops[ops < trace.tree_count]
    of_optimizers: Rows = ops[optimizing(trace).contains(trace.start_ns[ops])]
    return of_optimizers
