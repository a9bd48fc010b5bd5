"""What each row of a trace leads to: its forward, and the frame that has its place.

Both are columns of the whole trace, kept on it for all steps that are shown.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..trace import EventKind, Trace
from ..trace.kept import kept
from ..trace.location import is_user_file, parse_frame


@kept
def forward_rows(trace: Trace) -> NDArray[np.int32]:
    """Return the forward row of each row, -1 for none; shape (len(trace),)."""
    forward, pairs = np.full(len(trace), -1, np.int32), trace.forward
    backward = np.fromiter(pairs.keys(), np.int64, len(pairs))
    forward[backward] = np.fromiter(pairs.values(), np.int64, len(pairs))
    return forward


@kept
def frames_with_places(trace: Trace) -> NDArray[np.int32]:
    """Return for each row one above it, or itself, that has the same place; shape (len(trace),)."""
    rows = np.arange(len(trace), dtype=np.int32)
    above = np.where(rows < trace.tree_count, trace.parent, trace.caller)
    stays = (trace.kind == EventKind.PyCall) & _is_user_frame(trace)[trace.name_id]
    stays |= (trace.stack_id >= 0) | (above < 0) | (forward_rows(trace) >= 0)
    stays |= trace.track_id[above] != trace.track_id
    frame = np.where(stays, rows, above).astype(np.int32)
    while True:
        further = frame[frame]
        if np.array_equal(further, frame):
            return frame
        frame = further


def _is_user_frame(trace: Trace) -> NDArray[np.bool_]:
    """For each name whether it is a function of the user's; shape (len(trace.names),)."""
    found = np.zeros(len(trace.names), bool)
    calls = trace.rows_of_kind(EventKind.PyCall)
    for each in np.unique(trace.name_id[calls]).tolist():
        frame = parse_frame(trace.names[each])
        found[each] = frame is not None and is_user_file(frame.file)
    return found
