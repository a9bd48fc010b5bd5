"""The source of a recording's steps, and the thread that is recorded.

PyTorch's profiler records one thread, must be stopped on it, and ends with it: the process would
crash later. Those that record all threads may be stopped anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .kept import MAIN_THREAD, thread, weakref


class StepSource:
    """The first optimizer that steps, or the script's own loop from when it says so.

    One of its class that is made after it first stepped, for the same parameters, goes on for it:
    that it is gone is known only when Python collects it, some rounds later.
    """

    def __init__(self, is_loop: bool) -> None:
        self._is_loop = is_loop
        self._optimizer: Any = None
        # Weak references to those made since that one first stepped, by identity.
        self._young: dict[int, Any] = {}

    def made(self, optimizer: Any) -> None:
        """Note that an optimizer is being made."""
        self._young[id(optimizer)] = weakref.ref(optimizer)

    def counts(self, optimizer: Any) -> bool:
        """Tell whether a step of this optimizer is one."""
        if self._is_loop:
            return False
        known = self._optimizer() if self._optimizer is not None else None
        if known is optimizer:
            return True
        young = self._young.get(id(optimizer))
        is_young = young is not None and young() is optimizer
        if known is not None and not (is_young and _updates(known) == _updates(optimizer)):
            return False
        self._optimizer = weakref.ref(optimizer)
        self._young.clear()
        return True

    def give_to_loop(self) -> bool:
        """From now on the loop says when a step is over; whether it did not before."""
        is_first, self._is_loop = not self._is_loop, True
        return is_first


def _updates(optimizer: Any) -> tuple[type, int]:
    """Return the class of an optimizer and the identity of its first parameter."""
    parameters = (each for group in optimizer.param_groups for each in group["params"])
    return type(optimizer), id(next(parameters, optimizer))


class RecordedThread:
    """The thread that a profiler was started on last.

    Where that does not record all threads, `at_end` is called on it when it ends.

    Attributes:
        steps_elsewhere: whether steps were on another thread alone, while this one was recorded.
    """

    def __init__(self, has_all: bool, at_end: Callable[[], None]) -> None:
        self._has_all, self._at_end = has_all, at_end
        self._ident = self._of_steps = 0
        self._stepped = self.steps_elsewhere = False
        self._own = thread._local()

    @property
    def is_here(self) -> bool:
        """Tell whether it is this one."""
        return thread.get_ident() == self._ident

    def begin(self) -> None:
        """Note that the profiler is started on this thread."""
        if not self.is_here:
            self._ident, self._stepped = thread.get_ident(), False
        # What a thread has for itself is freed on it, as the last that runs there.
        if not self._has_all and self._ident != MAIN_THREAD and not hasattr(self._own, "last"):
            self._own.last = _Last(self._at_end)

    @property
    def may_stop(self) -> bool:
        """Tell whether no other thread may have a profiler that only it can stop."""
        return self._ident == 0 or self.is_here or self._has_all

    def must_move(self) -> bool:
        """Tell whether the recording has to go on here, where a step just ended."""
        self._of_steps = thread.get_native_id()
        self._stepped |= self._has_all or self.is_here
        self.steps_elsewhere |= not self._stepped
        return not self._stepped

    def of_steps(self) -> int:
        """Return the thread, as the system numbers it, that a piece shows the steps of."""
        return (self._has_all and self._of_steps) or thread.get_native_id()


class _Last:
    """Calls a function when it is freed."""

    def __init__(self, function: Callable[[], None]) -> None:
        self._function = function

    def __del__(self) -> None:
        self._function()
