"""Start and end of each call and each device activity, given a graph and its lengths.

Nodes are taken in stretches in which the host waits for nothing: there the host's times are a
running sum, and a stream's are a running maximum,

    end[i] = max(arrival[i], end[i - 1] + turn[i]) + length[i]
           = c[i] + max over j <= i of (arrival[j] + length[j] - c[j]),   c = cumsum(turn + length)

so that a stretch costs a few calls of numpy. Short stretches are run node by node.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..trace import Rows
from .graph import Graph

_SHORT = 24  # nodes; below it a loop is faster than numpy
_LONG = 1 << 13  # nodes whose columns a processor's cache holds


@dataclass(frozen=True, slots=True)
class Times:
    """Replayed times in ns: starts and ends of nodes, shape (n,), and of activities, shape (m,)."""

    start_ns: Rows
    end_ns: Rows
    work_start_ns: Rows
    work_end_ns: Rows


class Simulator:
    """Runs a graph, or the same graph with other lengths."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._works: dict[tuple[int, int], _Works] = {}

    @cached_property
    def _stretches(self) -> list[tuple[int, int]]:
        """The nodes [first, last) of each stretch; the last may wait, the others do not."""
        graph = self._graph
        count = len(graph.row)
        cut = np.zeros(count + 1, bool)
        cut[::_LONG] = cut[count] = True
        cut[:count] |= graph.before != np.arange(count) - 1
        cut[1:] |= graph.waits_for >= 0
        launcher = graph.launcher
        # An activity that follows one of the same stretch on another stream begins another stretch.
        foreign = np.flatnonzero(graph.follows >= 0)
        bounds = np.flatnonzero(cut)
        stretch = np.searchsorted(bounds, launcher, side="right")
        same = stretch[foreign] == stretch[graph.follows[foreign]]
        cut[launcher[foreign[same]]] = True
        # So does one that follows another of the same call: a stretch of one node is run by a loop.
        own = foreign[launcher[foreign] == launcher[graph.follows[foreign]]]
        cut[launcher[own]] = cut[launcher[own] + 1] = True
        bounds = np.flatnonzero(cut)
        return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))

    def run(self, graph: Graph | None = None) -> Times:
        """Run the graph; `graph` is the same one with other lengths, gaps or fewer waits."""
        g = self._graph if graph is None else graph
        count, works = len(g.row), len(g.work_row)
        times = Times(*(np.zeros(n, np.int64) for n in (count, count, works, works)))
        run = _Run(g, times, self._works)
        short: list[int] = []
        for low, high in self._stretches:
            if high - low < _SHORT:
                short.append(high)
                if len(short) == 1:
                    begin = low
                continue
            if short:
                run.each(begin, short[-1])
                short = []
            run.stretch(low, high)
        if short:
            run.each(begin, short[-1])
        return times


@dataclass(frozen=True, slots=True)
class _Works:
    """The structure of a stretch's device activities, whichever lengths they have.

    Attributes:
        foreign: those that follow an activity of another stream.
        others: the activity that each of these follows.
        streams: each stream and its activities.
    """

    foreign: Rows
    others: NDArray[np.int32]
    streams: list[tuple[int, slice | Rows]]


def _works_of(graph: Graph, first: int, last: int) -> _Works:
    foreign = np.flatnonzero(graph.follows[first:last] >= 0)
    streams = graph.stream[first:last]
    if (streams == streams[0]).all():
        parts: list[tuple[int, slice | Rows]] = [(int(streams[0]), slice(None))]
    else:
        parts = [(s, np.flatnonzero(streams == s)) for s in np.unique(streams).tolist()]
    return _Works(foreign, graph.follows[first:last][foreign], parts)


class _Run:
    def __init__(self, graph: Graph, times: Times, works: dict[tuple[int, int], _Works]) -> None:
        self.graph, self.times, self.works = graph, times, works
        self.free_at = np.full(int(graph.stream.max(initial=-1)) + 1, np.iinfo(np.int64).min // 2)

    def stretch(self, low: int, high: int) -> None:
        g, t = self.graph, self.times
        before = int(g.before[low])
        step = g.gap_ns[low:high] + g.length_ns[low:high]
        begin = int(t.end_ns[before]) if before >= 0 else int(g.start_ns[low] - g.gap_ns[low])
        ends = begin + np.cumsum(step)
        starts = ends - g.length_ns[low:high]
        t.start_ns[low:high], t.end_ns[low:high] = starts, ends
        first, last = int(g.first_work[low]), int(g.last_work[high - 1])
        if last > first:
            self._works(first, last, starts[g.launcher[first:last] - low])
        wait = int(g.waits_for[high - 1])
        if wait >= 0:
            t.end_ns[high - 1] = max(ends[-1], t.work_end_ns[wait] + g.return_ns[high - 1])

    def _works(self, first: int, last: int, launched: Rows) -> None:
        g, t = self.graph, self.times
        arrival = np.maximum(launched + g.delay_ns[first:last], g.not_before_ns[first:last])
        length, turn = g.work_length_ns[first:last], g.turn_ns[first:last]
        if (first, last) not in self.works:
            self.works[first, last] = _works_of(g, first, last)
        known = self.works[first, last]
        if len(foreign := known.foreign):
            arrival[foreign] = np.maximum(
                arrival[foreign], t.work_end_ns[known.others] + turn[foreign]
            )
        for stream, mine in known.streams:
            took, wait = length[mine], turn[mine]
            c = np.cumsum(took + wait)
            best = np.maximum.accumulate(arrival[mine] + took - c)
            ends = c + np.maximum(best, self.free_at[stream])
            self.free_at[stream] = ends[-1]
            t.work_end_ns[first:last][mine] = ends
            t.work_start_ns[first:last][mine] = ends - took

    def each(self, low: int, high: int) -> None:
        """Run nodes [low, high) one by one."""
        g, t = self.graph, self.times
        first, last = int(g.first_work[low]), int(g.last_work[high - 1])
        cut = slice(low, high)
        nodes = g.before, g.gap_ns, g.length_ns, g.waits_for, g.return_ns, g.last_work, g.start_ns
        columns = (each[cut].tolist() for each in nodes)
        work_cut = slice(first, last)
        works = g.delay_ns, g.turn_ns, g.follows, g.stream, g.work_length_ns, g.not_before_ns
        delay, turn, other, stream, length, not_before = (c[work_cut].tolist() for c in works)
        free_at = self.free_at.tolist()
        starts, ends = list[int](), list[int]()
        work_starts, work_ends = list[int](), list[int]()
        work = first
        for before, gap, took, wait, back, until, recorded in zip(*columns, strict=True):
            if before >= low:
                now = ends[before - low] + gap
            elif before >= 0:
                now = int(t.end_ns[before]) + gap
            else:
                now = recorded
            starts.append(now)
            while work < until:
                at = work - first
                begins = max(now + delay[at], free_at[stream[at]] + turn[at], not_before[at])
                if other[at] >= 0:
                    o = other[at]
                    begins = max(
                        begins,
                        (work_ends[o - first] if o >= first else int(t.work_end_ns[o])) + turn[at],
                    )
                free_at[stream[at]] = begins + length[at]
                work_starts.append(begins)
                work_ends.append(begins + length[at])
                work += 1
            done = now + took
            if wait >= 0:
                done = max(
                    done,
                    (work_ends[wait - first] if wait >= first else int(t.work_end_ns[wait])) + back,
                )
            ends.append(done)
        t.start_ns[cut], t.end_ns[cut] = starts, ends
        t.work_start_ns[work_cut], t.work_end_ns[work_cut] = work_starts, work_ends
        self.free_at[:] = free_at
