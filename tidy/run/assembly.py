"""From the pieces of a recording to one trace.

The pieces are put one after the other: what went by between two of them is left out. Numbers that
start anew in each piece (External id, correlation, Ev Idx, flows) are moved apart, and the
optimizer's steps become `ProfilerStep#N`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..profiler.calls import shown_path
from ..profiler.kineto import SPAN, SPAN_TRACK, base_of, events_of
from ..profiler.piece import DevicePart, Piece
from ..profiler.piece_rows import append_piece
from ..profiler.processors import HEADER, machine_facts, own_cpus, usable_cpus
from ..profiler.worker_ranges import append_worker_ranges, worker_header
from ..readers.container import Progress
from ..readers.refine import refine
from ..retiming.batch_times import as_in_light_steps, fetched
from ..retiming.light import LightSteps
from ..retiming.time_map import TimeMap, time_map
from ..runtime.observe.worker_batches import WorkerBatch
from ..trace import Trace, TraceInfo, build_trace
from ..trace.info import CUT_MODULES
from ..trace.intervals import Intervals
from ..trace.kinds import EventKind
from ..trace.made_places import header_of as made_header
from ..trace.raw_columns import Column, RawColumns, Track
from ..trace.worker_functions import WorkerFunctions
from .kineto_pieces import KinetoPieces
from .recording import Json
from .worker_batches import PieceTimes

# What was open at a cut ends there, and begins anew with the next piece. Were both at one moment,
# the tree would take the second to be in the first.
_APART_NS = 100
OWN_MARK = "ProfilerStep of the script"
_STEP_NAME = re.compile(r"ProfilerStep#\d+")


class RuntimePieces:
    """The pieces of tidy's own profiler, one at a time, as `KinetoPieces` has PyTorch's.

    Attributes:
        header: what the piece says beside its events.
        base_ns: what times in a file that begins with the piece count from.
        op_count: ops in the piece.
        has_device_work: whether anything ran on a modelled device.
        device_end_ns: 0, since no cut waits for modelled devices.
        worker_batches: what worker processes made that was received meanwhile.
        modules: the identity of each module that was called so far, by `Linear_0`.
    """

    def __init__(self) -> None:
        self._first = self._next = self.device_end_ns = 0
        self._named: set[object] = set()

    @staticmethod
    def shown_path(file: str) -> str:
        """Return a file of the user as locations have it."""
        return shown_path(file, Path.cwd())

    def read(self, path: Path, facts: Json, progress: Progress | None) -> None:
        """Read the next piece. Raises OSError or msgspec.DecodeError where it is not whole."""
        self._piece = piece = Piece.read(path)
        piece.end_ns = facts["cut_ns"]
        for each in piece.events:  # what was open then
            each.end_ns = max(each.start_ns, min(each.end_ns, piece.end_ns))
        # They may have begun in an earlier piece: the assembly knows where that is.
        self.worker_batches, self._piece.worker_batches = self._piece.worker_batches, []
        self.modules = self._piece.modules
        if progress is not None:
            progress(path.stat().st_size)
        self.base_ns = base_of(self._piece.start_ns)
        self.header = {"schemaVersion": 1, **self._piece.header}
        self.op_count = sum(each.kind == EventKind.TorchOp for each in self._piece.events)
        self.has_device_work = bool(self._piece.device.work)

    def append(self, raw: RawColumns, facts: Json, later_ns: int) -> None:
        """Append the rows of the piece; `later_ns` is added to all times."""
        self._first, self._next = self._next, self._next + self._piece.number_count
        piece, self._raw = self._piece, raw
        append_piece(raw, piece, later_ns, self._first)
        start_ns, end_ns = piece.start_ns + later_ns, piece.end_ns + later_ns
        _append_range(raw, EventKind.Other, SPAN, SPAN_TRACK, start_ns, end_ns)  # its last text

    def texts(self, base_ns: int, later_ns: int, times: TimeMap | None) -> Iterator[bytes]:
        """Return its events as they stand in the file, once they alone are appended."""
        piece = self._piece
        if times is not None:
            table, _ = self._raw.join()
            times.change(table, self._raw.strings)
            piece, later_ns = _with_times_of(table, piece), 0
        return events_of(piece, base_ns - later_ns, self._first, self._named)


def _with_times_of(table: dict[str, Column], piece: Piece) -> Piece:
    """The piece with the times of its rows, which stand in the order of `append`."""
    starts, lengths = iter(table["start_ns"].tolist()), iter(table["duration_ns"].tolist())

    def spans(events: Sequence[Any]) -> list[Any]:
        return [
            _replaced(each, start_ns=start_ns, end_ns=start_ns + length_ns)
            for each, start_ns, length_ns in zip(events, starts, lengths, strict=False)
        ]

    def changes(events: Sequence[Any]) -> list[Any]:
        times = zip(events, starts, lengths, strict=False)
        return [each._replace(time_ns=time_ns) for each, time_ns, _ in times]

    events, device = spans(piece.events), piece.device
    calls, work, shadows = spans(device.calls), spans(device.work), spans(device.shadows)
    memory = changes(piece.memory)
    device = DevicePart(calls, work, device.external_ids, shadows)
    whole: Piece = spans([piece])[0]
    return msgspec.structs.replace(whole, events=events, memory=memory, device=device)


def _replaced(event: Any, **changed: int) -> Any:
    if isinstance(event, tuple):
        return event._replace(**changed)  # type: ignore[attr-defined]
    return msgspec.structs.replace(event, **changed)


class Assembly:
    """Takes the pieces of one recording in order.

    Attributes:
        op_count, has_modelled_work, worker_batches: those of all pieces.
        worker_functions: what workers were seen at, by process.
        steps: number, start and end of each step after the warm-up.
        ends_ns: the ends of steps in each piece.
        step_count: how many steps ended in all pieces, those of the warm-up among them.
        base_ns: what times in a file count from.
        main: where the steps are.
        recorded_ns: how long all pieces are.
        queued_ns, beside_ns: how long threads waited for a processor meanwhile, all threads
            together, and how long those had one that the script runs beside the one of its steps.
        idle_ns: how long the processors that the script may use had nothing to do meanwhile,
            together; None if it is not known of each piece.
    """

    def __init__(self, warmup: int) -> None:
        self.op_count = self.step_count = self.base_ns = 0
        self.recorded_ns = self.queued_ns = self.beside_ns = 0
        self.idle_ns: int | None = 0
        self.has_modelled_work = False
        self.steps: list[tuple[int, int, int]] = []
        self.ends_ns: list[list[int]] = []
        self.header: Json = {}
        self.main: Track | None = None
        self.worker_batches: list[WorkerBatch] = []
        self.worker_functions: dict[int, WorkerFunctions] = {}
        self._piece_times = PieceTimes()
        self._cut_modules_ns: list[int] = []  # cuts within a call of a module
        self._queued: list[tuple[int, int, int]] = []  # start and end of pieces, and queued_ns
        self._stopped: list[tuple[int, int]] = []  # when the profiler waited for devices
        self._batches: list[WorkerBatch] | None = None
        self.raw = RawColumns()
        self.strings = self.raw.strings
        self._warmup = warmup
        self._last_step_ns = 0
        self._cut_ns = 0
        self._next_number = 0
        self.left_out_ns = 0  # between pieces, up to the last one

    def add(self, pieces: RuntimePieces | KinetoPieces, facts: Json) -> None:
        """Take the piece that was read last."""
        if self.main is not None:
            self.left_out_ns += facts["start_ns"] - self._cut_ns - _APART_NS
        else:
            self.base_ns = pieces.base_ns
        self.main = Track(facts["pid"], facts["thread"])
        # PyTorch's profiler waits for the devices when it stops. The step that ends here ends as
        # its host does all the same: how long the devices take for it is told by their work.
        done_ns = self._cut_ns = max(facts["cut_ns"], pieces.device_end_ns)
        # What earlier pieces said stays, but a script may set up its devices in a later one.
        devices = pieces.header if pieces.header.get("tidy_modelled_device") else {}
        self.header = {**pieces.header, **self.header, **devices}
        for key, value in (facts.get("header") or {}).items():
            known = self.header.get(key)
            # What the profiler wrote itself, or an earlier piece, may say more.
            self.header[key] = {**value, **known} if isinstance(known, dict) else value
        later_ns, queued_ns = -self.left_out_ns, facts.get("queued_ns", 0)
        pieces.append(self.raw, facts, later_ns)
        self.header |= made_header(facts, pieces.shown_path, pieces.modules)
        self.op_count += pieces.op_count
        self.recorded_ns += facts["cut_ns"] - facts["start_ns"]
        self.queued_ns += queued_ns
        self._queued.append((facts["start_ns"] + later_ns, facts["cut_ns"] + later_ns, queued_ns))
        self._stopped.append((facts["cut_ns"] + later_ns, done_ns + later_ns))
        self.beside_ns += facts.get("beside_ns", 0)
        if self.idle_ns is not None:
            idle_ns = facts.get("idle_ns")
            self.idle_ns = None if idle_ns is None else self.idle_ns + idle_ns
        if facts.get("in_module"):
            self._cut_modules_ns.append(facts["cut_ns"] + later_ns)
        self.has_modelled_work |= isinstance(pieces, RuntimePieces) and pieces.has_device_work
        self.worker_batches += pieces.worker_batches
        self._piece_times.add(facts["start_ns"], done_ns, later_ns)
        ends: list[int] = list(facts["steps_ns"])
        if facts.get("steps_anew"):
            self.step_count = 0
            self.steps.clear()
            self.ends_ns.clear()
        self.step_count += len(ends)
        self.steps += self._steps(facts, ends)
        # What warms up in the first step of all has done so for a later piece.
        starts = [facts["start_ns"]] if self.ends_ns and facts["began_at_step"] else []
        self.ends_ns.append([moment + later_ns for moment in starts + ends])

    def _steps(self, facts: Json, ends: list[int]) -> Iterator[tuple[int, int, int]]:
        """Each step reaches from the end of the one before, or from a recording begun there.

        One that began in a piece that is lost is left out.
        """
        start_ns = facts["start_ns"] - self.left_out_ns
        is_known = facts["number"] == self._next_number or facts["began_at_step"]
        self._next_number = facts["number"] + 1
        if facts["began_at_step"] or not self._last_step_ns:
            self._last_step_ns = start_ns
        for number, moment_ns in enumerate(ends, facts["steps_before"]):
            begin_ns, end_ns = self._last_step_ns, moment_ns - self.left_out_ns
            self._last_step_ns = max(end_ns, start_ns)
            if number >= self._warmup and end_ns > start_ns and is_known:
                yield number, begin_ns, end_ns
            is_known = True

    def waited_ns(self) -> NDArray[np.int64]:
        """Return how long threads waited for a processor in the pieces that each step is in."""
        begun, cut, queued = np.array(self._queued, np.int64).reshape(-1, 3).T
        starts, ends = np.array([each[1:] for each in self.steps], np.int64).reshape(-1, 2).T
        upto = np.append(0, np.cumsum(queued))
        first, last = np.searchsorted(cut, starts, "right"), np.searchsorted(begun, ends)
        waited: NDArray[np.int64] = upto[last] - upto[first]
        return waited

    def retime(self, light: LightSteps, recorded: Assembly) -> TimeMap | None:
        """Give the steps the times of lightly recorded ones, of the pieces `recorded`.

        None where those are too unlike.
        """
        refine(self.raw)
        table, flows = self.raw.join()
        bounds = [(start, end) for _, start, end in self.steps]
        stopped = Intervals(*np.array(self._stopped, np.int64).T)
        stopped_ns = stopped.covered_ns(*np.array(bounds, np.int64).reshape(-1, 2).T)
        waited_ns = self.waited_ns()
        times = time_map(table, flows, self.strings, bounds, light, waited_ns, stopped_ns)
        if times is None:
            return None
        every = {*self.worker_batches, *recorded.worker_batches}
        if every:
            full, there = (
                fetched(table, strings, steps, times.main, each.moved(every), each.span_ns)
                for table, strings, steps, each in (
                    (table, self.strings, bounds, self._piece_times),
                    (light.table, light.strings, light.recorded, recorded._piece_times),
                )
            )
            self._batches = as_in_light_steps(full, there, times)
        times.change(table, self.strings)
        for number, place in enumerate(self.strings.tracks):
            drawn = np.flatnonzero(flows["track_id"] == number)
            flows["time_ns"][drawn] = times.of(Track(*place), flows["time_ns"][drawn])
        self.steps = [
            (number, *bounds)
            for (number, _, _), bounds in zip(self.steps, times.steps, strict=True)
        ]
        return times

    def rename_own_marks(self) -> None:
        """Rename the `ProfilerStep#N` that the script made, which would count as steps, too.

        All get one name, so that those of full and of light steps are paired.
        """
        marks = [name for name in self.strings.names if _STEP_NAME.fullmatch(name)]
        if marks:
            self.raw.rename(marks, OWN_MARK)

    def finish(self, title: str, more: Json, warnings: list[str]) -> Trace:
        """Return the trace, with `more` keys beside the events."""
        times = {"displayTimeUnit": "ms", "baseTimeNanoseconds": self.base_ns}
        batches = self.shown_batches()
        workers = worker_header(batches, self.worker_functions)
        if self._cut_modules_ns and not self.steps:
            more = {CUT_MODULES: self._cut_modules_ns, **more}
        self.header = {**self.header, **times, **workers, **more}
        if HEADER in self.header:
            self.header[HEADER] = {**machine_facts(), **self.header[HEADER], **self._idle()}
        if self.main is not None:
            append_worker_ranges(self.raw, int(self.main.pid), batches)
        for number, start_ns, end_ns in self.steps:
            name = step_name(number)
            _append_range(self.raw, EventKind.Annotation, name, self.main, start_ns, end_ns)
        refine(self.raw)
        return build_trace(self.raw, TraceInfo(title, self.header, warnings))

    def _idle(self) -> Json:
        """Return how many processors had nothing to do on average, if that is known.

        Of a container that may use a part of their time it is not.
        """
        if self.idle_ns is None or not self.recorded_ns or usable_cpus() < own_cpus():
            return {}
        return {"idle": round(self.idle_ns / self.recorded_ns, 2)}

    def shown_batches(self) -> list[WorkerBatch]:
        """Return the batches of workers where the trace has them."""
        if self._batches is not None:
            return self._batches
        return self._piece_times.moved(self._piece_times.within(self.worker_batches))


def _append_range(
    raw: RawColumns, kind: EventKind, name: str, track: Track | None, start_ns: int, end_ns: int
) -> None:
    names, tracks = raw.strings.names, raw.strings.tracks
    times = {"start_ns": start_ns, "duration_ns": end_ns - start_ns}
    raw.append(1, name_id=names[name], kind=kind, track_id=tracks[track], **times)


def step_name(number: int) -> str:
    return f"ProfilerStep#{number}"
