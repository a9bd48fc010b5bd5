"""Closures that optimizers call: forward and backward within `Optimizer.step`.

`optimizer.step(closure)`, as LBFGS needs it and Lightning calls it, runs the model inside of the
range that the optimizer records. What the closure does is not the optimizer's time.
"""

from __future__ import annotations

import numpy as np

from ..trace import EventKind, Intervals, Rows, Trace
from ..trace.kept import kept
from ..trace.location import is_user_file, parse_frame

_STEP, _ZERO_GRAD = "Optimizer.step#*", "Optimizer.zero_grad#*"
_BACKWARD = "autograd::engine::evaluate_function*"


@kept
def closures(trace: Trace) -> Intervals:
    """Find when optimizers run a closure, without the gradients that they zero in it.

    Where Python stacks are recorded it is the user's function in which a backward runs; else it
    lasts from the beginning of the optimizer's step, which calls it first, to the last backward.
    """
    count = trace.tree_count
    steps, backward = (trace.rows_named(name) for name in (_STEP, _BACKWARD))
    steps, backward = steps[steps < count], backward[backward < count]
    if not len(steps) or not len(backward):
        return Intervals()
    starts, ends = trace.start_ns[steps], trace.end_ns[steps]
    at_ns = np.sort(trace.start_ns[backward])
    first, last = (np.searchsorted(at_ns, each) for each in (starts, ends))
    runs = np.flatnonzero(last > first)
    until_ns = np.maximum.accumulate(trace.end_ns[backward[np.argsort(trace.start_ns[backward])]])
    found = [
        _of_user(trace, int(steps[step]), at_ns[first[step] : last[step]])
        or [(int(starts[step]), int(min(until_ns[last[step] - 1], ends[step])))]
        for step in runs.tolist()
    ]
    time = Intervals(*np.array([each for own in found for each in own], np.int64).reshape(-1, 2).T)
    return time - trace.time_of(trace.rows_named(_ZERO_GRAD))


def _of_user(trace: Trace, step: int, backward_ns: Rows) -> list[tuple[int, int]]:
    """The user's outermost functions in an optimizer's step in which a backward runs."""
    rows = np.arange(step + 1, trace.subtree_end[step])
    rows = rows[trace.kind[rows] == EventKind.PyCall]
    spans: list[tuple[int, int]] = []
    for row in rows.tolist():
        start_ns, end_ns = int(trace.start_ns[row]), int(trace.end_ns[row])
        if spans and start_ns < spans[-1][1]:
            continue  # within the one before
        frame = parse_frame(trace.names[trace.name_id[row]])
        if frame is None or not is_user_file(frame.file):
            continue
        at = np.searchsorted(backward_ns, start_ns)
        if at < len(backward_ns) and backward_ns[at] < end_ns:
            spans.append((start_ns, end_ns))
    return spans
