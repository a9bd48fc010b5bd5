"""The observer interface: who wants to know of each operator, backward node and user range.

    handle = add_callback(on_enter, on_exit, needs_inputs=True)
    ...
    handle.remove()

`on_enter(record)` returns anything; `on_exit(record, that)` gets it back. An `Interposer` is the
faster kind of observer: it runs operators and nodes itself. The runtime knows no profiler: that is
one of the two.

Operators test the list `active`. It is empty while nobody has to see them; else it has the one
`Interposer` that they go through: the only observer there is, or `everyone`, which asks in turn all
that are in `watching` (anomaly mode, inference mode and autocast may be among these). A modelled
device is not one of those: it is `innermost`, below all who watch.
Source: aten/src/ATen/record_function.h.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from contextvars import ContextVar
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from .hooks import RemovableHandle
from .node import thread

if TYPE_CHECKING:
    from concurrent.futures import Future

Enter = Callable[["RecordFunction"], Any]
Exit = Callable[["RecordFunction", Any], None]
Inputs = tuple[Any, ...]
Running = list[tuple[Exit | None, "RecordFunction", Any]]


class Interposer(Protocol):
    """Runs what is to be observed.

    One with `asks_innermost = True` hands operators on to `innermost` itself, which saves a detour.
    """

    def op(self, name: str, inner: Callable[..., Any], args: Inputs, kwargs: Any = None) -> Any:
        """`inner(*args, **kwargs)`, an operator that does not look for observers itself."""

    def node(self, node: Any, grads: Any, validate: Callable[[Any, Any], Any] | None) -> Any:
        """`node.apply(grads)`, then `validate(node, those)`: a node, and what the engine adds."""

    def backward(self, run: Callable[..., Any], *args: Any) -> Any:
        """`run(*args)`: a backward, with all its nodes."""

    def internal(self, run: Callable[..., Any], *args: Any) -> Any:
        """`run(*args)`: work of the runtime that calls nothing of the user's."""

    def enter(self, record: RecordFunction) -> Any:
        """A range of the user's begins."""

    def exit(self, record: RecordFunction, context: Any) -> None:
        """It ends; `context` is what `enter` gave."""


class _Everyone:
    """Asks all who watch; observe.py and engine.py say how."""

    op: Callable[..., Any]
    node: Callable[..., Any]

    def backward(self, run: Callable[..., Any], *args: Any) -> Any:
        for each in interposers:
            run = partial(each.backward, run)
        return run(*args)

    def internal(self, run: Callable[..., Any], *args: Any) -> Any:
        for each in interposers:
            run = partial(each.internal, run)
        return run(*args)


class _Watching(list[object]):
    """What has to see every operator: callbacks, interposers and modes."""

    def append(self, one: object) -> None:
        super().append(one)
        self._arrange()

    def remove(self, one: object) -> None:
        super().remove(one)
        self._arrange()

    def clear(self) -> None:
        super().clear()
        self._arrange()

    def _arrange(self) -> None:
        sole = len(self) == 1 and self[0] in interposers
        if sole and innermost:
            sole = getattr(self[0], "asks_innermost", False)
        active[:] = [self[0] if sole else everyone] if self else innermost


per_thread = thread  # for observers: its sequence_nr is the one that the next node gets
everyone = _Everyone()
active: list[Any] = []
watching = _Watching()
interposers: list[Interposer] = []
innermost: list[Any] = []


def add_interposer(interposer: Interposer) -> None:
    """Have all operators, nodes and ranges go through it, until it is removed."""
    interposers.append(interposer)
    watching.append(interposer)


def set_innermost(interposer: Interposer | None) -> None:
    """Have all operators go through it, whoever else watches; None is nobody."""
    innermost[:] = [] if interposer is None else [interposer]
    watching._arrange()


def remove_interposer(interposer: Interposer) -> None:
    interposers.remove(interposer)
    watching.remove(interposer)


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
        watching.append(self)

    def wants(self, scope: RecordScope) -> bool:
        if self.sampling < 1.0:
            import random  # slow to load

            if random.random() >= self.sampling:  # noqa: S311
                return False
        return self.scopes is None or scope in self.scopes

    def remove(self) -> None:
        """No further calls of these callbacks begin; those that began still end."""
        if self in watching:
            watching.remove(self)
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


def during(running: Running, function: Callable[..., Any], *args: Any) -> Any:
    """`function(*args)`, between what `begin` entered and its `end`."""
    try:
        return function(*args)
    finally:
        end(running)


class record_function(ContextDecorator):
    """`with record_function("name"):` shows a range of the user's own to the observers.

    As a decorator it is a range around each call. A range over something asynchronous is entered
    and then handed its future: `_call_end_callbacks_on_future(future)` ends it when that is done.
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args, self._running = name, args, list[Running]()

    def __enter__(self) -> record_function:
        inputs = () if self.args is None else (self.args,)
        running: Running = []
        if active and active[0] is everyone:
            running = begin(self.name, RecordScope.USER_SCOPE, inputs)
        elif active:
            record = RecordFunction(self.name, RecordScope.USER_SCOPE, inputs, -1, 0)
            running = [(active[0].exit, record, active[0].enter(record))]
        self._running.append(running)
        return self

    def __exit__(self, *exc: object) -> None:
        end(self._running.pop())

    def _recreate_cm(self) -> record_function:
        return record_function(self.name, self.args)

    def _call_end_callbacks_on_future(self, future: Future[Any]) -> Future[Any]:
        """End the range when `future` is done, in place of `__exit__`; a future that says so.

        Source: torch/autograd/profiler.py.
        """
        running, self._running[-1:] = self._running[-1], [[]]
        ended: Future[Any] = type(future)()

        def finish(done: Future[Any]) -> None:
            end(running)
            if (error := done.exception()) is not None:
                ended.set_exception(error)
            else:
                ended.set_result(done.result())

        future.add_done_callback(finish)
        return ended
