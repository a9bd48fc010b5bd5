"""Which values are allowed: `constraints.positive.check(x)`. Source: torch/distributions."""

from __future__ import annotations

from typing import Any

from ..engine.tensor import wrap
from .base import _RULES


class Constraint:
    """Subclass with `check`, which gives a tensor of bools."""

    is_discrete, event_dim = False, 0

    def check(self, value: Any) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__.lstrip('_')}()"


class _Rule(Constraint):
    def __init__(self, holds: Any, event_dim: int = 0, discrete: bool = False) -> None:
        self._holds, self.event_dim, self.is_discrete = holds, event_dim, discrete

    def check(self, value: Any) -> Any:
        return wrap(self._holds(value.array))


class independent(Constraint):
    """Holds where the base holds for all of the last dimensions."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint, n = base_constraint, reinterpreted_batch_ndims
        self.reinterpreted_batch_ndims, self.event_dim = n, base_constraint.event_dim + n
        self.is_discrete = base_constraint.is_discrete

    def check(self, value: Any) -> Any:
        found, n = self.base_constraint.check(value), self.reinterpreted_batch_ndims
        return found.reshape((*found.shape[: found.dim() - n], -1)).all(-1)


def interval(lower: Any, upper: Any) -> Constraint:
    return _Rule(lambda x: (x >= _plain(lower)) & (x <= _plain(upper)))


def half_open_interval(lower: Any, upper: Any) -> Constraint:
    return _Rule(lambda x: (x >= _plain(lower)) & (x < _plain(upper)))


def integer_interval(lower: Any, upper: Any) -> Constraint:
    whole = interval(lower, upper)
    return _Rule(lambda x: whole.check(wrap(x)).array & (x % 1 == 0), 0, True)


def greater_than(lower: Any) -> Constraint:
    return _Rule(lambda x: x > _plain(lower))


def greater_than_eq(lower: Any) -> Constraint:
    return _Rule(lambda x: x >= _plain(lower))


def less_than(upper: Any) -> Constraint:
    return _Rule(lambda x: x < _plain(upper))


def _plain(bound: Any) -> Any:
    return getattr(bound, "array", bound)


def dependent_property(*args: Any, **kwargs: Any) -> Any:
    """A property of a distribution, as a decorator with brackets or without."""
    return property(args[0]) if args and callable(args[0]) else property


real, boolean = _Rule(_RULES["real"]), _Rule(_RULES["boolean"], 0, True)
positive, nonnegative = _Rule(_RULES["positive"]), _Rule(_RULES["nonnegative"])
nonnegative_integer = _Rule(_RULES["count"], 0, True)
positive_integer = _Rule(lambda x: (x % 1 == 0) & (x >= 1), 0, True)
unit_interval, simplex = _Rule(_RULES["unit"]), _Rule(_RULES["simplex"], 1)
real_vector, dependent = independent(real, 1), Constraint()
