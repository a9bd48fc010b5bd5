"""The files of a recording, in a temporary folder that the parent made.

    piece-0.now           how the piece stands: "recording", "writing", or why it cannot be written
    piece-0.trace.json    of PyTorch: what its profiler exported
    piece-0.piece         of tidy.runtime: see tidy/profiler/piece.py
    piece-0.lines         int64 triples (time_ns, code, line) by thread; see lines.py
    piece-0.json          facts: when, which steps, code objects; written last: the piece is whole
    state.json            how the recording stands
    problem               why there is no more of it, where state.json cannot say so; see notes.py

A step is a moment here, the end of an optimizer's step.
"""

from __future__ import annotations

import sys
from _json import encode_basestring_ascii as _text
from _json import make_encoder

from .kept import os
from .notes import PROBLEM, leave_note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FRAMEWORKS = {"torch": "torch", "tidy.runtime": "runtime"}  # their modules, and what they go by


class PieceWriter:
    """Writes the pieces of one process, and as `state.json` its `state`.

    Args:
        children_before_ms: the processor time of child processes that does not count.
    """

    def __init__(self, folder: str, framework: str, children_before_ms: int = 0) -> None:
        self._children_before_ms = children_before_ms
        self.state: dict[str, Any] = {
            "framework": framework,
            "script": (sys.argv or [""])[0],
            "pid": os.getpid(),
        }
        self._folder = folder
        self._number = -1
        if not os.path.isdir(folder):  # that of a rank
            os.mkdir(folder)
        self.write_state()

    @property
    def _start(self) -> str:
        return f"{self._folder}{os.sep}piece-{self._number}"

    def begin(self) -> None:
        """From now on the next piece is recorded."""
        self._number += 1
        self.say("recording")

    def say(self, how_it_stands: str) -> None:
        """Say how the piece stands, for a process that dies before it is written."""
        try:
            with open(f"{self._start}.now", "w", encoding="utf-8") as file:
                file.write(how_it_stands)
        except OSError:
            return

    def write(self, backend: Any, facts: dict[str, Any], lines: Any) -> int:
        """Write the piece; about the size of its trace in bytes.

        Raises:
            OSError: there is no room for it; the piece is then incomplete.
        """
        start = self._start
        nbytes: int = backend.save(start + backend.suffix)
        if lines is not None:
            facts["codes"], facts["threads"] = lines.codes, lines.threads
            facts["collections"] = lines.collections
            with open(f"{start}.lines", "wb") as file:
                file.writelines(lines.parts)
        write_json(f"{start}.json", facts)
        return nbytes

    def write_state(self, **more: Any) -> None:
        """Say how the recording stands, or leave a note of a problem where that has no room."""
        self.state.update(more)
        self.state["children_ms"] = children_ms() - self._children_before_ms
        for module, framework in FRAMEWORKS.items():
            is_there = getattr(sys.modules.get(module), "__name__", "") == module
            if is_there and framework != self.state["framework"]:
                self.state["also_imported"] = framework
        try:
            write_json(f"{self._folder}{os.sep}state.json", self.state)
        except OSError:
            if "problem" in self.state:
                leave_note(self._folder, PROBLEM, self.state["problem"])


def children_ms() -> int:
    """Return the processor time in ms of processes that this one started and waited for."""
    times = os.times()
    return int(1000 * (times.children_user + times.children_system))


def write_json(path: str, value: Any) -> None:
    """Write a file of plain data, whole or not at all."""
    with open(f"{path}.part", "w", encoding="ascii") as file:
        file.write("".join(_json_parts(value, 0)))
    os.replace(f"{path}.part", path)


def _refuse(value: Any) -> None:
    raise TypeError(f"no JSON of {type(value).__name__}")


# As `json` makes it. That is not imported: a script may have a json.py of its own.
_json_parts = make_encoder(None, _refuse, _text, None, ": ", ", ", False, False, True)
