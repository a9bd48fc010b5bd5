"""Calls of `gc.collect()`: what PyTorch's profiler shows with Python stacks alone.

What Python collects by itself is left out. It begins when more objects were made than a threshold
says, and recording makes some.
"""

from __future__ import annotations

from .kept import gc, thread, time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ManualCollections:
    """Notes those from `start` to `stop`, of all threads."""

    def __init__(self) -> None:
        self._found: list[tuple[int, int, int]] = []
        self._begun_ns = 0  # there is one at a time

    def start(self) -> None:
        gc.callbacks.append(self._passes)

    def stop(self) -> None:
        if self._passes in gc.callbacks:
            gc.callbacks.remove(self._passes)

    def taken(self) -> list[tuple[int, int, int]]:
        """Those since the last time: the system's number of the thread, start and end."""
        found, self._found = self._found, []
        return found

    def _passes(self, phase: str, _: dict[str, Any]) -> None:
        if phase == "start":
            by_itself = gc.isenabled() and gc.get_count()[0] > gc.get_threshold()[0]
            self._begun_ns = 0 if by_itself else time.time_ns()
        elif self._begun_ns:
            self._found.append((thread.get_native_id(), self._begun_ns, time.time_ns()))
            self._begun_ns = 0
