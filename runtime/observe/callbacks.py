"""Callbacks around each operator, node and range.

    handle = add_callback(on_enter, on_exit, needs_inputs=True)
    ...
    handle.remove()

`on_enter(record)` returns anything, and `on_exit(record, that)` gets it back.
Source: aten/src/ATen/record_function.h.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from ..engine.hooks import RemovableHandle
from .arrangement import interposers, watching
from .record import RecordFunction, RecordScope

Enter = Callable[[RecordFunction], Any]
Exit = Callable[[RecordFunction, Any], None]
Running = list[tuple[Exit | None, RecordFunction, Any]]


class CallbackHandle(RemovableHandle):
    """Calls `on_enter(record)` and `on_exit(record, context)` around every record, until removed.

    Args:
        needs_inputs: fill `record.inputs`; without it they are `()`.
        thread_local: only what runs in this thread (and in a backward that it starts).
    """

    def __init__(
        self,
        on_enter: Enter,
        on_exit: Exit | None = None,
        *,
        needs_inputs: bool = False,
        thread_local: bool = False,
    ) -> None:
        self.on_enter, self.on_exit, self.needs_inputs = on_enter, on_exit, needs_inputs
        if thread_local:
            _of_thread.set((*_of_thread.get(), self))
        else:
            _of_all.append(self)
        watching.append(self)

    def remove(self) -> None:
        """No further calls of these callbacks begin; those that began still end."""
        if self in watching:
            watching.remove(self)
            _of_thread.set(tuple(c for c in _of_thread.get() if c is not self))
        if self in _of_all:
            _of_all.remove(self)


add_callback = CallbackHandle
_of_all: list[CallbackHandle] = []
_of_thread: ContextVar[tuple[CallbackHandle, ...]] = ContextVar("tidy_callbacks", default=())


def begin(
    name: str, scope: RecordScope, inputs: Any = (), sequence_nr: int = -1, thread_id: int = 0
) -> Running:
    """Call every callback; give the answer to `end`.

    Of a range of the user's the interposers are told here too.
    """
    callbacks = (*_of_all, *_of_thread.get())
    ranges = interposers if scope == RecordScope.USER_SCOPE else ()
    if not callbacks and not ranges:
        return []
    shown = inputs if ranges or any(c.needs_inputs for c in callbacks) else ()
    record = RecordFunction(name, scope, shown, sequence_nr, thread_id)
    running: Running = [(c.on_exit, record, c.on_enter(record)) for c in callbacks]
    return running + [(i.exit, record, i.enter(record)) for i in ranges]


def end(running: Running) -> None:
    """Leave what `begin` entered, the last callback first."""
    for on_exit, record, context in reversed(running):
        if on_exit is not None:
            on_exit(record, context)
