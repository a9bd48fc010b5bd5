"""The host's time before and in each call that edits save."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..trace import Intervals, Rows
from ..trace.intervals import repeated
from .edit import Edit
from .graph import Graph

# Nodes, and of each the time saved in the gap before it and within it.
Saved = tuple[Rows, Rows, Rows]


class HostSaved:
    """The host time that edits save; the last answer is kept for the other end of their range."""

    def __init__(self, graph: Graph, tracks: NDArray[np.int32]) -> None:
        """Take the unchanged graph and the thread of each node."""
        self._graph, self._tracks = graph, tracks
        self._nodes: dict[int, tuple[Rows, Rows, Rows, Rows]] = {}
        self._kept: tuple[tuple[int, ...], Sequence[Edit], list[list[Saved]]] | None = None

    def of(self, edits: Sequence[Edit]) -> list[list[Saved]]:
        """Return for each edit what it saves beyond those that stand before it, a part for each
        thread.
        """
        key = tuple(map(id, edits))
        if self._kept is None or self._kept[0] != key:
            self._kept = None  # not beside the next one: it is as long as the run
            taken = dict[int, Intervals]()
            self._kept = key, edits, [self._beyond(taken, edit) for edit in edits]
        return self._kept[2]

    def _beyond(self, taken: dict[int, Intervals], edit: Edit) -> list[Saved]:
        saved = []
        for track, time in edit.host.items():
            before = taken.get(track, Intervals())
            new = time - before if len(before) else time
            taken[track] = before | new
            saved.append(self._covered(track, new))
        return saved

    def _covered(self, track: int, time: Intervals) -> Saved:
        nodes, free, start, end = self._on(track)
        if (start < free).any() or (free[1:] < end[:-1]).any():  # calls that others were made in
            upto_start = time.before_ns(start)
            gap = upto_start - time.before_ns(free)
            length = time.before_ns(end) - upto_start
            some = np.flatnonzero(gap + length)
            return nodes[some], gap[some], length[some]
        # One after the other: only those that the time touches are looked at.
        first = np.searchsorted(end, time.starts_ns, side="right")
        last = np.searchsorted(free, time.ends_ns, side="left")
        which, at = repeated(np.maximum(last - first, 0), first)
        since, upto = time.starts_ns[which], time.ends_ns[which]
        gap = np.minimum(upto, start[at]) - np.maximum(since, free[at])
        length = np.minimum(upto, end[at]) - np.maximum(since, start[at])
        fresh = np.flatnonzero(np.diff(at, prepend=-1))
        in_gap, within = (
            np.add.reduceat(np.maximum(each, 0), fresh) if len(fresh) else each
            for each in (gap, length)
        )
        return nodes[at[fresh]], in_gap, within

    def _on(self, track: int) -> tuple[Rows, Rows, Rows, Rows]:
        """The nodes of a thread; when the host is free before each, its start and its end."""
        if track not in self._nodes:
            graph, nodes = self._graph, np.flatnonzero(self._tracks == track)
            start = graph.start_ns[nodes]
            columns = start - graph.gap_ns[nodes], start, start + graph.length_ns[nodes]
            self._nodes[track] = nodes, *columns
        return self._nodes[track]
