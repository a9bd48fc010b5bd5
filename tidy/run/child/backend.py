"""What the profilers of both frameworks have in common for the recorder."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from .kept import time


class Backend:
    """Starts and stops a profiler, `_profiler`, which is None while none runs.

    Attributes:
        has_all_threads: whether it records every thread, and may be stopped on another one than
            it was started on.
        has_moved: whether it went on from one thread to another. Memory is not recorded then:
            PyTorch complains of what was allocated meanwhile and is freed.
    """

    _profiler: Any = None
    has_all_threads = has_moved = False

    def can_stop(self, at_step: bool) -> bool:
        """Whether the profiler can be stopped right here."""
        raise NotImplementedError

    def is_between_ops(self, at_step: bool) -> bool:
        """Whether no op is under way on this thread; a cut in it would lose it, or crash."""
        raise NotImplementedError

    def pause(self) -> int:
        """The time on the clock of what is recorded; until `resume` the recorder is at work."""
        return self.now_ns()

    def now_ns(self) -> int:
        """The time on the clock of what is recorded."""
        return time.time_ns()

    def resume(self) -> None:
        """The script goes on."""

    def abandon(self, at_step: bool) -> bool:
        """Stop what runs, if it can be stopped here; whether nothing runs any more."""
        if self._profiler is not None:
            if not self.can_stop(at_step):
                return False
            with suppress(Exception):
                self._profiler.stop()
            self._profiler = None
        return True
