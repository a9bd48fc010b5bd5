"""The observer interface: who wants to know of each operator, backward node and user range.

    handle = add_callback(on_enter, on_exit, needs_inputs=True)
    ...
    handle.remove()

`on_enter(record)` returns anything; `on_exit(record, that)` gets it back. With no callback an
operator pays one truth test of the list `active`, which also holds whatever else has to see every
operator (anomaly and inference mode). The runtime knows no profiler: that registers callbacks.
Source: aten/src/ATen/record_function.h.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from enum import IntEnum
from typing import Any, NamedTuple

from .hooks import RemovableHandle

Enter = Callable[["RecordFunction"], Any]
Exit = Callable[["RecordFunction", Any], None]
Inputs = tuple[Any, ...]
Running = list[tuple["CallbackHandle", "RecordFunction", Any]]

active: list[object] = []  # one object for each that has to see every operator


class RecordScope(IntEnum):
    FUNCTION, BACKWARD_FUNCTION, USER_SCOPE = 0, 1, 7


class RecordFunction(NamedTuple):
    """One call being observed."""

    name: str
    scope: RecordScope
    inputs: Inputs
    sequence_nr: int
    forward_thread_id: int


class CallbackHandle(RemovableHandle):
    """Calls `on_enter(record)` and `on_exit(record, context)` around every record, until removed.

    Args:
        needs_inputs: fill `record.inputs`; without it they are `()`.
        scopes: only these; None is all.
        sampling: the share of records seen, 0 to 1.
        thread_local: only what runs in this thread (and in a backward that it starts).
    """

    def __init__(
        self,
        on_enter: Enter,
        on_exit: Exit | None = None,
        *,
        needs_inputs: bool = False,
        scopes: frozenset[RecordScope] | None = None,
        sampling: float = 1.0,
        thread_local: bool = False,
    ) -> None:
        self.on_enter, self.on_exit, self.needs_inputs = on_enter, on_exit, needs_inputs
        self.scopes, self.sampling = scopes, sampling
        if thread_local:
            _thread.set((*_thread.get(), self))
        else:
            _global.append(self)
        active.append(self)

    def wants(self, scope: RecordScope) -> bool:
        if self.sampling < 1.0:
            import random  # slow to load

            if random.random() >= self.sampling:  # noqa: S311
                return False
        return self.scopes is None or scope in self.scopes

    def remove(self) -> None:
        """No further calls of these callbacks begin; those that began still end."""
        if self in active:
            active.remove(self)
            _thread.set(tuple(c for c in _thread.get() if c is not self))
        if self in _global:
            _global.remove(self)


add_callback = CallbackHandle
_global: list[CallbackHandle] = []
_thread: ContextVar[tuple[CallbackHandle, ...]] = ContextVar("tidy_callbacks", default=())


def begin(
    name: str, scope: RecordScope, inputs: Inputs = (), sequence_nr: int = -1, thread_id: int = 0
) -> Running:
    """Enter one record: every callback that wants it is called. Give the answer to `end`."""
    callbacks = [c for c in (*_global, *_thread.get()) if c.wants(scope)]
    if not callbacks:
        return []
    shown = inputs if any(c.needs_inputs for c in callbacks) else ()
    record = RecordFunction(name, scope, shown, sequence_nr, thread_id)
    return [(c, record, c.on_enter(record)) for c in callbacks]


def end(running: Running) -> None:
    """Leave what `begin` entered, the last callback first."""
    for callback, record, context in reversed(running):
        if callback.on_exit is not None:
            callback.on_exit(record, context)


def during(running: Running, function: Callable[..., Any], *args: Any) -> Any:
    """`function(*args)`, between what `begin` entered and its `end`."""
    try:
        return function(*args)
    finally:
        end(running)


class record_function:
    """`with record_function("name"):` shows a range of the user's own to the observers."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args, self._running = name, args, list[Running]()

    def __enter__(self) -> record_function:
        inputs = () if self.args is None else (self.args,)
        self._running.append(begin(self.name, RecordScope.USER_SCOPE, inputs) if active else [])
        return self

    def __exit__(self, *exc: object) -> None:
        end(self._running.pop())
