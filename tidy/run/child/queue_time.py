"""How long the threads of this process wait for a processor. Linux tells; elsewhere it is 0."""

from __future__ import annotations

from .kept import os

_TASKS = "/proc/self/task"


class QueueTime:
    """Time in the queue since `begin`, in all threads together."""

    def __init__(self) -> None:
        self._before: dict[str, int] = {}

    def begin(self) -> None:
        """Count from now on."""
        self._before = _queued_ns()

    def since_ns(self) -> int:
        """How long threads that are still there have waited."""
        now = _queued_ns()
        return sum(waited - self._before.get(each, 0) for each, waited in now.items())


def _queued_ns() -> dict[str, int]:
    """Of each thread."""
    try:
        threads = os.listdir(_TASKS)
    except OSError:
        return {}
    return {each: _queued_of(each) for each in threads}


def _queued_of(thread: str) -> int:
    """Of one thread, 0 where it has just ended; the second number of Linux' schedstat."""
    try:
        file = os.open(f"{_TASKS}/{thread}/schedstat", os.O_RDONLY)
        try:
            return int(os.read(file, 100).split()[1])
        finally:
            os.close(file)
    except (OSError, ValueError, IndexError):
        return 0
