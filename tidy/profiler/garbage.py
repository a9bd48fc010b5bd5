"""Calls of `gc.collect()`: when they began and ended, and the line that calls.

What Python collects by itself is left out: it begins when more objects were made than a threshold
says, and recording makes some. Nothing of ours is called in it either. It may come anywhere, also
at the limit of recursion, and Python would print that ours cannot be called there.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from sys import _getframe as getframe
from time import perf_counter_ns
from traceback import walk_stack
from types import FrameType
from typing import Any

from .calls import line_of

COLLECT = "<built-in function collect>"  # as PyTorch's frames name it


class GarbageCollections:
    """Notes those from `start` to `stop` of all threads: start, end, thread, place."""

    def __init__(self, thread_id: Callable[[], int]) -> None:
        self.records: list[tuple[int, int, int, Any]] = []
        self._thread_id = thread_id
        self._begun: tuple[int, Any] | None = None  # there is one at a time
        self._stopped = False

    def start(self) -> None:
        self._collect = gc.collect = _Collect(gc.collect, self._expect)
        if any(_is_before_one(frame) for frame, _ in walk_stack(getframe())):
            # The recording was cut where one had been asked for and had not begun.
            self._expect()
            self._begun = perf_counter_ns(), line_of(getframe())

    def stop(self) -> None:
        self._stopped = True
        self._collect.first = self._end  # somebody may have kept it
        if gc.collect is self._collect:
            gc.collect = self._collect.real
        self._end()  # it may be in one

    def _expect(self) -> None:
        self._end()
        if not self._stopped:
            gc.callbacks.append(self._passes)

    def _passes(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self._begun = perf_counter_ns(), line_of(getframe().f_back)
        else:
            self._end()

    def _end(self) -> None:
        """The callback that goes is the last one: no other one is left out for it."""
        if self._begun is not None:
            start, place = self._begun
            self.records.append((start, perf_counter_ns(), self._thread_id(), place))
        self._begun = None
        if self._passes in gc.callbacks:
            gc.callbacks.remove(self._passes)


class _Collect:
    """Stands for `gc.collect`; something is called before each call, which has no other frame."""

    def __init__(self, real: Any, first: Callable[[], None]) -> None:
        self.real, self.first = real, first

    def _asked(self) -> Any:
        self.first()
        return self.real

    __call__ = property(_asked)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def __repr__(self) -> str:
        return repr(self.real)


_ASKED, _PASSES = _Collect._asked.__code__, GarbageCollections._passes.__code__


def _is_before_one(frame: FrameType) -> bool:
    """Tell whether this is a call of ours after `gc.collect()` was called and before it begins."""
    code = frame.f_code
    return code is _ASKED or (code is _PASSES and frame.f_locals["phase"] == "start")
