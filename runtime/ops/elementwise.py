"""Elementwise operators, their in-place forms, comparisons and `where`.

Shapes broadcast and dtypes promote as in PyTorch. Source: derivatives.yaml.
"""

# ruff: noqa: PLW0108  (a formula's lambda names what is defined further down)
# mypy: disable-error-code="no-any-return,has-type,call-overload"

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..tensor import Tensor, wrap
from .in_place import inplace
from .table import as_tensors, binary, op, unary


def quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` without numpy's warnings: 1 / 0 is inf, as in PyTorch."""

    def call(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args)

    return call


def _zero(grad: Any) -> Tensor:
    return wrap(np.zeros_like(grad.array))


def _clamp_mask(self: Tensor, low: Any, high: Any) -> Tensor:
    inside = np.ones(self.array.shape, bool)
    if low is not None:
        inside &= self.array >= getattr(low, "array", low)
    if high is not None:
        inside &= self.array <= getattr(high, "array", high)
    return wrap(inside)


# Arithmetic

_add = binary("aten::add", np.add, self=lambda grad: grad, other=lambda grad: grad, arrays=True)
_sub = binary(
    "aten::sub", np.subtract, self=lambda grad: grad, other=lambda grad: -grad, arrays=True
)
mul = binary(
    "aten::mul",
    np.multiply,
    self=lambda grad, other: grad * other,
    other=lambda grad, self: grad * self,
    arrays=True,
)
_div = binary(
    "aten::div",
    quiet(np.true_divide),
    self=lambda grad, other: grad / other,
    other=lambda grad, self, other: -grad * ((self / other) / other),
    floating=True,
)


def _pow(a: Any, b: Any) -> Any:
    if b.__class__ is int or b.__class__ is float:
        if b == 2:
            return np.multiply(a, a)
        if a.dtype.kind in "iu" and b < 0:
            raise ValueError("Integers to negative integer powers are not allowed.")
    return np.power(a, b)


def _pow_self(grad: Tensor, self: Tensor, other: Any) -> Tensor:
    if not isinstance(other, Tensor):
        return _zero(grad) if other == 0 else grad * (self ** (other - 1) * other)
    return where(other == 0, _zero(grad * other), grad * (other * self ** (other - 1)))


def _pow_other(grad: Tensor, self: Any, other: Any, result: Tensor) -> Tensor:
    if not isinstance(self, Tensor):
        return grad * (result * math.log(self))
    zero = (self == 0).logical_and(other >= 0)
    return grad * where(zero, wrap(np.zeros_like(result.array)), result * self.log())


pow = binary("aten::pow", quiet(_pow), self=_pow_self, other=_pow_other)  # noqa: A001


def _towards(kind: str) -> Callable[..., Any]:
    def own(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
        lost = self < other if kind == "max" else self > other
        return where(self == other, grad / 2, grad).masked_fill(lost, 0)

    return own


def _towards_other(kind: str) -> Callable[..., Any]:
    def own(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
        return _towards(kind)(grad, other, self)

    return own


maximum = binary("aten::maximum", np.maximum, self=_towards("max"), other=_towards_other("max"))
minimum = binary("aten::minimum", np.minimum, self=_towards("min"), other=_towards_other("min"))
atan2 = binary(
    "aten::atan2",
    np.arctan2,
    self=lambda grad, self, other: grad * other / (self * self + other * other),
    other=lambda grad, self, other: -grad * self / (self * self + other * other),
    floating=True,
)
remainder = binary(
    "aten::remainder",
    quiet(np.remainder),
    self=lambda grad: grad,
    other=lambda grad, self, other: -grad * div(self, other, rounding_mode="floor"),
)
fmod = binary(
    "aten::fmod",
    quiet(np.fmod),
    self=lambda grad: grad,
    other=lambda grad, self, other: -grad * div(self, other, rounding_mode="trunc"),
)
floor_divide = binary("aten::floor_divide", quiet(np.floor_divide))


def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:  # noqa: A002
    """`input + alpha * other`."""
    return _add(input, other if alpha == 1 else other * alpha)


def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:  # noqa: A002
    """`input - alpha * other`."""
    return _sub(input, other if alpha == 1 else other * alpha)


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:  # noqa: A002
    """`input / other`; with rounding_mode "floor" or "trunc" its integer part, without gradient."""
    if rounding_mode is None:
        return _div(input, other)
    if rounding_mode not in {"floor", "trunc"}:
        raise RuntimeError(
            f"div expected rounding_mode None, 'trunc' or 'floor' but found {rounding_mode!r}"
        )
    if rounding_mode == "floor":
        return floor_divide(input, other)
    return _div(input, other).trunc()


# One tensor

neg = unary("aten::neg", np.negative, lambda grad: -grad, floating=False)


def _abs(a: Any) -> Any:
    if a.dtype.kind == "b":
        raise NotImplementedError("aten::abs is not implemented for bool")
    return np.abs(a)


abs = unary("aten::abs", _abs, lambda grad, self: grad * self.sgn(), floating=False)  # noqa: A001
sign = unary("aten::sign", np.sign, _zero, floating=False)
sgn = unary("aten::sgn", np.sign, _zero, floating=False)
positive = unary("aten::positive", np.positive, lambda grad: grad, floating=False)
exp = unary("aten::exp", quiet(np.exp), lambda grad, result: grad * result)
expm1 = unary("aten::expm1", quiet(np.expm1), lambda grad, result: grad * (result + 1))
exp2 = unary("aten::exp2", quiet(np.exp2), lambda grad, result: grad * result * math.log(2))
log = unary("aten::log", quiet(np.log), lambda grad, self: grad / self)
log2 = unary("aten::log2", quiet(np.log2), lambda grad, self: grad / (self * math.log(2)))
log10 = unary("aten::log10", quiet(np.log10), lambda grad, self: grad / (self * math.log(10)))
log1p = unary("aten::log1p", quiet(np.log1p), lambda grad, self: grad / (self + 1))
sqrt = unary("aten::sqrt", quiet(np.sqrt), lambda grad, result: grad / (result * 2))
rsqrt = unary(
    "aten::rsqrt", quiet(lambda a: 1 / np.sqrt(a)), lambda grad, result: grad * result**3 * -0.5
)
reciprocal = unary(
    "aten::reciprocal", quiet(lambda a: 1 / a), lambda grad, result: -grad * (result * result)
)
square = unary("aten::square", np.square, lambda grad, self: grad * (self * 2), floating=False)
sin = unary("aten::sin", quiet(np.sin), lambda grad, self: grad * self.cos())
cos = unary("aten::cos", quiet(np.cos), lambda grad, self: grad * -self.sin())
tan = unary("aten::tan", quiet(np.tan), lambda grad, result: grad * (result * result + 1))
asin = unary("aten::asin", quiet(np.arcsin), lambda grad, self: grad * (1 - self * self).rsqrt())
acos = unary("aten::acos", quiet(np.arccos), lambda grad, self: grad * -(1 - self * self).rsqrt())
atan = unary("aten::atan", np.arctan, lambda grad, self: grad / (self * self + 1))
sinh = unary("aten::sinh", quiet(np.sinh), lambda grad, self: grad * self.cosh())
cosh = unary("aten::cosh", quiet(np.cosh), lambda grad, self: grad * self.sinh())
asinh = unary("aten::asinh", np.arcsinh, lambda grad, self: grad * (self * self + 1).rsqrt())
acosh = unary("aten::acosh", quiet(np.arccosh), lambda grad, self: grad * (self * self - 1).rsqrt())
atanh = unary("aten::atanh", quiet(np.arctanh), lambda grad, self: grad / (1 - self * self))
floor = unary("aten::floor", np.floor, _zero, floating=False)
ceil = unary("aten::ceil", np.ceil, _zero, floating=False)
trunc = unary("aten::trunc", np.trunc, _zero, floating=False)
round = unary("aten::round", np.round, _zero, floating=False)  # noqa: A001
frac = unary("aten::frac", lambda a: a - np.trunc(a), lambda grad: grad)
clone = unary("aten::clone", lambda a: a.copy(), lambda grad: grad, floating=False)
zeros_like_ = unary("aten::zero", np.zeros_like, _zero, floating=False)
isnan = unary("aten::isnan", np.isnan, None, floating=False)
isinf = unary("aten::isinf", np.isinf, None, floating=False)
isfinite = unary("aten::isfinite", np.isfinite, None, floating=False)
logical_not = unary("aten::logical_not", np.logical_not, None, floating=False)
bitwise_not = unary("aten::bitwise_not", np.invert, None, floating=False)


def _tanh_backward(grad: Any, other: Any) -> Any:
    slope = np.multiply(other, other)
    np.subtract(1, slope, out=slope)
    return np.multiply(slope, grad, out=slope) if slope.ndim else slope * grad


tanh = unary(
    "aten::tanh",
    np.tanh,
    lambda grad, result: tanh_backward(grad, result),
    arrays=lambda grad, result: _tanh_backward(grad, result),
)
tanh_backward = binary(
    "aten::tanh_backward",
    _tanh_backward,
    self=lambda grad, other: tanh_backward(grad, other),
    other=lambda grad, self, other: grad * self * other * -2,
)

# Comparisons and logic

eq = binary("aten::eq", np.equal)
ne = binary("aten::ne", np.not_equal)
lt = binary("aten::lt", np.less)
le = binary("aten::le", np.less_equal)
gt = binary("aten::gt", np.greater)
ge = binary("aten::ge", np.greater_equal)
logical_and = binary("aten::logical_and", np.logical_and)
logical_or = binary("aten::logical_or", np.logical_or)
logical_xor = binary("aten::logical_xor", np.logical_xor)
bitwise_and = binary("aten::bitwise_and", np.bitwise_and)
bitwise_or = binary("aten::bitwise_or", np.bitwise_or)
bitwise_xor = binary("aten::bitwise_xor", np.bitwise_xor)

# Choosing


def _where(condition: Any, self: Any, other: Any) -> Any:
    return np.where(condition, self, other)


_where_op = op(
    "aten::where",
    _where,
    "condition",
    "self",
    "other",
    self=lambda grad, condition: where(condition, grad, _zero(grad)),
    other=lambda grad, condition: where(condition, _zero(grad), grad),
)


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:  # noqa: A002
    """Elements of `input` where `condition`, of `other` elsewhere; alone, where it is."""
    if input is None and other is None:
        return tuple(wrap(x) for x in np.nonzero(condition.array))
    from ..dtypes import result_dtype

    dtype = result_dtype(getattr(input, "array", input), getattr(other, "array", other))
    self, other = as_tensors("aten::where", input, other)
    self = self if self.array.dtype == dtype else self.to(dtype)
    other = other if other.array.dtype == dtype else other.to(dtype)
    return _where_op(condition, self, other)


def _clamp(self: Any, low: Any = None, high: Any = None) -> Any:
    if low is None and high is None:
        raise ValueError("At least one of 'min' or 'max' must not be None")
    if any(isinstance(x, float) for x in (low, high)) and self.dtype.kind in "iu":
        from ..dtypes import to_float

        self = to_float(self)
    found = self if low is None else np.maximum(self, low)
    return found if high is None else np.minimum(found, high)


_clamp_op = op(
    "aten::clamp",
    _clamp,
    "self",
    self=lambda grad, self, low, high: grad * _clamp_mask(self, low, high),
)


def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:  # noqa: A002
    """Elements between `min` and `max`; those outside become the nearer of the two."""
    return _clamp_op(input, min, max)


def _masked_fill(self: Any, mask: Any, value: Any) -> Any:
    return np.where(mask, np.asarray(value).astype(self.dtype), self)


masked_fill = op(
    "aten::masked_fill",
    _masked_fill,
    "self",
    "mask",
    "value",
    self=lambda grad, mask: grad.masked_fill(mask, 0),
    value=lambda grad, mask: (grad * mask).sum(),
)
lerp = op(
    "aten::lerp",
    lambda self, end, weight: self + weight * (end - self),
    "self",
    "end",
    "weight",
    self=lambda grad, weight: grad * (1 - weight),
    end=lambda grad, weight: grad * weight,
    weight=lambda grad, self, end: grad * (end - self),
)
addcmul = op(
    "aten::addcmul",
    lambda self, tensor1, tensor2, value=1: self + value * tensor1 * tensor2,
    "self",
    "tensor1",
    "tensor2",
    self=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: grad * tensor2 * value,
    tensor2=lambda grad, tensor1, value: grad * tensor1 * value,
)
addcdiv = op(
    "aten::addcdiv",
    lambda self, tensor1, tensor2, value=1: self + value * tensor1 / tensor2,
    "self",
    "tensor1",
    "tensor2",
    self=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: grad / tensor2 * value,
    tensor2=lambda grad, tensor1, tensor2, value: -grad * (tensor1 / (tensor2 * tensor2)) * value,
)

# In place

_add_ = inplace("aten::add_", _add)
_sub_ = inplace("aten::sub_", _sub)


def add_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """`self += alpha * other`."""
    return _add_(self, other if alpha == 1 else other * alpha)


def sub_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """`self -= alpha * other`."""
    return _sub_(self, other if alpha == 1 else other * alpha)


mul_ = inplace("aten::mul_", mul)
div_ = inplace("aten::div_", _div)
pow_ = inplace("aten::pow_", pow)
masked_fill_ = inplace("aten::masked_fill_", masked_fill)
clamp_ = inplace("aten::clamp_", _clamp_op)
zero_ = inplace("aten::zero_", zeros_like_)
lerp_ = inplace("aten::lerp_", lerp)
addcmul_ = inplace("aten::addcmul_", addcmul)
addcdiv_ = inplace("aten::addcdiv_", addcdiv)
UNARY_INPLACE = (neg, abs, exp, log, sqrt, rsqrt, reciprocal, sin, cos, tanh, floor, ceil, round)
