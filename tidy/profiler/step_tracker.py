"""How many steps have been made, told by several at once: `prof.step()` and each optimizer.

Each of them counts for itself. What counts is the greatest of these counts, so that a training loop
in which an optimizer and the profiler both step once is at one step, not at two.
Source: torch/profiler/profiler.py (KinetoStepTracker).
"""

from __future__ import annotations

import threading


class StepTracker:
    """The steps of this process. Each caller that counts steps has a name of its own."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._current = 0
        self._lock = threading.Lock()

    def add(self, requester: str) -> None:
        """A new caller starts where the others are."""
        with self._lock:
            self._counts[requester] = self._current

    def remove(self, requester: str) -> bool:
        """Whether the caller was there."""
        with self._lock:
            return self._counts.pop(requester, None) is not None

    def increment(self, requester: str) -> int:
        """The caller has made a step; the number of steps made by now."""
        with self._lock:
            count = self._counts.get(requester, self._current) + 1
            self._counts[requester] = count
            # After a jump (a caller that counted alone for a while) all go on from there.
            self._current = max(self._current, count)
            return self._current

    @property
    def current(self) -> int:
        return self._current


tracker = StepTracker()


def current_step() -> int:
    """Training steps of this process so far, while profilers saw them."""
    return tracker.current
