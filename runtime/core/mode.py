"""Modes: settings of the current context, on inside a `with` or a decorated function.

They are context variables: safe under threads (a new thread starts with the defaults, as in
PyTorch) and under async. A mode decorates functions, generators and coroutines.
Source: torch/utils/_contextlib.py.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
_nowhere: list[Any] = []


class Mode:
    """A mode of the current context: `with Mode():`, `@Mode()` and `@Mode` (of its subclasses)."""

    variable: ContextVar[Any]
    value: Any  # of the variable, inside
    listed: list[Any] = _nowhere  # where it stands while inside, for those who look there
    _before: list[Any]  # what the variable was, for each `with` that this is in

    def __new__(cls, function: Any = None, *args: Any, **kwargs: Any) -> Any:
        """A mode, or as a decorator without brackets the function."""
        mode = super().__new__(cls)
        mode._before = []
        if callable(function) and not (args or kwargs):
            mode.__init__()  # type: ignore[misc]
            return mode(function)
        return mode

    def clone(self) -> Mode:
        """Return a fresh one, for a decorated function's every call."""
        made = copy.copy(self)
        made._before = []
        return made

    def __enter__(self) -> None:
        self._before.append(self.variable.get())
        self.variable.set(self.value)
        self.listed.append(self)

    def __exit__(self, *exc: object) -> None:
        self.listed.remove(self)
        self.variable.set(self._before.pop())

    def __call__(self, function: F) -> F:
        """`function`, run in this mode; generators are in it only while they run."""
        import inspect  # slow to load

        def made(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return await function(*args, **kwargs)

        def generator(*args: Any, **kwargs: Any) -> Any:
            inner = function(*args, **kwargs)
            step = functools.partial(inner.send, None)
            while True:
                try:
                    with self.clone():
                        value = step()
                except StopIteration as stop:
                    return stop.value
                try:
                    step = functools.partial(inner.send, (yield value))
                except BaseException as error:
                    step = functools.partial(inner.throw, error)

        if inspect.isgeneratorfunction(function):
            made = generator
        elif inspect.iscoroutinefunction(function):
            made = coroutine
        return functools.wraps(function)(made)  # type: ignore[return-value]
