"""The observer interface: who wants to know of each operator, backward node and user range.

    handle = add_callback(on_enter, on_exit, needs_inputs=True)
    ...
    handle.remove()

`on_enter(record)` returns anything; `on_exit(record, that)` gets it back. The runtime knows no
profiler: a profiler registers callbacks. With none registered an operator pays one truth test of
the list `active`, which also holds whatever else has to see every operator (anomaly and inference
mode).

Source: aten/src/ATen/record_function.h.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from enum import IntEnum
from typing import Any

Enter = Callable[["RecordFunction"], Any]
Exit = Callable[["RecordFunction", Any], None]

# Not empty while something has to see every operator. Each adds one object.
active: list[object] = []


class RecordScope(IntEnum):
    """What a record is about."""

    FUNCTION = 0
    BACKWARD_FUNCTION = 1
    USER_SCOPE = 7


class RecordFunction:
    """One call being observed: its name, scope, inputs, sequence number and forward thread."""

    __slots__ = ("forward_thread_id", "inputs", "name", "scope", "sequence_nr")

    def __init__(
        self,
        name: str,
        scope: RecordScope,
        inputs: tuple[Any, ...] = (),
        sequence_nr: int = -1,
        forward_thread_id: int = 0,
    ) -> None:
        self.name = name
        self.scope = scope
        self.inputs = inputs
        self.sequence_nr = sequence_nr
        self.forward_thread_id = forward_thread_id


class _Callback:
    __slots__ = ("needs_inputs", "on_enter", "on_exit", "sampling", "scopes")

    def __init__(
        self,
        on_enter: Enter,
        on_exit: Exit | None,
        needs_inputs: bool,
        scopes: frozenset[RecordScope] | None,
        sampling: float,
    ) -> None:
        self.on_enter = on_enter
        self.on_exit = on_exit
        self.needs_inputs = needs_inputs
        self.scopes = scopes
        self.sampling = sampling

    def wants(self, scope: RecordScope) -> bool:
        if self.scopes is not None and scope not in self.scopes:
            return False
        if self.sampling >= 1.0:
            return True
        import random

        return random.random() < self.sampling  # noqa: S311


_lock = threading.Lock()
_global: tuple[_Callback, ...] = ()
_thread: ContextVar[tuple[_Callback, ...]] = ContextVar("tidy_callbacks", default=())


class CallbackHandle:
    """What add_callback gives back; `remove()` may be called twice, and `with` removes too."""

    def __init__(self, callback: _Callback, thread_local: bool) -> None:
        self._callback: _Callback | None = callback
        self._thread_local = thread_local

    def remove(self) -> None:
        """No further calls of these callbacks begin; those that began still end."""
        global _global  # noqa: PLW0603
        callback, self._callback = self._callback, None
        if callback is None:
            return
        with _lock:
            active.remove(callback)
            if self._thread_local:
                _thread.set(tuple(c for c in _thread.get() if c is not callback))
            else:
                _global = tuple(c for c in _global if c is not callback)

    def __enter__(self) -> CallbackHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def add_callback(
    on_enter: Enter,
    on_exit: Exit | None = None,
    *,
    needs_inputs: bool = False,
    scopes: frozenset[RecordScope] | None = None,
    sampling: float = 1.0,
    thread_local: bool = False,
) -> CallbackHandle:
    """Call `on_enter(record)` and `on_exit(record, context)` around every record.

    Args:
        needs_inputs: fill `record.inputs`; without it they are `()`.
        scopes: only these; None is all.
        sampling: the share of records seen, 0 to 1.
        thread_local: only what runs in this thread (and in a backward that it starts).
    """
    global _global  # noqa: PLW0603
    callback = _Callback(on_enter, on_exit, needs_inputs, scopes, sampling)
    with _lock:
        if thread_local:
            _thread.set((*_thread.get(), callback))
        else:
            _global = (*_global, callback)
        active.append(callback)
    return CallbackHandle(callback, thread_local)


Running = list[tuple[_Callback, RecordFunction, Any]]


def begin(
    name: str,
    scope: RecordScope,
    inputs: tuple[Any, ...] = (),
    sequence_nr: int = -1,
    forward_thread_id: int = 0,
) -> Running:
    """Enter one record: every callback that wants it is called. Give the answer to `end`."""
    callbacks = _global + _thread.get()
    if not callbacks:
        return []
    callbacks = tuple(c for c in callbacks if c.wants(scope))
    shown = inputs if any(c.needs_inputs for c in callbacks) else ()
    record = RecordFunction(name, scope, shown, sequence_nr, forward_thread_id)
    return [(c, record, c.on_enter(record)) for c in callbacks]


def end(running: Running) -> None:
    """Leave what `begin` entered, the last callback first."""
    for callback, record, context in reversed(running):
        if callback.on_exit is not None:
            callback.on_exit(record, context)


class record_function:  # noqa: N801  (PyTorch's name)
    """`with record_function("name"):` shows a range of the user's own to the observers."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._running: list[Running] = []

    def __enter__(self) -> record_function:
        inputs = () if self.args is None else (self.args,)
        found = begin(self.name, RecordScope.USER_SCOPE, inputs) if active else []
        self._running.append(found)
        return self

    def __exit__(self, *exc: object) -> None:
        end(self._running.pop())
