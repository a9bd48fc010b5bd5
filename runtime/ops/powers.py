"""Powers of arrays, and their derivatives. Source: native/Pow.cpp, FunctionsManual.cpp."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor
from .make import conj, filling, zeros_beside

_NEGATIVE = "Integers to negative integer powers are not allowed."


def _zero(x: Any) -> Tensor:
    return zeros_beside(x.array.shape, x)


def power(self: Any, other: Any, given: Any) -> Any:
    """Raise integers, also to negative powers: 0, but of 1 and -1."""
    if self.dtype.kind == "b":
        told = "'pow' is not implemented for bool"
        check(given.__class__ is bool, told, NotImplementedError)
        return self.copy() if given else np.ones_like(self)
    if given.__class__ is int and self.dtype.kind in "iu":
        filling(given, self.dtype)
    if self.dtype.kind not in "iu" or not np.any(np.less(other, 0)):
        return np.power(self, other)
    check(given.__class__ is not int, _NEGATIVE, ValueError)
    inverse = np.where(np.abs(self) == 1, np.where(other % 2, self, 1), 0)
    return np.where(other < 0, inverse, np.power(self, np.maximum(other, 0)))


def power_self(grad: Tensor, self: Tensor, other: Any) -> Tensor:
    if not isinstance(other, Tensor):
        return _zero(grad) if other == 0 else grad * conj(self ** (other - 1) * other)
    return aten.where(other == 0, _zero(grad * other), grad * conj(other * self ** (other - 1)))


def power_other(grad: Tensor, self: Any, other: Any, result: Any) -> Any:
    if not isinstance(self, Tensor):
        return grad * (result * math.log(self))
    if self.array.dtype.kind == "c":
        return grad * conj(result * self.log())
    self = self.to(result.array.dtype)
    zero = aten.eq(self, 0).logical_and(other >= 0)
    return grad * aten.where(zero, _zero(result), result * self.log())
