"""From one recording to a trace with true times, and to its file where one is wanted."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
from msgspec import MsgspecError

from ..profiler.kineto import TraceFile, texts_of
from ..profiler.kineto_device import ranged
from ..profiler.worker_ranges import worker_events
from ..progress import reading
from ..readers.container import Progress
from ..retiming.disturbed import is_disturbed, quickest_of, undisturbed, works_beside
from ..retiming.light import FEWEST_STEPS, light_steps, slow_at_first, typical_ns
from ..retiming.time_map import TimeMap
from ..retiming.unrecorded import as_short_as, is_paced_by_devices, unrecorded
from ..trace import Trace
from ..trace.units import time_text
from .assembly import OWN_MARK, Assembly, RuntimePieces, step_name
from .child.stages import FULL, LIGHT
from .kineto_pieces import KinetoPieces
from .recording import NOT_WHOLE, Json, Recording
from .worker_batches import read_worker_batches
from .worker_lines import read_worker_lines

_OWN_MARK, _RENAMED = re.compile(rb'"name":"ProfilerStep#\d+"'), b'"name":"%s"' % OWN_MARK.encode()
_SLOWER = 1.05  # less is not worth a word
_BUSY = (
    ", since other work of this machine made them longer than recording can, compared to steps with"
    " nothing recorded"
)
_WAITED = "; other work of this machine kept threads of the script waiting"
_DISTURBED = (
    f"{_WAITED}, so that each part of a step is taken to be as long as in the quickest steps"
)
_UNEQUAL = f"{_WAITED}, and no steps are enough alike to tell where"
_SCALED = "; other work of this machine kept it waiting, so that the host's times are scaled"
_IN_FULL = "times are as recorded in full, which makes Python and small operators slower: "
_UNLIKE = (
    f"{_IN_FULL}the steps that were recorded lightly hold other operators, or more or fewer of them"
)
_FEW = (
    f"{_IN_FULL}fewer than {FEWEST_STEPS} steps were recorded lightly (run more steps, or record"
    " fewer with --steps)"
)
_TIMED = "full recording {}{}; times are those of {} lightly recorded steps{}"
_PACED = (
    "times are those of {} lightly recorded steps; the host runs ahead of the GPU, so that light"
    " recording hardly makes the steps longer"
)
_QUICKEST = "; each part of a step is as long as in the quickest steps"


@dataclass
class Assembled:
    """All whole pieces of one recording.

    Attributes:
        full: those that the trace is made of.
        quickest: whether steps are to be as long as the quickest also where nothing disturbed them.
        notes: what has to be said of the times, and of what was left out.
        times: where a recorded time has become another one.
        facts: keys for the header, about the times.
    """

    recording: Recording
    full: Assembly
    light: Assembly
    quickest: bool = False
    notes: list[str] = field(default_factory=list)
    times: TimeMap | None = None
    facts: Json = field(default_factory=dict)

    def give_times(self) -> None:
        """Give the steps the times that they have when little or nothing is recorded."""
        steps = self.recording.bare_steps()
        full_ns = [end - start for _, start, end in self.full.steps]
        bare = [step.end_ns - step.start_ns for step in steps]
        light, main = None, self.light.main
        if full_ns and main is not None and main == self.full.main:
            light = light_steps(self.light.raw, self.light.ends_ns, main)
        self.facts["tidy_recording_slowdown"] = None
        if light is None:
            self._say_as_recorded(full_ns, bare)
            return
        # What recording adds to the host's times is hidden behind devices that are slower.
        is_paced = is_paced_by_devices(light)
        bare_ns = typical_ns(bare) if len(bare) >= FEWEST_STEPS and not is_paced else None
        true = None if bare_ns is None else unrecorded(light, steps)
        is_busy = bare_ns is not None and true is None
        # Beside workers, other ranks and threads of the script's own the quickest steps are those
        # that did not wait for them; beside devices those in which a host that runs ahead waits for
        # nothing.
        of_threads = works_beside(self.light.beside_ns, self.light.recorded_ns)
        disturbed, is_queued = is_busy, False
        if self.light.worker_batches or of_threads or light.communicates:
            disturbed = False
        elif not light.has_device:
            is_queued = is_disturbed(self.light.queued_ns, self.light.recorded_ns)
            disturbed = is_busy or self.quickest or is_queued
            if disturbed:
                light, steps = undisturbed(light), quickest_of(steps)
        is_quickest = light.are_quickest
        holds_waits = disturbed and (is_busy or is_queued) and not (is_quickest or light.has_device)
        if disturbed:
            full_ns = sorted(full_ns)[: max(FEWEST_STEPS, len(full_ns) // 2)]
            bare_ns = bare_ns and typical_ns([step.end_ns - step.start_ns for step in steps])
            true = as_short_as(light, steps) if bare_ns else None
        light_ns = typical_ns(light.lengths_ns)
        if true is None:
            true, bare_ns = light, None
        self.times = self.full.retime(true, self.light)
        if self.times is None:
            self.notes.append(_UNLIKE + (_WAITED if disturbed else ""))
            return
        before_ns = light_ns if bare_ns is None else bare_ns
        by_full, by_light = typical_ns(full_ns) / before_ns, light_ns / before_ns
        has_both = bare_ns is not None and not disturbed
        self.facts |= {
            "tidy_recording_slowdown": round(by_full, 3) if bare_ns else None,
            "tidy_light_slowdown": round(by_light, 3) if has_both else None,
            "tidy_times": "light" if bare_ns is None else "unrecorded",
            "tidy_taken_off_ns": true.taken_off_ns,
            "tidy_timed_steps": len(light.steps),
            "tidy_quickest": is_quickest,
            "tidy_times_hold_waits": holds_waits,
        }
        if is_paced:
            self.notes.append(_PACED.format(len(light.steps)))
            return
        compared = _and_light(by_full, by_light) if has_both else ""
        scaled = f", scaled to those of {len(steps)} steps with nothing recorded"
        if bare_ns is None:
            compared, scaled = " than light recording", _BUSY if is_busy and not disturbed else ""
        said = _TIMED.format(_slower(by_full), compared, len(light.steps), scaled)
        why = _QUICKEST if self.quickest else _DISTURBED
        if not is_quickest:
            why = _SCALED if light.has_device else _UNEQUAL if holds_waits else ""
        self.notes.append(said + (why if disturbed else ""))

    def leave_out_slow(self) -> None:
        """Leave out the first steps where they are slow as no later ones are."""
        lengths = np.array([end - start for _, start, end in self.full.steps], np.int64)
        later = [end - start for ends in self.light.ends_ns for start, end in pairwise(ends)]
        later += [step.end_ns - step.start_ns for step in self.recording.bare_steps()]
        count = slow_at_first(lengths, self.full.waited_ns(), later)
        if not count:
            return
        (first, *_), (last, *_) = self.full.steps[0], self.full.steps[count - 1]
        took, usual = lengths[:count].mean(), np.median(later or lengths[count:])
        self.notes.append(
            f"steps {first}-{last} are left out: as recorded they took {time_text(took)} each, and"
            f" later ones {time_text(usual)}"
        )
        del self.full.steps[:count]

    def _say_as_recorded(self, full_ns: list[int], bare_ns: list[int]) -> None:
        """Say how much longer the steps are than those with nothing recorded, where it is known."""
        if not full_ns:
            return
        if len(bare_ns) < FEWEST_STEPS:
            light_count = sum(len(list(pairwise(ends))) for ends in self.light.ends_ns)
            self.notes += [_FEW] if light_count < FEWEST_STEPS else []
            return
        by_full = typical_ns(full_ns) / typical_ns(bare_ns)
        self.facts["tidy_recording_slowdown"] = round(by_full, 3)
        if by_full >= _SLOWER:
            self.notes.append(
                f"recording {_slower(by_full)} ({len(full_ns)} recorded, {len(bare_ns)} not);"
                " times are as recorded, since no steps that are alike were recorded lightly"
            )

    def trace(self, title: str, more: Json, notes: list[str]) -> Trace:
        """Return the trace, with notes beside those about its times."""
        self.notes = [*notes, *self.notes]
        if self.light.recorded_ns:
            queued = self.light.queued_ns / self.light.recorded_ns
            self.facts["tidy_queued_share"] = round(queued, 3)
        more = {**more, **self.facts, "tidy_notes": self.notes}
        return self.full.finish(title, more, list(self.notes))

    def write(self, file: TraceFile) -> None:
        """Write the file of the trace that was made, from the pieces again."""
        again = Assembly(0)
        pieces = _reader(self.recording, again, Counter(), with_texts=True)
        for name, facts in self.recording.pieces():
            if facts["how"] != FULL or not _read(pieces, name, facts, None):
                continue
            again.add(pieces, facts)
            texts = pieces.texts(self.full.base_ns, -again.left_out_ns, self.times)
            file.add(map(_with_own_mark, texts) if self.full.steps else texts)
            again.raw.clear()
        place, base_ns = self.full.main, self.full.base_ns
        if place is not None:
            workers = worker_events(int(place.pid), self.full.shown_batches())
            steps = (
                ranged("user_annotation", step_name(number), place, (start_ns, end_ns), {})
                for number, start_ns, end_ns in self.full.steps
            )
            file.add(texts_of(chain(workers, steps), base_ns))
        file.end(self.full.header)


def assemble(recording: Recording, warmup: int, quickest: bool = False) -> Assembled:
    """Assemble all whole pieces; a bar shows how far it is."""
    full, light, lost = Assembly(warmup), Assembly(0), Counter[str]()
    kinds = {
        how: (assembly, _reader(recording, assembly, lost, with_texts=False))
        for how, assembly in ((FULL, full), (LIGHT, light))
    }
    with reading([str(path) for path in recording.files], "putting together") as start:
        for path, facts in recording.pieces():
            assembly, pieces = kinds[facts["how"]]
            if _read(pieces, path, facts, start(str(path))):
                assembly.add(pieces, facts)
            elif facts["how"] == FULL:
                first = facts["steps_before"]
                recording.leave_out(NOT_WHOLE, range(first, first + len(facts["steps_ns"])))
    if recording.framework == "torch":
        full.worker_batches = light.worker_batches = read_worker_batches(recording.folder)
    shown_path = kinds[FULL][1].shown_path
    full.worker_functions = read_worker_lines(recording.folder, shown_path)
    if full.steps:  # without an optimizer the script's own marks are its steps
        full.rename_own_marks()
        light.rename_own_marks()
    made = Assembled(recording, full, light, quickest)
    made.leave_out_slow()
    made.give_times()
    made.notes += [f"left out {what}: {count:,}" for what, count in sorted(lost.items())]
    return made


def _reader(
    recording: Recording, assembly: Assembly, lost: Counter[str], *, with_texts: bool
) -> KinetoPieces | RuntimePieces:
    if recording.framework == "torch":
        return KinetoPieces(assembly.strings, with_texts, lost)
    return RuntimePieces()


def _read(
    pieces: KinetoPieces | RuntimePieces, path: Path, facts: Json, progress: Progress | None
) -> bool:
    """Whether the piece is whole."""
    try:
        pieces.read(path, facts, progress)
    except (OSError, ValueError, MsgspecError):
        return False
    return True


def _with_own_mark(event: bytes) -> bytes:
    """The text of an event; of a step that the script marked with the name that its row has."""
    return _OWN_MARK.sub(_RENAMED, event, count=1) if b"ProfilerStep#" in event else event


def _slower(ratio: float) -> str:
    if ratio < _SLOWER:
        return "did not make the steps slower"
    return f"made the steps {ratio:.1f} times slower"


def _and_light(by_full: float, by_light: float) -> str:
    """`, light recording 1.06 times`, behind what `_slower` says of full recording."""
    if by_light < _SLOWER:
        return ", nor did light recording" if by_full < _SLOWER else ", light recording did not"
    made_them = " made them" if by_full < _SLOWER else ""
    return f", light recording{made_them} {by_light:.2f} times" + " slower" * bool(made_them)
