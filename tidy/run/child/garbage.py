"""Calls of `gc.collect()`: what PyTorch's profiler shows with Python stacks alone.

What Python collects by itself is left out: it begins when more objects were made than a threshold
says, and recording makes some. Nothing of ours is called in it either. It may come anywhere, also
at the limit of recursion, and Python would print that ours cannot be called there.
"""

from __future__ import annotations

import gc

from .kept import thread, time
from .patches import Patches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ManualCollections:
    """Notes those from `start` to `stop`, of all threads."""

    def __init__(self) -> None:
        self._found: list[tuple[int, int, int]] = []
        self._patches = Patches()
        self._begun_ns, self._is_on = 0, False  # there is one at a time

    def start(self) -> None:
        self._is_on = True
        self._patches.call_first(gc, "collect", self._expect)

    def stop(self) -> None:
        self._is_on = False  # somebody may have kept what stood for it
        self._patches.undo()
        self._end()  # it may be in one

    def taken(self) -> list[tuple[int, int, int]]:
        """Those since the last time: the system's number of the thread, start and end."""
        found, self._found = self._found, []
        return found

    def _expect(self, _: object) -> None:
        self._end()
        if self._is_on:
            gc.callbacks.append(self._passes)

    def _passes(self, phase: str, _: dict[str, Any]) -> None:
        if phase == "start":
            self._begun_ns = time.time_ns()
        else:
            self._end()

    def _end(self) -> None:
        """The callback that goes is the last one: no other one is left out for it."""
        if self._begun_ns:
            self._found.append((thread.get_native_id(), self._begun_ns, time.time_ns()))
        self._begun_ns = 0
        if self._passes in gc.callbacks:
            gc.callbacks.remove(self._passes)
