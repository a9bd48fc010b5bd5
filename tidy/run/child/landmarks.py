"""Where the parts of a step begin and end while nothing is recorded.

Fetches of loaders and steps of optimizers are ranges, also where no profiler looks. Entering and
leaving them is noted with the time, and nothing else: some hundred nanoseconds a range.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .kept import thread
from .patches import Patches

PREFIXES = ("Optimizer.", "enumerate(")


class Landmarks:
    """Notes the ranges of one thread.

    Args:
        kind: the framework's `record_function`.
        now_ns: its clock.

    Attributes:
        noted: [time_ns, name, 0 for a start or 1 for an end], in order.
    """

    def __init__(self, kind: Any, now_ns: Callable[[], int]) -> None:
        self.noted: list[tuple[int, str, int]] = []
        self._patches = Patches()
        noted, home, get_ident = self.noted, thread.get_ident(), thread.get_ident

        def enter(each: Any) -> None:
            name = getattr(each, "name", None)
            if type(name) is str and name.startswith(PREFIXES) and get_ident() == home:
                noted.append((now_ns(), name, 0))

        def leave(each: Any) -> None:
            name = getattr(each, "name", None)
            if type(name) is str and name.startswith(PREFIXES) and get_ident() == home:
                noted.append((now_ns(), name, 1))

        self._patches.call_first(kind, "__enter__", enter)
        self._patches.call_first(kind, "__exit__", leave)

    def stop(self) -> None:
        """Note no more; what somebody else has put in its place stays."""
        self._patches.undo()
