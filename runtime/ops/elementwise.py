"""Elementwise operators, comparisons, `where`, and the activations. Source: derivatives.yaml."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import result_dtype, to_float
from ..grad_mode import is_grad_enabled
from ..record_function import active
from ..tensor import Tensor, bump_version, wrap
from .arguments import as_tensors, conj
from .table import aten, composite, declare, function


def _zero(x: Any) -> Tensor:
    return wrap(np.zeros_like(x.array))


def _abs(a: Any) -> Any:
    if a.dtype.kind == "b":
        raise NotImplementedError("aten::abs is not implemented for bool")
    return np.abs(a)


def _pow(a: Any, b: Any) -> Any:
    if b.__class__ is int or b.__class__ is float:
        if b == 2:
            return np.multiply(a, a)
        if a.dtype.kind in "iu" and b < 0:
            raise ValueError("Integers to negative integer powers are not allowed.")
    return np.power(a, b)


def _pow_self(grad: Tensor, self: Tensor, other: Any) -> Tensor:
    if not isinstance(other, Tensor):
        return _zero(grad) if other == 0 else grad * conj(self ** (other - 1) * other)
    return aten.where(other == 0, _zero(grad * other), grad * conj(other * self ** (other - 1)))


def _pow_other(grad: Tensor, self: Any, other: Any, result: Tensor) -> Tensor:
    if not isinstance(self, Tensor):
        return grad * (result * math.log(self))
    if self.array.dtype.kind == "c":
        return grad * conj(result * self.log())
    zero = (self == 0).logical_and(other >= 0)
    return grad * aten.where(zero, _zero(result), result * self.log())


def _larger(grad: Tensor, one: Tensor, other: Tensor) -> Tensor:
    """The gradient of `maximum` for `one`: halved where both are equal."""
    return aten.where(one == other, grad / 2, grad).masked_fill(one < other, 0)


def _clamp(self: Any, low: Any, high: Any) -> Any:
    if self.dtype.kind == "c":
        raise ValueError("clamp is not supported for complex types")
    if low is None and high is None:
        raise ValueError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if any(isinstance(x, float) for x in (low, high)) and self.dtype.kind in "biu":
        self = to_float(self)
    found = self if low is None else np.maximum(self, low)
    return found if high is None else np.minimum(found, high)


def _inside(self: Tensor, low: Any, high: Any) -> Tensor:
    inside = np.ones(self.array.shape, bool)
    if low is not None:
        inside &= self.array >= getattr(low, "array", low)
    if high is not None:
        inside &= self.array <= getattr(high, "array", high)
    return wrap(inside)


def _beyond(self: Tensor, low: Any, high: Any, below: bool) -> Tensor:
    """Where `clamp` gives the lower bound, or the upper one; that decides where they cross."""
    x, low, high = self.array, getattr(low, "array", low), getattr(high, "array", high)
    crossed = False if low is None or high is None else low >= high
    if below:
        return wrap((x < low) & np.logical_not(crossed))
    return wrap((x > high) | np.logical_and(crossed, low != high))


def _sgn(a: Any) -> Any:
    if a.dtype.kind == "b":
        return a.copy()
    if a.dtype.kind != "c":
        return np.nan_to_num(np.sign(a))  # 0 for nan
    length = np.abs(a)
    return np.where(length == 0, 0, a / np.where(length == 0, 1, length))


def _sgn_back(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    if self.array.dtype.kind != "c":
        return _zero(grad)
    each = grad / self.abs()
    return each - result * (each * result.conj()).real


def _erf(a: Any) -> Any:
    """Rational approximations on three ranges, to 1e-16. Source: W. J. Cody, Math. Comp. 23, 1969."""
    x = np.abs(a, dtype=np.float64) if a.dtype.itemsize < 8 else np.abs(a)
    small = x < 0.5
    z = np.where(small, x, 0.0) ** 2
    inner = x * _ratio(z, _ERF_SMALL)
    y = np.clip(x, 0.46875, 6.0)
    middle = np.exp(-y * y) * _ratio(y, _ERF_MIDDLE)
    far = 1 / (np.maximum(y, 4.0) ** 2)
    outer = np.exp(-y * y) / y * (1 / math.sqrt(math.pi) - far * _ratio(far, _ERF_FAR))
    found = np.where(small, inner, 1 - np.where(y <= 4.0, middle, outer))
    return np.copysign(found, a).astype(a.dtype)


def _ratio(x: Any, tables: tuple[tuple[float, ...], tuple[float, ...]]) -> Any:
    return np.polyval(tables[0], x) / np.polyval(tables[1], x)


_ERF_SMALL = (
    (1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2)
    + (3.77485237685302021e2, 3.20937758913846947e3),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2)
    + (1.28261652607737228e3, 2.84423683343917062e3),
)
_ERF_MIDDLE = (
    (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0)
    + (6.61191906371416295e1, 2.98635138197400131e2, 8.81952221241769090e2)
    + (1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3),
    (1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2)
    + (1.62138957456669019e3, 3.29079923573345963e3, 4.36261909014324716e3)
    + (3.43936767414372164e3, 1.23033935480374942e3),
)
_ERF_FAR = (
    (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1)
    + (1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4),
    (1.0, 2.56852019228982242e0, 1.87295284992346725e0)
    + (5.27905102951428412e-1, 6.05183413124413191e-2, 2.33520497626869185e-3),
)

declare(
    globals(),
    r"""
[promote in_place]
add.to(self, other) = np.add(self, other) => grad
    other: grad
sub.to(self, other) = np.subtract(self, other) => grad
    other: -grad
add.scaled(self, other, alpha: any) = self + times(other, alpha) => grad
    other: grad * alpha
sub.scaled(self, other, alpha: any) = self - times(other, alpha) => grad
    other: grad * -alpha
[torch tensor promote in_place]
mul(self, other) = np.multiply(self, other) => grad * conj(other)
    other: grad * conj(self)
[torch tensor promote quiet in_place]
remainder(self, other) = np.remainder(self, divisor(self, other)) => grad
    other: -grad * div(self, other, rounding_mode="floor")
fmod(self, other) = np.fmod(self, divisor(self, other)) => grad
    other: -grad * div(self, other, rounding_mode="trunc")
floor_divide(self, other) = np.floor_divide(self, divisor(self, other)) => _zero(grad)
    other: _zero(grad)
pow(self, other) = _pow(self, other) => _pow_self(grad, self, other)
    other: _pow_other(grad, self, other, result)
[promote float quiet in_place]
div.to(self, other) = np.true_divide(self, other) => grad / conj(other)
    other: -grad * conj((self / other) / other)
[torch tensor promote float quiet]
atan2(self, other) = np.arctan2(self, other) => grad * other / (self * self + other * other)
    other: -grad * self / (self * self + other * other)
logaddexp(self, other) = np.logaddexp(self, other) => grad / (1 + exp(other - self))
    other: grad / (1 + exp(self - other))
hypot(self, other) = np.hypot(self, other) => grad * (self / result)
    other: grad * (other / result)
[torch tensor promote]
maximum(self, other) = np.maximum(self, other) => _larger(grad, self, other)
    other: _larger(grad, other, self)
minimum(self, other) = np.minimum(self, other) => _larger(grad, -self, -other)
    other: _larger(grad, -other, -self)
eq(self, other) = np.equal(self, other)
ne(self, other) = np.not_equal(self, other)
lt(self, other) = np.less(self, other)
le(self, other) = np.less_equal(self, other)
gt(self, other) = np.greater(self, other)
ge(self, other) = np.greater_equal(self, other)
logical_and(self, other) = np.logical_and(self, other)
logical_or(self, other) = np.logical_or(self, other)
logical_xor(self, other) = np.logical_xor(self, other)
[torch tensor promote in_place]
bitwise_and(self, other) = np.bitwise_and(self, other)
bitwise_or(self, other) = np.bitwise_or(self, other)
bitwise_xor(self, other) = np.bitwise_xor(self, other)

[torch tensor float quiet in_place]
exp(self) = np.exp(self) => grad * conj(result)
expm1(self) = np.expm1(self) => grad * conj(result + 1)
exp2(self) = np.exp2(self) => grad * conj(result) * 0.6931471805599453
log(self) = np.log(self) => grad / conj(self)
log2(self) = np.log2(self) => grad / conj(self * 0.6931471805599453)
log10(self) = np.log10(self) => grad / conj(self * 2.302585092994046)
log1p(self) = np.log1p(self) => grad / conj(self + 1)
sqrt(self) = np.sqrt(self) => grad / (conj(result) * 2)
rsqrt(self) = 1 / np.sqrt(self) => grad * conj(result**3) * -0.5
reciprocal(self) = 1 / self => -grad * conj(result * result)
sin(self) = np.sin(self) => grad * conj(self.cos()) || grad * conj(np.cos(self))
cos(self) = np.cos(self) => grad * -conj(self.sin()) || grad * -conj(np.sin(self))
tan(self) = np.tan(self) => grad * conj(result * result + 1)
asin(self) = np.arcsin(self) => grad * conj((1 - self * self).rsqrt())
acos(self) = np.arccos(self) => grad * -conj((1 - self * self).rsqrt())
atan(self) = np.arctan(self) => grad / conj(self * self + 1)
sinh(self) = np.sinh(self) => grad * conj(self.cosh())
cosh(self) = np.cosh(self) => grad * conj(self.sinh())
asinh(self) = np.arcsinh(self) => grad * conj((self * self + 1).rsqrt())
acosh(self) = np.arccosh(self) => grad * conj((self * self - 1).rsqrt())
atanh(self) = np.arctanh(self) => grad / conj(1 - self * self)
erf(self) = _erf(self) => grad * (-(self * self)).exp() * 1.1283791670955126
frac(self) = self - np.trunc(self) => grad
[torch tensor nn float quiet in_place]
sigmoid(self) = 1 / (1 + np.exp(-self))
    self: sigmoid_backward(grad, conj(result)) || grad * conj(result * (1 - result))
[torch tensor nn float in_place]
tanh(self) = np.tanh(self) => tanh_backward(grad, conj(result)) || grad * conj(1 - result * result)
[promote]
tanh_backward(self, other) = self * (1 - other * other) => tanh_backward(grad, conj(other))
    other: grad * conj(self * other) * -2
sigmoid_backward(self, other) = self * (other * (1 - other)) => sigmoid_backward(grad, conj(other))
    other: grad * conj(self * (1 - other * 2))
[torch tensor in_place]
neg(self) = np.negative(self) => -grad
abs(self) = _abs(self) => grad * self.sgn()
sign(self) = _sgn(self) => _zero(grad)
sgn(self) = _sgn(self) => _sgn_back(grad, self, result)
square(self) = np.square(self) => grad * conj(self * 2)
floor(self) = np.floor(self) => _zero(grad)
ceil(self) = np.ceil(self) => _zero(grad)
trunc(self) = np.trunc(self) => _zero(grad)
round(self, *, decimals: int = 0) = np.round(self, decimals) => _zero(grad)
logical_not(self) = np.logical_not(self)
bitwise_not(self) = np.invert(self)
clamp(self, min: number = None, max: number = None) = _clamp(self, min, max)
    self: grad * _inside(self, min, max)
    min: grad * _beyond(self, min, max, True)
    max: grad * _beyond(self, min, max, False)
masked_fill(self, mask, value: number)
    = np.where(as_mask(mask), np.asarray(value).astype(self.dtype), self)
    self: grad.masked_fill(mask, 0)
    value: (grad * mask).sum()
lerp(self, end, weight: number) = self + weight * (end - self)
    self: grad * (1 - conj(weight))
    end: grad * conj(weight)
    weight: grad * conj(end - self)
addcmul(self, tensor1, tensor2, *, value: any = 1) = self + value * tensor1 * tensor2 => grad
    tensor1: grad * conj(tensor2 * value)
    tensor2: grad * conj(tensor1 * value)
addcdiv(self, tensor1, tensor2, *, value: any = 1) = self + value * tensor1 / tensor2 => grad
    tensor1: grad / conj(tensor2) * conj(value)
    tensor2: -grad * conj(tensor1 / (tensor2 * tensor2) * value)
[torch tensor]
positive(self) = np.positive(self) => grad
clone(self, *, memory_format: any = None)
    = self.copy(order="C" if memory_format == "contiguous_format" else "K")
    self: grad
isnan(self) = np.isnan(self)
isinf(self) = np.isinf(self)
isfinite(self) = np.isfinite(self)
nan_to_num(self, nan: any = 0.0, posinf: any = None, neginf: any = None)
    = np.nan_to_num(self, True, nan, posinf, neginf)
    self: grad * self.isfinite()
angle(self) = np.angle(to_float(self))
    self: grad * self * 1j / self.abs().square() if self.is_complex() else _zero(grad)
[only_in_place]
zero(self) = np.broadcast_to(self.dtype.type(0), self.shape) => _zero(grad)
copy(self, src) = np.broadcast_to(src, self.shape).astype(self.dtype, copy=False) => _zero(grad)
    src: grad
fill(self, value: number)
    = np.broadcast_to(np.asarray(value).astype(self.dtype), self.shape)
    self: _zero(grad)
    value: grad.sum()
[]
where.self(condition, self: number, other: number) = np.where(as_mask(condition), self, other)
    self: where(condition, grad, 0)
    other: where(condition, 0, grad)

[torch tensor nn in_place]
relu(self) = np.maximum(self, 0) => threshold_backward(grad, result, 0) || grad * (result > 0)
[]
threshold_backward(grad_output, result, threshold: any) = grad_output * (result > threshold)
    grad_output: threshold_backward(grad, result, threshold)
[nn in_place]
leaky_relu(self, negative_slope: any = 0.01)
    = np.where(self > 0, self, self * self.dtype.type(negative_slope))
    self: where(self > 0, grad, grad * negative_slope)
elu(self, alpha: any = 1.0)
    = np.where(self > 0, self, self.dtype.type(alpha) * np.expm1(np.minimum(self, 0)))
    self: where(self > 0, grad, grad * self.clamp(max=0).exp() * alpha)
hardtanh(self, min_val: any = -1.0, max_val: any = 1.0)
    = np.clip(self, self.dtype.type(min_val), self.dtype.type(max_val))
    self: grad * (self > min_val).logical_and(self < max_val)
[nn]
softplus(self, beta: any = 1.0, threshold: any = 20.0)
    = np.where(self * beta > threshold, self, np.log1p(np.exp(np.minimum(self * beta, threshold))) / beta)
    self: where(self * beta > threshold, grad, grad * (self * beta).sigmoid())
logsigmoid(self) = np.minimum(self, 0) - np.log1p(np.exp(-np.abs(self))) => grad * (-self).sigmoid()
silu(self) := self * self.sigmoid()
relu6(self) := hardtanh(self, 0.0, 6.0)
mish(self) := self * softplus(self).tanh()
hardsigmoid(self) := hardtanh(self / 6 + 0.5, 0.0, 1.0)
hardswish(self) := self * hardsigmoid(self)
softsign(self) := self / (self.abs() + 1)
""",
)


@function("torch tensor")
def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """`input + alpha * other`."""
    return aten.add_to(input, other) if alpha == 1 else aten.add_scaled(input, other, alpha)


@function("torch tensor")
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """`input - alpha * other`."""
    return aten.sub_to(input, other) if alpha == 1 else aten.sub_scaled(input, other, alpha)


@function("tensor")
def add_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """`self += alpha * other`. Optimizers live on this: a short way for equals without a graph."""
    if not active and not is_grad_enabled() and isinstance(other, Tensor):
        array, more = self.array, other.array
        if array.dtype is more.dtype and array.shape == more.shape and array.dtype.kind == "f":
            np.add(array, more if alpha == 1 else more * alpha, array)
            bump_version(self)
            return self
    return aten.add_to_(self, other) if alpha == 1 else aten.add_scaled_(self, other, alpha)


@function("tensor")
def sub_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """`self -= alpha * other`."""
    return aten.sub_to_(self, other) if alpha == 1 else aten.sub_scaled_(self, other, alpha)


@function("torch tensor")
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """`input / other`; with rounding_mode "floor" or "trunc" its integer part, without gradient."""
    if rounding_mode is None:
        return aten.div_to(input, other)
    if rounding_mode == "floor":
        return aten.floor_divide(input, other)
    if rounding_mode != "trunc":
        raise RuntimeError(
            f"div expected rounding_mode None, 'trunc' or 'floor' but found {rounding_mode!r}"
        )
    if result_dtype(*(getattr(x, "array", x) for x in (input, other))).kind in "biu":
        return aten.floor_divide(aten.sub_to(input, aten.fmod(input, other)), other)
    return aten.div_to(input, other).trunc()


@function("tensor")
def div_(self: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """`self /= other`, rounded as `div` would."""
    if rounding_mode is None:
        return aten.div_to_(self, other)
    return aten.copy_(self, div(self, other, rounding_mode=rounding_mode))


@function("torch")
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """Elements of `input` where `condition`, of `other` elsewhere; alone, where it is."""
    if input is None and other is None:
        return aten.nonzero(condition, as_tuple=True)
    dtype = result_dtype(getattr(input, "array", input), getattr(other, "array", other))
    self, other = as_tensors("aten::where", input, other)
    self = self if self.array.dtype == dtype else self.to(dtype)
    other = other if other.array.dtype == dtype else other.to(dtype)
    return aten.where_self(condition, self, other)


@composite("nn")
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """`x * Phi(x)`, Phi the normal distribution's, or its tanh approximation."""
    if approximate == "tanh":
        inner = (input + input * input * input * 0.044715) * math.sqrt(2 / math.pi)
        return input * (inner.tanh() + 1) * 0.5
    if approximate != "none":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return input * (aten.erf(input * math.sqrt(0.5)) + 1) * 0.5
