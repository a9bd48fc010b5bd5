"""The ends of steps, and of the parts of a step, while nothing is recorded.

Fetches of loaders and steps of optimizers are ranges, also where no profiler looks. Entering and
leaving them is noted with the time, and nothing else: some hundred nanoseconds a range.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .kept import thread
from .patches import Patches

PREFIXES = ("Optimizer.", "enumerate(")


class BareStages:
    """Ends of steps, and on their thread landmarks: (time_ns, name of a range, 1 at its end)."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self._ends_ns: list[list[int]] = []
        self._landmarks: list[list[tuple[int, str, int]]] = []
        self._patches = Patches()

    def begin(self) -> None:
        self._landmarks.append([])
        for number, method in enumerate(("__enter__", "__exit__")):
            self._patches.call_first(self._backend.ranges, method, self._noting(number))
        self._ends_ns.append([self._backend.now_ns()])

    def _noting(self, number: int) -> Callable[[Any], None]:
        noted, now_ns = self._landmarks[-1], self._backend.now_ns
        home, get_ident = thread.get_ident(), thread.get_ident

        def note(each: Any) -> None:
            name = getattr(each, "name", None)
            if type(name) is str and name.startswith(PREFIXES) and get_ident() == home:
                noted.append((now_ns(), name, number))

        return note

    def add(self, end_ns: int) -> None:
        self._ends_ns[-1].append(end_ns)

    def stop(self) -> None:
        """End the stage; again does nothing. What somebody else has patched stays."""
        self._patches.undo()

    def noted(self) -> dict[str, Any]:
        """Return what the state of the recording says of all of them."""
        return {"unrecorded_ns": self._ends_ns, "landmarks": self._landmarks}
