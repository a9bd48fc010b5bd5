"""The time of the steps after a fix: the recorded graph with the fix's edit, run again.

All edits together are run as one, so that what two fixes would save twice counts once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..trace import Rows, Trace
from .edit import Edit
from .graph import Graph, build_graph
from .host_saved import HostSaved
from .rest_of_host import RestOfHost
from .simulate import Simulator

# Above this median error of the unchanged replay nothing is said about savings, nor where some
# steps are off by twice as much.
MOST_ERROR = 0.05
# A replay gives recorded steps back within a tenth of a percent. Savings that were measured
# (docs/savings.md) were up to 8 % less than what is replayed with the most that stays.
_SURELY = 0.92
# What differs between graphs of one trace.
_EDITED = ("gap_ns", "length_ns", "work_length_ns", "turn_ns", "waits_for", "not_before_ns")
_HARDLY = 0.005  # of the host's time; a smaller change is left out


@dataclass(frozen=True, slots=True)
class Fidelity:
    """The errors of the unchanged replay against the recording, as shares of a step's time."""

    median_error: float
    p90_error: float

    @property
    def abstains(self) -> bool:
        """True if the replay is too far off to say anything about changes."""
        return self.is_off_in_most_steps or self.p90_error > 2 * MOST_ERROR

    @property
    def is_off_in_most_steps(self) -> bool:
        """True if the median decides that the replay is too far off, not the step in ten."""
        return self.median_error > MOST_ERROR


class Savings:
    """Replays of one trace over given steps."""

    def __init__(
        self,
        trace: Trace,
        steps: Sequence[tuple[int, int]],
        track: int,
        others: tuple[Rows, Rows] | None = None,
        is_run: bool = False,
        finished: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        """Take the steps as times of the host, [start, end) each, and the thread they are on.

        Args:
            others: rows of collectives, and how early each may begin for the other ranks' sake.
            is_run: the steps are stretches of one run, whose length is one in what follows.
            finished: the same in time of the devices, where a step lasts until they have finished
                it; see `Window.finished`.
        """
        self._steps, self._is_run = steps, is_run
        self._behind, self._finished = finished is not None, finished or steps
        self._marks = sorted({time for step in steps for time in step})
        self._graph = graph = build_graph(trace, self._marks, track)
        # No host waits for the end of such a run: it is the end of its last kernel.
        last_ns = trace.end_ns[trace.device_rows].max(initial=0)
        self._ends_with_work = is_run and bool(self._marks) and self._marks[-1] == last_ns
        tracks = np.where(graph.row >= 0, trace.track_id[graph.row], track)
        self._host_saved = HostSaved(graph, tracks)
        self._simulator = Simulator(graph)
        self._work_of_row = np.full(len(trace), -1, np.int32)
        self._work_of_row[graph.work_row] = np.arange(len(graph.work_row))
        self._node_of_row = np.full(len(trace), -1, np.int32)
        self._others = others
        self._node_of_row[graph.row[graph.row >= 0]] = np.flatnonzero(graph.row >= 0)
        self._rest = RestOfHost(trace, graph, steps)
        # What an edit costs and what it saves at best are often one and the same graph.
        self._last: tuple[Graph, tuple[Rows, Rows]] | None = None

    @property
    def unchanged(self) -> Rows:
        """The replayed lengths of the steps with no edit."""
        return self._unchanged[self._behind]

    @cached_property
    def _unchanged(self) -> tuple[Rows, Rows]:
        return self._step_lengths(self._graph)

    @cached_property
    def fidelity(self) -> Fidelity:
        """The errors of the unchanged replay over the steps."""
        recorded = self._lengths([end - start for start, end in self._finished])
        errors = np.abs(self.unchanged - recorded.astype(np.float64)) / np.maximum(recorded, 1)
        if not len(errors):
            return Fidelity(0.0, 0.0)
        return Fidelity(float(np.median(errors)), float(np.quantile(errors, 0.9)))

    def saved(self, edits: Iterable[Edit], *, alike: bool = False) -> tuple[Rows, Rows]:
        """Return the ns that each step loses with all of these edits, at the least and at the most.

        Args:
            alike: whether all ranks are corrected alike; else the others may stay as they are.
        """
        edits = tuple(edits)
        return self._at_most(*self._unbounded(edits, alike=alike), edits)

    def _unbounded(self, edits: Sequence[Edit], *, alike: bool) -> tuple[Rows, Rows]:
        """Return what `saved` does, whatever an edit is said to save at most."""
        best = worst = self._edited(edits, 0)
        of_others = [edit for edit in edits if edit.of_others]
        others = None if alike or len(of_others) == len(edits) else self._others
        if others is not None or any(_is_range(edit) for edit in edits):
            worst = self._edited(edits, 1)
            worst = worst if others is None else self._among_others(worst, others)
        most = self._shorter(best)
        least = most if worst is best else np.minimum(self._shorter(worst), most)
        if others is not None and of_others:  # this rank stays as it is, or the others do
            least = np.maximum(least, np.minimum(self._shorter(self._edited(of_others, 1)), most))
        slower = self._rest.slower(edits)
        if slower >= _HARDLY:
            least = np.minimum(self._shorter(_with_host(worst, 1 + slower)), least)
        return (_SURELY * least).astype(np.int64), most

    def _at_most(self, least: Rows, most: Rows, edits: Sequence[Edit]) -> tuple[Rows, Rows]:
        """Take off by how much each edit alone is said to save more than it can."""
        for edit in edits:
            if edit.saves_at_most_ns is not None:
                low_ns, high_ns = edit.saves_at_most_ns
                # What an edit saves alone differs as `least` and `most` do: at worst and at best.
                best, worst = most, least
                if len(edits) > 1:
                    best, worst = (self._shorter(self._edited([edit], end)) for end in (0, 1))
                most = most - np.maximum(best - high_ns, 0)
                least = least - np.maximum(np.minimum(least, worst) - low_ns, 0)
        return np.maximum(np.minimum(least, most), 0), np.maximum(most, 0)

    def unrecorded(self, edits: Iterable[Edit]) -> tuple[Rows, Rows]:
        """Return the same for a run without a profiler: the rest of the host may get faster too."""
        edits = tuple(edits)
        least, most = self._unbounded(edits, alike=False)
        saved_ns = int(self._at_most(least, most, edits)[1].sum())
        best, faster = self._edited(edits, 0), self._rest.faster(edits, saved_ns)
        if faster >= _HARDLY:
            most = np.maximum(self._shorter(_with_host(best, 1 - faster)), most)
        if self._rest.recording >= _HARDLY:
            part = 1 - self._rest.recording
            without = self._shorter(_with_host(self._graph, part))
            most = np.maximum(self._shorter(_with_host(best, (1 - faster) * part)) - without, most)
        return self._at_most(least, most, edits)

    def cost(self, edits: Iterable[Edit]) -> Rows:
        """Return the ns that each step would lose if what the edits change took no time at all."""
        return self._shorter(self._edited([_to_nothing(edit) for edit in edits], 0))

    def _among_others(self, graph: Graph, others: tuple[Rows, Rows]) -> Graph:
        """The graph where the other ranks stay as they are: its collectives wait for them.

        Where all are corrected alike, what this rank waits for them stays as recorded.
        """
        rows, earliest_ns = others
        not_before = graph.not_before_ns.copy()
        work = self._work_of_row[rows]
        not_before[work[work >= 0]] = earliest_ns[work >= 0]
        return replace(graph, not_before_ns=not_before)

    def _shorter(self, graph: Graph) -> Rows:
        """Return the ns that each step loses in an edited graph.

        A host that waits for nothing runs ahead of the devices, in the recorded steps and no
        further: in the long run a step takes as long as the devices take to finish its kernels.
        """
        before, after = self._unchanged, self._step_lengths(graph)
        on_host, on_devices = (b - a for b, a in zip(before, after, strict=True))
        # A change never makes a step longer: where the replay says so, it is the replay's error.
        saved: Rows = np.maximum(on_devices, 0)
        most_ns = int(on_devices.sum())
        if not self._behind:
            saved = np.clip(np.maximum(*before) - np.maximum(*after), 0, np.maximum(on_host, 0))
            most_ns = min(most_ns, int(on_host.sum()))
        if saved.sum() > most_ns:
            saved = (saved * (max(most_ns, 0) / max(int(saved.sum()), 1))).astype(np.int64)
        return saved

    def _step_lengths(self, graph: Graph) -> tuple[Rows, Rows]:
        """Return the ns of each step on the host, and from the end of its kernels to the next's."""
        if self._last is None or not _are_alike(self._last[0], graph):
            self._last = graph, self._lengths_in(graph)
        return self._last[1]

    def _lengths_in(self, graph: Graph) -> tuple[Rows, Rows]:
        times = self._simulator.run(graph)
        starts = times.start_ns[graph.bounds]
        finished = np.maximum.accumulate(np.append(starts[:1], times.work_end_ns))
        finished = finished[graph.first_work[graph.bounds]]
        if self._ends_with_work:
            starts[-1] = finished[-1]
        finished = np.maximum(finished, starts)
        first, last = np.searchsorted(self._marks, self._steps).reshape(-1, 2).T
        on_host, on_devices = starts[last] - starts[first], finished[last] - finished[first]
        return self._lengths(on_host), self._lengths(on_devices)

    def _lengths(self, lengths: ArrayLike) -> Rows:
        each = np.asarray(lengths, np.int64)
        return each.sum(keepdims=True) if self._is_run else each

    def _edited(self, edits: Sequence[Edit], end: int) -> Graph:
        """Return the graph after the edits; if two save the same time, the larger saving counts."""
        graph = self._graph
        if end:
            edits = [edit.at_worst or edit for edit in edits]
        gap_ns, length_ns = graph.gap_ns.copy(), graph.length_ns.copy()
        work_ns, waits = graph.work_length_ns.copy(), graph.waits_for.copy()
        turn_ns = graph.turn_ns.copy()
        edits = sorted(edits, key=lambda each: each.left[end])
        for edit, saved in zip(edits, self._host_saved.of(edits), strict=True):
            left = edit.left[end]
            call_left = np.ones(len(length_ns))
            for nodes, gap_saved, length_saved in saved:
                gap_ns[nodes] -= ((1 - left) * gap_saved).astype(np.int64)
                length_ns[nodes] -= ((1 - left) * length_saved).astype(np.int64)
                of_call = length_saved / np.maximum(graph.length_ns[nodes], 1)
                call_left[nodes] = 1 - (1 - left) * np.minimum(of_call, 1)
            work = self._work_of_row[np.asarray(edit.work, np.int64)]
            known, work = work >= 0, work[work >= 0]
            took = graph.work_length_ns[work]
            gone = took if edit.work_saved_ns is None else edit.work_saved_ns[known]
            part = (edit.work_left or edit.left)[end]
            shorter = took - gone + (part * gone).astype(np.int64)
            work_ns[work] = np.minimum(work_ns[work], shorter)
            # A kernel that is launched no more takes no turn of its stream.
            turn = (call_left[graph.launcher[work]] * graph.turn_ns[work]).astype(np.int64)
            turn_ns[work] = np.minimum(turn_ns[work], turn)
            waits[self._known(self._node_of_row, edit.waits)] = -1
        return replace(
            graph,
            gap_ns=gap_ns,
            length_ns=length_ns,
            work_length_ns=work_ns,
            turn_ns=turn_ns,
            waits_for=waits,
        )

    @staticmethod
    def _known(number_of_row: NDArray[np.int32], rows: Sequence[int] | Rows) -> NDArray[np.int32]:
        numbers = number_of_row[np.asarray(rows, np.int64)]
        return numbers[numbers >= 0]


def _with_host(graph: Graph, part: float) -> Graph:
    """The graph where the host needs this part of its time for what it does."""
    gap_ns, length_ns = ((part * each).astype(np.int64) for each in (graph.gap_ns, graph.length_ns))
    return replace(graph, gap_ns=gap_ns, length_ns=length_ns)


def _are_alike(graph: Graph, other: Graph) -> bool:
    """Tell whether edits have made the same of a graph."""
    pairs = ((getattr(graph, name), getattr(other, name)) for name in _EDITED)
    return all(one is another or np.array_equal(one, another) for one, another in pairs)


def _is_range(edit: Edit) -> bool:
    parts = edit.left, edit.work_left
    return edit.at_worst is not None or any(part and part[0] != part[1] for part in parts)


def _to_nothing(edit: Edit) -> Edit:
    """Return the edit with nothing left of its changes, but for kernels that the fix keeps."""
    kept = edit.work_left if edit.work_left == (1.0, 1.0) else None
    return replace(edit, left=(0.0, 0.0), work_left=kept, at_worst=None)
