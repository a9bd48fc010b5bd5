"""What a recorded process left behind: whole pieces, and how far it came."""

from __future__ import annotations

import json
import signal
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..report.units import ranges_text
from ..retiming.light import BareStep
from ..trace import count_text
from .child.notes import PROBLEM, read_note
from .child.stages import round_of

Json = dict[str, Any]
Triples = NDArray[np.int64]  # shape (n, 3): time_ns, code, line
NOT_WHOLE = "it could not be written whole"


@dataclass
class Lost:
    """Pieces that are lost for one reason, and the steps that ran in them."""

    count: int = 0
    steps: set[int] = field(default_factory=set)

    def text(self, reason: str) -> str:
        """`1 part of the recording, with steps 3-5, left out: why`."""
        noun = "steps" if len(self.steps) > 1 else "step"
        which = f", with {noun} {ranges_text(self.steps)}," if self.steps else ""
        return f"{count_text(self.count, 'part')} of the recording{which} left out: {reason}"


@dataclass
class Recording:
    """All of one process.

    Attributes:
        state: what the recorder said last.
        round: which of several recordings it is, one after another.
        is_last: whether no other came after it.
        lost: what could not be read or was never written, by reason.
        died: what was being done with the last piece when the process died, "recording" or
            "writing"; None where the recording came to its end.
        step_count: number of steps up to the end of the last piece that was read.
    """

    folder: Path
    state: Json
    round: int = 0
    is_last: bool = True
    lost: dict[str, Lost] = field(default_factory=dict)
    died: str | None = None
    step_count: int = 0

    def end(self, status: int | None) -> str | None:
        """Why the recording ended early, and what that cost, as one line; None where it did not.

        The process ended with `status`, as a shell counts it, or None where that is not known.
        """
        if self.died is None:
            problem: str | None = self.state.get("problem")
            return problem
        try:
            cause = f"the script was ended by {signal.Signals((status or 0) - 128).name}"
        except ValueError:
            cause = "its process was killed or crashed"
        when = " while a part was being written" if self.died == "writing" else ""
        since = f"after step {self.step_count - 1}" if self.step_count else "last"
        return f"{cause}{when}; what ran {since} is lost"

    @property
    def framework(self) -> str:
        return str(self.state["framework"])

    @property
    def files(self) -> list[Path]:
        """Those that hold the events of pieces, in order; some may be cut short, or missing."""
        begun = {_number(path) for path in self.folder.glob("piece-*")}
        suffix = ".trace.json" if self.framework == "torch" else ".piece"
        return [self.folder / f"piece-{number}{suffix}" for number in sorted(begun)]

    def pieces(self) -> Iterator[tuple[Path, Json]]:
        """Return the file of each whole piece, and the facts about it; put the others into
        `lost`.
        """
        missing: list[str] = []
        for path in self.files:
            facts = _read_json(_beside(path, ".json"))
            if facts is None:
                missing.append(_read_text(_beside(path, ".now")))
                continue
            is_mine = round_of(facts["stage"]) == self.round
            if is_mine:
                # A step that began in a lost piece and ends in this one is not whole.
                self._leave_out(missing, facts["steps_before"] + (not facts["began_at_step"]))
            missing.clear()
            self.step_count = facts["steps_before"] + len(facts["steps_ns"])
            if is_mine:
                yield path, {**facts, "number": _number(path)}
        if not self.is_last:
            return
        # A recorder that came to its end has said so. One that died between two pieces was about
        # to record the next.
        if self.files and not {"steps", "problem"} & self.state.keys():
            self.died = missing.pop() if missing else "recording"
        self._leave_out(missing, self.state.get("steps", self.step_count))

    def rounds(self) -> list[Recording]:
        """Return the recordings that were made one after another, of which this one is all."""
        facts = (_read_json(_beside(path, ".json")) for path in self.files)
        numbers = {round_of(each["stage"]) for each in facts if each is not None} or {self.round}
        *others, last = [replace(self, round=number, lost={}) for number in sorted(numbers)]
        of_last = ("problem", "own_profiler")
        state = {key: value for key, value in self.state.items() if key not in of_last}
        return [*(replace(each, state=state, is_last=False) for each in others), last]

    def first_step(self) -> int:
        """Return the number of the step at which it began."""
        pieces = replace(self, lost={}).pieces()
        return min((facts["steps_before"] for _, facts in pieces), default=0)

    def _leave_out(self, missing: list[str], next_step: int) -> None:
        """Pieces were lost between the last one that was read and a step."""
        for how_it_stands in missing:
            # One that was to be recorded when the recording ended has never begun.
            if how_it_stands != "recording":
                reason = NOT_WHOLE if how_it_stands in ("", "writing") else how_it_stands
                self.leave_out(reason, range(self.step_count, next_step))

    def leave_out(self, reason: str, steps: Iterable[int]) -> None:
        """Count a piece that is lost, with the steps that ran in it."""
        lost = self.lost.setdefault(reason, Lost())
        lost.count += 1
        lost.steps.update(steps)

    def bare_steps(self) -> list[BareStep]:
        """Return the steps that were timed with nothing recorded; the first in a row only
        warms up.
        """
        rows, marks = self.state.get("unrecorded_ns", []), self.state.get("landmarks", [])
        found = []
        mine = slice(self.round, self.round + 1)
        for ends, noted in zip(rows[mine], marks[mine], strict=True):
            times = [time for time, _, _ in noted]
            for start, end in pairwise(ends[1:]):
                inside = noted[bisect_left(times, start) : bisect_left(times, end)]
                found.append(BareStep(start, end, tuple((t, n, e) for t, n, e in inside)))
        return found


def find_recordings(folder: Path) -> list[Recording]:
    """Return the recordings in a folder: one, or one a rank, by rank."""
    ranks = sorted(folder.glob("rank*"), key=lambda path: int(path.name.removeprefix("rank")))
    recordings = []
    for place in [folder, *ranks]:
        state = _read_json(place / "state.json")
        if state is not None:
            problem = read_note(str(place), PROBLEM)
            if problem is not None:
                state.setdefault("problem", problem)
            recordings.append(Recording(place, state))
    return recordings


def read_logs(path: Path, facts: Json) -> dict[int, Triples]:
    """Return the line logs of a piece, by native thread id.

    Raises:
        OSError, ValueError: the file cannot be read, or is shorter than the facts say.
    """
    threads = facts.get("threads") or []
    if not threads:
        return {}
    triples = np.fromfile(_beside(path, ".lines"), np.int64).reshape(-1, 3)
    *ends, count = np.cumsum([count for _, count in threads])
    if len(triples) != count:
        raise ValueError(f"{path}: cut short")
    logs: dict[int, list[Triples]] = {}
    for (thread, _), part in zip(threads, np.split(triples, ends), strict=True):
        logs.setdefault(thread, []).append(part)
    return {thread: np.concatenate(parts) for thread, parts in logs.items()}


def _number(path: Path) -> int:
    return int(path.name.split(".")[0].removeprefix("piece-"))


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(f"piece-{_number(path)}{suffix}")


def _read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, ValueError):
        return ""


def _read_json(path: Path) -> Json | None:
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None
