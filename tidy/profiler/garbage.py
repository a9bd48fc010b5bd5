"""Calls of `gc.collect()`: when they began and ended, and the line that calls.

What Python collects by itself is left out. It begins when more objects were made than a threshold
says, and recording makes some.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from sys import _getframe as getframe
from time import perf_counter_ns
from typing import Any

from .calls import line_of

COLLECT = "<built-in function collect>"  # as PyTorch's frames name it


class GarbageCollections:
    """Notes those from `start` to `stop` of all threads: start, end, thread, place.

    Args:
        thread_id: the system's number of this thread.
    """

    def __init__(self, thread_id: Callable[[], int]) -> None:
        self.records: list[tuple[int, int, int, Any]] = []
        self._thread_id = thread_id
        self._begun: tuple[int, Any] | None = None  # there is one at a time

    def start(self) -> None:
        gc.callbacks.append(self._passes)

    def stop(self) -> None:
        if self._passes in gc.callbacks:
            gc.callbacks.remove(self._passes)

    def _passes(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            caller = getframe().f_back  # none where Python collects as it ends
            by_itself = gc.isenabled() and gc.get_count()[0] > gc.get_threshold()[0]
            is_asked_for = caller is not None and not by_itself
            self._begun = (perf_counter_ns(), line_of(caller)) if is_asked_for else None
        elif self._begun is not None:
            start, place = self._begun
            self.records.append((start, perf_counter_ns(), self._thread_id(), place))
            self._begun = None
