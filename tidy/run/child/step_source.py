"""Whose steps are those of the recording."""

from __future__ import annotations

from typing import Any

from .kept import weakref


class StepSource:
    """The first optimizer that steps, or the script's own loop from when it says so.

    Args:
        is_loop: whether it is the loop from the beginning.
    """

    def __init__(self, is_loop: bool) -> None:
        self._is_loop = is_loop
        self._optimizer: Any = None

    def counts(self, optimizer: Any) -> bool:
        """Whether a step of this optimizer is one."""
        if self._is_loop:
            return False
        known = self._optimizer() if self._optimizer is not None else None
        if known is None:
            self._optimizer = weakref.ref(optimizer)
        return known is None or known is optimizer

    def give_to_loop(self) -> bool:
        """From now on the loop says when a step is over; whether it did not before."""
        is_first, self._is_loop = not self._is_loop, True
        return is_first
