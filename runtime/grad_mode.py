"""The modes: whether operators record a graph.

Modes are context variables: safe under threads (a new thread starts with gradients on, as in
PyTorch) and under async. Each is a context manager and a decorator of functions, generators and
coroutines. Source: torch/autograd/grad_mode.py, torch/utils/_contextlib.py.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ClassVar, TypeVar

from .record_function import watching

F = TypeVar("F", bound=Callable[..., Any])

_grad: ContextVar[bool] = ContextVar("tidy_grad_mode", default=True)
_inference: ContextVar[bool] = ContextVar("tidy_inference_mode", default=False)
is_grad_enabled, is_inference_mode_enabled = _grad.get, _inference.get


def without_grad(function: Callable[..., Any], *args: Any) -> Any:
    """`function(*args)` in no_grad mode; for the runtime itself, as it is cheaper than a `with`."""
    token = _grad.set(False)
    try:
        return function(*args)
    finally:
        _grad.reset(token)


class Mode:
    """A mode of the current context: `with Mode():`, `@Mode()` and `@Mode`."""

    variable: ContextVar[Any] = _grad
    value: Any  # of the variable, inside
    listed: ClassVar[list[Any]] = []  # where it stands while inside, for those who look there
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
        """A fresh one, for a decorated function's every call."""
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


class no_grad(Mode):
    """Operators record nothing; their results need no gradient."""

    value = False


class enable_grad(Mode):
    """Operators record again, inside a `no_grad`."""

    value = True


class set_grad_enabled(Mode):
    """Set the mode: at once when called, and until the end of the block as a context manager."""

    def __init__(self, mode: Any) -> None:
        self.value, self._outer = mode, self.variable.get()
        self._set(mode)

    def clone(self) -> Mode:
        return type(self)(self.value)

    def _set(self, value: Any) -> None:
        self.variable.set(value)

    def __enter__(self) -> None:
        self._set(self.value)

    def __exit__(self, *exc: object) -> None:
        self._set(self._outer)

    def __call__(self, function: F) -> F:
        """As a decorator it leaves the caller's mode alone."""
        self.__exit__()
        return super().__call__(function)


class inference_mode(Mode):
    """As `no_grad`, and results are for ever outside autograd: they keep no version."""

    variable, listed = _inference, watching

    def __init__(self, mode: bool = True) -> None:
        self.value = mode

    def __enter__(self) -> None:
        self._before.append(_grad.get())
        _grad.set(not self.value)
        super().__enter__()

    def __exit__(self, *exc: object) -> None:
        super().__exit__()
        _grad.set(self._before.pop())
