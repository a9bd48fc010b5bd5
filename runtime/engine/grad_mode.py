"""The modes of autograd: whether operators record a graph. Source: torch/autograd/grad_mode.py."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from ..core.mode import F, Mode
from ..observe.arrangement import watching

__all__ = ["enable_grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled"]
__all__ += ["no_grad", "set_grad_enabled"]

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


class no_grad(Mode):
    """Operators record nothing; their results need no gradient."""

    variable, value = _grad, False


class enable_grad(Mode):
    """Operators record again, inside a `no_grad`."""

    variable, value = _grad, True


class set_grad_enabled(Mode):
    """Set the mode: at once when called, and until the end of the block as a context manager."""

    variable: ContextVar[Any] = _grad

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
