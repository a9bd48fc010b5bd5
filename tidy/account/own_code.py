"""Time in a script's own code, which is in no function: the place is the line that comes next.

The first line of a script, which is all that its frame tells, is no place to look at.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..trace import EventKind, Trace
from .pieces import Stretches

Rows = NDArray[np.int32]
_OPS = (EventKind.TorchOp, EventKind.Annotation)


class OwnCode:
    """The frames of scripts' own code, and the operators that it starts, with their lines."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def rows_of(self, pieces: Stretches) -> Rows:
        """Return the rows of pieces; for own code the operator that it starts next, if any."""
        rows = pieces.row
        found = np.flatnonzero(self._is_own[rows] & (rows >= 0)) if len(self._is_own) else ()
        if not len(found):
            return rows
        trace, rows = self._trace, rows.copy()
        frame, ends = rows[found], pieces.end_ns[found]
        for track, started in self._started.items():
            mine = np.flatnonzero(trace.track_id[frame] == track)
            next_ = np.searchsorted(trace.start_ns[started], ends[mine])
            some = next_ < len(started)
            mine, after = mine[some], started[next_[some]]
            inside = after < trace.subtree_end[frame[mine]]
            rows[found[mine[inside]]] = after[inside]
        return rows

    @cached_property
    def _is_own(self) -> NDArray[np.bool_]:
        """Whether each row is the frame of a script's own code."""
        trace = self._trace
        names = np.array([name.endswith(": <module>") for name in trace.names], bool)
        if not names.any():
            return np.zeros(0, bool)
        own: NDArray[np.bool_] = names[trace.name_id] & (trace.kind == EventKind.PyCall)
        return own

    @cached_property
    def _started(self) -> dict[int, Rows]:
        """By thread the operators whose line in such code is known, by start."""
        trace = self._trace
        at = [
            place is not None and place.is_call_line and place.function == "<module>"
            for place in trace.places_of_stacks
        ]
        kind, stack_id = (each[: trace.tree_count] for each in (trace.kind, trace.stack_id))
        rows = np.flatnonzero(np.isin(kind, _OPS) & (stack_id >= 0))
        rows = rows[np.array(at, bool)[stack_id[rows]]] if at else rows[:0]
        rows = rows[np.argsort(trace.start_ns[rows], kind="stable")].astype(np.int32)
        tracks = trace.track_id[rows]
        return {track: rows[tracks == track] for track in np.unique(tracks).tolist()}
