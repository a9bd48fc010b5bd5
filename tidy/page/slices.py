"""The slices of a stretch of time, as columns for the page's canvas.

A slice is an event that is drawn: all but allocations. On each track it lies as deep as slices
enclose it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..account import Accountant, Stretches, kernels_of_collectives
from ..account.causes import CAUSE_OF, Cause, cause_text
from ..account.device_work import KINDS as WORK_KINDS
from ..account.host_kinds import HOST_KINDS
from ..trace import EventKind, Location, Rows, Trace, printable
from .columns import packed
from .labels import COLLECTIVE, KINDS, MERGED, SliceKind, device_name, track_names
from .memory import step_memory_to_json
from .row_links import forward_rows, frames_with_places
from .steps import ShownStep

MOST_SLICES = 200_000
_NOT_DRAWN = (EventKind.Allocation, EventKind.OutOfMemory)
_LONGEST_NAME = 400  # characters
_LONGEST_INPUTS = 300
_DELTAS = frozenset({"start_ns", "track"})


class StepSlices:
    """The slices of one shown step.

    Attributes:
        rows: the row of the trace that each slice shows, by track and start; shape (n,). Of merged
            slices it is the first.
    """

    def __init__(self, trace: Trace, step: ShownStep, most: int = MOST_SLICES) -> None:
        self._trace, self._step = trace, step
        rows = self._rows_in_range()
        self.rows, self._depth = _by_depth(trace, rows)
        self._end_ns = trace.end_ns[self.rows]
        self._shown = self.rows  # each that a slice shows, in the order of slices
        self._count = np.ones(len(self.rows), np.int64)
        if len(self.rows) > most:
            self._merge(most)

    def _rows_in_range(self) -> Rows:
        trace, step = self._trace, self._step
        drawn = (trace.start_ns < step.end_ns) & (trace.end_ns > step.start_ns)
        drawn |= (trace.start_ns >= step.start_ns) & (trace.start_ns < step.end_ns)
        drawn &= ~np.isin(trace.kind, _NOT_DRAWN)
        return np.flatnonzero(drawn)

    def _merge(self, most: int) -> None:
        """Let one slice stand for neighbours that are short; the longest stay as they are."""
        trace, rows = self._trace, self.rows
        duration = self._end_ns - trace.start_ns[rows]
        kept = most // 2
        is_kept = np.zeros(len(rows), bool)
        is_kept[np.argpartition(duration, len(rows) - kept)[len(rows) - kept :]] = True
        short_ns = int(duration[is_kept].min())
        order = np.lexsort((trace.start_ns[rows], self._depth, trace.track_id[rows]))
        rows, depth, end = rows[order], self._depth[order], self._end_ns[order]
        is_short = ~is_kept[order]
        gap = np.append(0, trace.start_ns[rows][1:] - end[:-1])
        lane = trace.track_id[rows].astype(np.int64) * (int(depth.max(initial=0)) + 1) + depth
        apart_ns = max(short_ns, (self._step.end_ns - self._step.start_ns) // kept)
        begins = ~is_short | (np.diff(lane, prepend=-1) != 0) | (gap > apart_ns)
        begins[1:] |= ~is_short[:-1]
        firsts = np.flatnonzero(begins)
        self._count = np.diff(np.append(firsts, len(rows)))
        self.rows, self._depth, self._shown = rows[firsts], depth[firsts], rows
        self._end_ns = np.maximum.reduceat(end, firsts)

    @cached_property
    def _slice_of_row(self) -> NDArray[np.int32]:
        """The slice that shows each row of the trace, -1 for none; shape (len(trace),)."""
        slices = np.full(len(self._trace), -1, np.int32)
        slices[self._shown] = np.repeat(np.arange(len(self.rows)), self._count)
        return slices

    def slices_of(self, rows: Rows) -> Rows:
        """Return the slices that show these rows, by time; rows that none shows are left out."""
        slices = np.unique(self._slice_of_row[rows]).astype(np.int64)
        slices = slices[slices >= 0]
        order = np.argsort(self._trace.start_ns[self.rows[slices]], kind="stable")
        chosen: Rows = slices[order]
        return chosen

    def spans_ns(self, slice_number: int) -> tuple[int, int]:
        """Return when a slice begins and ends."""
        start_ns = self._trace.start_ns[self.rows[slice_number]]
        return int(start_ns), int(self._end_ns[slice_number])

    def to_json(self, accountant: Accountant) -> dict[str, Any]:
        """Return the slices, with tables of the names, places and inputs that their columns point
        into.

        Args:
            accountant: that of the trace, which knows what the host does while devices idle.
        """
        trace, rows = self._trace, self.rows
        names, name = _table(trace.name_id[rows], self._name)
        inputs, inputs_id = _table(trace.inputs_id[rows], self._inputs)
        places, place = self._places()
        tracks, track = _numbered(trace.track_id[rows])
        first = np.searchsorted(track, np.arange(len(tracks)))
        kinds, kind = self._kinds()
        works, work = self._works(accountant)
        columns = {
            "start_ns": trace.start_ns[rows] - self._step.start_ns,
            "duration_ns": self._end_ns - trace.start_ns[rows],
            "track": track,
            "depth": self._depth,
            "name": name,
            "kind": kind,
            "work": work,
            "place": place,
            "inputs": inputs_id,
            "caller": self._linked(trace.caller[rows]),
            "forward": self._linked(forward_rows(trace)[rows]),
            "count": self._count,
        }
        return {
            "label": self._step.label,
            "step": self._step.number,
            "why": self._step.why,
            "start_ns": self._step.start_ns,
            "duration_ns": self._step.end_ns - self._step.start_ns,
            "slices": packed(columns, _DELTAS),
            "tracks": list(map(self._track, tracks.tolist(), rows[first].tolist())),
            "kinds": [each._asdict() for each in kinds],
            "works": works,
            "names": names,
            "inputs": inputs,
            "places": places,
            "causes": self._causes(accountant),
            "memory": step_memory_to_json(trace, self._step.start_ns, self._step.end_ns),
        }

    def _kinds(self) -> tuple[list[SliceKind], NDArray[np.int64]]:
        """The kinds of slices that there are, and which of them each slice has."""
        all_ = [*KINDS.values(), COLLECTIVE, MERGED]
        known = {kind: number for number, kind in enumerate(all_)}
        of_event = np.array([known[KINDS.get(each, KINDS[EventKind.Other])] for each in EventKind])
        code = of_event[self._trace.kind[self.rows]]
        code[np.isin(self.rows, kernels_of_collectives(self._trace))] = known[COLLECTIVE]
        code[self._count > 1] = known[MERGED]
        kinds, kind = _numbered(code)
        return [all_[each] for each in kinds.tolist()], kind

    def _works(self, accountant: Accountant) -> tuple[list[dict[str, Any]], NDArray[np.int64]]:
        """The parts of accounts that slices of devices count to, and which each does, -1 for none.

        One that counts to several, as a collective that waits for other ranks, has the longest.
        """
        known: dict[Cause, int] = {}
        work = np.full(len(self.rows), -1, np.int64)
        for every in accountant.device_pieces():
            pieces = self._in_step(every)
            pieces = pieces.at(np.argsort(pieces.end_ns - pieces.start_ns, kind="stable"))
            kinds, number = _numbered(pieces.kind)
            code = [known.setdefault(CAUSE_OF[WORK_KINDS[k]], len(known)) for k in kinds.tolist()]
            slices = self._slice_of_row[pieces.row]
            is_shown = slices >= 0
            work[slices[is_shown]] = np.array(code, np.int64)[number[is_shown]]
        return [each._asdict() for each in known], work

    def _name(self, name_id: int) -> str:
        return printable(self._trace.names[name_id][:_LONGEST_NAME])

    def _inputs(self, inputs_id: int) -> str:
        if inputs_id < 0:
            return ""
        shapes = str([list(each) for each in self._trace.inputs.shapes(inputs_id)])
        return printable(shapes[:_LONGEST_INPUTS])

    def _places(self) -> tuple[list[str], NDArray[np.int64]]:
        """The user's source of each slice of the host's, and a table of these places."""
        trace, known = self._trace, dict[Location | None, int]({None: 0})
        place = np.zeros(len(self.rows), np.int64)
        if trace.user_places:
            at = np.flatnonzero(trace.device[self.rows] < 0)
            # Rows below one frame have one place: each is looked up once.
            frames, number = _numbered(frames_with_places(trace)[self.rows[at]])
            found = [known.setdefault(trace.location(row), len(known)) for row in frames.tolist()]
            place[at] = np.array(found, np.int64)[number]
        return ["" if each is None else printable(str(each)) for each in known], place

    def _in_step(self, pieces: Stretches) -> Stretches:
        begins_before_end = pieces.start_ns < self._step.end_ns
        return pieces.at(begins_before_end & (pieces.end_ns > self._step.start_ns))

    def _linked(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """The slices of rows, -1 for none, as a distance from the slice that points there."""
        slices = np.where(rows >= 0, self._slice_of_row[rows], -1)
        return np.where(slices >= 0, slices - np.arange(len(rows)), 0)

    def _track(self, track_id: int, row: int) -> dict[str, Any]:
        """What a track is called; `row` is one of its rows."""
        device = int(self._trace.device[row])
        whose, line = track_names(self._trace, track_id, device)
        if device < 0:
            return {"label": line, "device": None}
        return {"label": f"{whose}, {line}", "device": device}

    def _causes(self, accountant: Accountant) -> list[dict[str, Any]]:
        """For each device what the host does while it idles; in a CPU run all that it does."""
        trace = self._trace
        made = []
        for device in trace.devices_used[:8] or (None,):
            pieces = self._in_step(accountant.host_pieces(device))
            kinds, number = _numbered(pieces.kind)
            known: dict[str, int] = {}
            words = (CAUSE_OF[HOST_KINDS[kind]].word for kind in kinds.tolist())
            code = np.array([known.setdefault(word, len(known)) for word in words], np.int64)
            cause = code[number]
            # Neighbours of one cause are one stretch: each event of the thread begins another.
            begins = (np.diff(cause, prepend=-1) != 0) | (
                np.append(0, pieces.end_ns[:-1]) != pieces.start_ns
            )
            firsts = np.flatnonzero(begins)
            starts = pieces.start_ns[firsts]
            columns = {
                "start_ns": starts - self._step.start_ns,
                "duration_ns": pieces.end_ns[np.append(firsts, len(cause))[1:] - 1] - starts,
                "cause": cause[firsts],
            }
            label = "what the host does" if device is None else f"{device_name(trace, device)} idle"
            texts = [{"word": word, "text": cause_text(word, None)} for word in known]
            slices = packed(columns, frozenset({"start_ns"}))
            made.append({"label": label, "device": device, "slices": slices, "causes": texts})
        return made


def _by_depth(trace: Trace, rows: Rows) -> tuple[Rows, NDArray[np.int64]]:
    """Sort rows by track and start, and tell how many of the same track enclose each."""
    order = np.lexsort((-trace.end_ns[rows], trace.start_ns[rows], trace.track_id[rows]))
    rows = rows[order]
    start, end, track = trace.start_ns[rows], trace.end_ns[rows], trace.track_id[rows]
    bounds = [0, *(np.flatnonzero(np.diff(track)) + 1).tolist(), len(rows)]
    own = (slice(*each) for each in pairwise(bounds))
    depth = [_depth_on_track(start[each], end[each]) for each in own]
    return rows, np.concatenate([np.empty(0, np.int64), *depth])


def _depth_on_track(start: Rows, end: Rows) -> NDArray[np.int64]:
    """How many slices enclose each, of one track by start."""
    is_long = end > start
    closed = np.searchsorted(np.sort(end[is_long]), start, side="right")
    shorts: Rows = np.cumsum(~is_long) - ~is_long  # those before have ended where they began
    depth: NDArray[np.int64] = np.arange(len(start)) - closed - shorts
    # Slices that overlap and are not within each other may be open at once on one line.
    is_small = int(depth.max(initial=0)) < 1 << 15  # numbers of 16 bits are sorted in one pass
    lines = np.argsort(depth.astype(np.int16) if is_small else depth, kind="stable")
    meets = (np.diff(depth[lines]) == 0) & (start[lines][1:] < end[lines][:-1])
    outermost = np.append(np.flatnonzero(depth == 0), len(start))
    for at in np.unique(np.searchsorted(outermost, lines[1:][meets], side="right")).tolist():
        own = slice(outermost[at - 1], outermost[at])
        depth[own] = _stacked(start[own].tolist(), end[own].tolist())
    return depth


def _stacked(starts_ns: Sequence[int], ends_ns: Sequence[int]) -> list[int]:
    """The line of each slice of a track, one below those that have not ended."""
    depth, stack = list[int](), list[int]()
    for begins, ends in zip(starts_ns, ends_ns, strict=True):
        while stack and stack[-1] <= begins:
            stack.pop()
        depth.append(len(stack))
        stack.append(ends)
    return depth


def _table(ids: NDArray[Any], text: Callable[[int], str]) -> tuple[list[str], NDArray[np.int64]]:
    """The texts of ids, each once, and which of them each id has."""
    known, number = _numbered(ids)
    return [text(each) for each in known.tolist()], number


def _numbered(ids: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The ids that occur, ascending, and the number of each among them: np.unique without a sort.

    Args:
        ids: small integers from -1 on.
    """
    occurs = np.bincount(ids + 1) > 0 if len(ids) else np.zeros(0, bool)
    numbers = np.cumsum(occurs) - 1
    return np.flatnonzero(occurs) - 1, numbers[ids + 1]


def matches_to_json(timelines: Iterable[StepSlices], rows: Rows) -> Mapping[str, Any]:
    """Find where the matches of a finding are: the slices in each of these timelines."""
    slices = [timeline.slices_of(rows) for timeline in timelines]
    return {
        "counts": [len(each) for each in slices],
        "slices": packed(
            {"slice": np.concatenate([np.empty(0, np.int64), *slices])}, frozenset({"slice"})
        ),
    }
