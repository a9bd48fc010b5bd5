"""The files of a recording, in a temporary folder that the parent made.

    piece-0.trace.json    what the profiler exported
    piece-0.lines         int64 triples (time_ns, code, line) by thread; see lines.py
    piece-0.json          facts: when, which steps, code objects; written last: the piece is whole
    state.json            how the recording stands

A step is a moment here, the end of an optimizer's step.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any


class PieceWriter:
    """Writes the pieces of one process.

    Attributes:
        state: what `state.json` says.
        first_step: number of steps in the pieces written.
    """

    def __init__(self, folder: str, framework: str) -> None:
        self.state: dict[str, Any] = {"framework": framework, "script": sys.argv[0]}
        self.first_step = 0
        self._folder = folder
        self._count = 0
        os.makedirs(folder, exist_ok=True)
        self.write_state()

    def write(self, save: Callable[[str], None], facts: dict[str, Any], lines: Any) -> int:
        """Write one piece; the size of its trace in bytes.

        Raises:
            OSError: there is no room for it; the piece is then incomplete.
        """
        start = os.path.join(self._folder, f"piece-{self._count}")
        self._count += 1
        save(f"{start}.trace.json")
        if lines is not None:
            facts["codes"], facts["threads"] = lines.codes, lines.threads
            with open(f"{start}.lines", "wb") as file:
                file.writelines(lines.parts)
        _write_json(f"{start}.json", facts)
        return os.path.getsize(f"{start}.trace.json")

    def write_state(self, **more: Any) -> None:
        """Say how the recording stands; where that cannot be written, what was said stays."""
        self.state.update(more)
        try:
            _write_json(os.path.join(self._folder, "state.json"), self.state)
        except OSError:
            return


def _write_json(path: str, value: Any) -> None:
    import json

    with open(f"{path}.part", "w", encoding="utf-8") as file:
        json.dump(value, file)
    os.replace(f"{path}.part", path)
