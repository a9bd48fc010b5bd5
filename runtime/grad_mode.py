"""The modes: whether operators record a graph.

Modes are context variables: safe under threads (a new thread starts with gradients on, as in
PyTorch) and under async. Each is a context manager and a decorator of functions, generators and
coroutines.

Source: torch/autograd/grad_mode.py, torch/utils/_contextlib.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeVar

from .record_function import active

F = TypeVar("F", bound=Callable[..., Any])

_grad: ContextVar[bool] = ContextVar("tidy_grad_mode", default=True)
_inference: ContextVar[bool] = ContextVar("tidy_inference_mode", default=False)

is_grad_enabled = _grad.get
is_inference_mode_enabled = _inference.get


class Mode:
    """A mode of the current context, usable as `with Mode():` and as `@Mode()`."""

    def clone(self) -> Mode:
        """A fresh one, for a decorated function's every call."""
        return type(self)()

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError

    def __call__(self, function: F) -> F:
        """`function`, run in this mode; generators are in it only while they run."""
        import inspect  # slow to load

        if inspect.isgeneratorfunction(function):
            return self._generator(function)
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def coroutine(*args: Any, **kwargs: Any) -> Any:
                with self.clone():
                    return await function(*args, **kwargs)

            return coroutine  # type: ignore[return-value]

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    def _generator(self, function: F) -> F:
        @functools.wraps(function)
        def generate(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                inner = function(*args, **kwargs)
            step: Callable[[], Any] = functools.partial(next, inner)
            while True:
                try:
                    with self.clone():
                        value = step()
                except StopIteration as stop:
                    return stop.value
                try:
                    sent = yield value
                    step = functools.partial(inner.send, sent)
                except GeneratorExit:
                    with self.clone():
                        inner.close()
                    raise
                except BaseException as error:
                    step = functools.partial(inner.throw, error)

        return generate  # type: ignore[return-value]


class _GradMode(Mode):
    value = False

    def __new__(cls, function: Any = None) -> Any:
        """`@no_grad` without brackets works too."""
        mode = super().__new__(cls)
        if callable(function):
            return mode(function)
        return mode

    def __init__(self, function: Any = None) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(_grad.get())
        _grad.set(self.value)

    def __exit__(self, *exc: object) -> None:
        _grad.set(self._before.pop())


class no_grad(_GradMode):  # noqa: N801
    """Operators record nothing; their results need no gradient."""


class enable_grad(_GradMode):  # noqa: N801
    """Operators record again, inside a `no_grad`."""

    value = True


class set_grad_enabled(Mode):  # noqa: N801
    """Set the mode: at once when called, and until the end of the block as a context manager."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self._before = _grad.get()
        _grad.set(mode)

    def clone(self) -> Mode:
        """Another, entered again."""
        return set_grad_enabled(self.mode)

    def __enter__(self) -> None:
        _grad.set(self.mode)

    def __exit__(self, *exc: object) -> None:
        _grad.set(self._before)

    def __call__(self, function: F) -> F:
        """As a decorator it leaves the caller's mode alone."""
        _grad.set(self._before)
        return super().__call__(function)


class inference_mode(Mode):  # noqa: N801
    """As `no_grad`, and results are for ever outside autograd: they keep no version."""

    def __new__(cls, mode: Any = True) -> Any:
        """`@inference_mode` without brackets works too."""
        made = super().__new__(cls)
        if callable(mode):
            made.__init__()  # type: ignore[misc]
            return made(mode)
        return made

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self._before: list[tuple[bool, bool]] = []

    def clone(self) -> Mode:
        """Another, of the same mode."""
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        self._before.append((_grad.get(), _inference.get()))
        _inference.set(self.mode)
        _grad.set(not self.mode)
        active.append(self)

    def __exit__(self, *exc: object) -> None:
        active.remove(self)
        grad, inference = self._before.pop()
        _grad.set(grad)
        _inference.set(inference)
