"""What a recorded process left behind: whole pieces, and how far it came."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..readers.container import read_blocks
from ..readers.header import read_header
from ..readers.pieces import EventText

Json = dict[str, Any]
Triples = NDArray[np.int64]  # shape (n, 3): time_ns, code, line


@dataclass(frozen=True)
class Piece:
    """One piece of a recording.

    Attributes:
        events: as decoded.
        header: the keys beside them.
        facts: what the recorder says of it.
        logs: native thread id -> line log.
    """

    events: list[Json]
    header: Json
    facts: Json
    logs: dict[int, Triples]


@dataclass
class Recording:
    """All of one process.

    Attributes:
        state: what the recorder said last.
        lost: number of pieces that are incomplete.
    """

    folder: Path
    state: Json
    lost: int = 0
    _decode: Any = field(default_factory=lambda: msgspec.json.Decoder(list[Json]).decode)

    @property
    def problem(self) -> str | None:
        """Why the recording ended early, as one line."""
        found = self.state.get("problem")
        return None if found is None else str(found)

    @property
    def framework(self) -> str:
        return str(self.state["framework"])

    def pieces(self) -> Iterator[Piece]:
        """The whole pieces in order; `lost` counts the others on the way."""
        self.lost = int(self.state.get("lost", 0))
        begun = {_number(path) for path in self.folder.glob("piece-*")}
        for number in sorted(begun):
            path = self.folder / f"piece-{number}.trace.json"
            facts = _read_json(self.folder / f"piece-{number}.json")
            piece = self._read(path, facts) if facts is not None else None
            if piece is None:
                self.lost += 1
            else:
                yield piece

    def _read(self, path: Path, facts: Json) -> Piece | None:
        repairs, warnings = Counter[str](), list[str]()
        try:
            with path.open("rb") as file:
                blocks = read_blocks(file, str(path), warnings.append)
                text = EventText(blocks, self._events, repairs)
                events = [event for some in text for event in some]
            logs = _read_logs(path.with_name(path.name.replace(".trace.json", ".lines")), facts)
        except (OSError, ValueError):
            return None
        if not text.found_events or text.tail is None:
            return None
        return Piece(events, read_header(text.head, text.tail, warnings), facts, logs)

    def _events(self, text: bytes | memoryview) -> list[Json]:
        found: list[Json] = self._decode(b"[" + bytes(text).strip(b" \t\r\n,") + b"]")
        return found

    def slowdown(self, recorded_ns: list[int]) -> tuple[float, int, int] | None:
        """How many times longer a step took while it was recorded: (ratio, steps, steps after).

        None where fewer than three steps came after the recording.

        Args:
            recorded_ns: duration of each recorded step.
        """
        after = np.diff(self.state.get("after_ns", []))
        if len(after) < 3 or not recorded_ns:
            return None
        ratio = statistics.median(recorded_ns) / max(1.0, float(np.median(after)))
        return ratio, len(recorded_ns), len(after)


def find_recordings(folder: Path) -> list[Recording]:
    """The recordings in a folder: one, or one a rank, by rank."""
    ranks = sorted(folder.glob("rank*"), key=lambda path: int(path.name.removeprefix("rank")))
    found = []
    for place in [folder, *ranks]:
        state = _read_json(place / "state.json")
        if state is not None:
            found.append(Recording(place, state))
    return found


def _number(path: Path) -> int:
    return int(path.name.partition(".")[0].removeprefix("piece-"))


def _read_json(path: Path) -> Json | None:
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def _read_logs(path: Path, facts: Json) -> dict[int, Triples]:
    """The line logs of a piece.

    Raises:
        ValueError: the file is shorter than its facts say.
    """
    threads = facts.get("threads") or []
    if not threads:
        return {}
    numbers = np.fromfile(path, np.int64)
    if len(numbers) != 3 * sum(count for _, count in threads):
        raise ValueError(f"{path}: cut short")
    logs, first = dict[int, Triples](), 0
    for thread, count in threads:
        part = numbers[first : first + 3 * count].reshape(-1, 3)
        first += 3 * count
        logs[thread] = np.concatenate([logs[thread], part]) if thread in logs else part
    return logs
