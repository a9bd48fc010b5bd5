"""What arithmetic refuses, and powers of arrays with their derivatives.

Source: native/BinaryOps.cpp, Pow.cpp, FunctionsManual.cpp.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.aten import aten
from ..core.dtypes import in_16_bits, promoted
from ..engine.hooks import check
from ..engine.tensor import Tensor
from .make import conj, filling, zeros_beside

_NEGATIVE = "Integers to negative integer powers are not allowed."
_BOOLS = "Subtraction, the `-` operator, with a bool tensor is not supported."


def divisor(self: Any, other: Any) -> Any:
    """Return what integers are divided by; ValueError if there is a zero in it."""
    check(self.dtype.kind != "b", "not implemented for 'Bool'", NotImplementedError)
    if self.dtype.kind in "biu" and not np.all(other):
        raise ValueError("ZeroDivisionError")
    return other


def without_bools(self: Any, other: Any) -> tuple[Any, ...]:
    """Bring what is subtracted to one dtype, as `promoted` does; bools are refused."""
    check("b" not in self.dtype.kind + np.asarray(other).dtype.kind, _BOOLS)
    return promoted(self, other)


def times(other: Any, alpha: Any, dtype: Any, sign: int = 1) -> Any:
    """Return `sign * alpha * other` in its dtype; ValueError for a fraction of integers.

    `dtype` is that of the result, which has to reach `sign * alpha`.
    """
    alpha = alpha.item() if hasattr(alpha, "item") else alpha
    told = "Boolean alpha only supported for Boolean results."
    check(alpha.__class__ is not bool or dtype.kind == "b", told)
    check(sign > 0 or dtype.kind != "b", _BOOLS)
    alpha = sign * alpha
    if dtype.kind != "f" or alpha.__class__ is complex or not abs(alpha) < 6e4:
        filling(alpha, dtype)
    alpha = in_16_bits(alpha, dtype)
    if not isinstance(other, np.ndarray):
        return other * alpha
    if other.dtype.kind in "biu" and isinstance(alpha, (float, complex)):
        raise ValueError("For integral input tensors, argument alpha must not be a floating point")
    if other.dtype.kind in "biu":
        alpha = np.asarray(alpha).astype(other.dtype)
    return (other * alpha).astype(other.dtype, copy=False)


def _zero(x: Any) -> Tensor:
    return zeros_beside(x.array.shape, x)


def check_exponent(number: Any, dtype: Any) -> None:
    """Refuse a number that a tensor of the dtype cannot be raised to."""
    whole, fraction = dtype.kind in "iu", number.__class__ is float
    check(not whole or fraction or number >= 0, _NEGATIVE)
    if not fraction or (dtype.itemsize == 2 and not whole):
        filling(number, dtype)


def power(self: Any, other: Any, given: Any, half: Any) -> Any:
    """Raise integers, also to negative powers: 0, but of 1 and -1."""
    if self.dtype.kind == "b":
        told = "'pow' is not implemented for bool"
        check(given.__class__ is bool, told, NotImplementedError)
        return self.copy() if given else np.ones_like(self)
    if given.__class__ in (int, float) and not 0 <= given <= 127:
        check_exponent(given, half or self.dtype)
    if self.dtype.kind not in "iu" or not np.any(np.less(other, 0)):
        return np.power(self, other)
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
