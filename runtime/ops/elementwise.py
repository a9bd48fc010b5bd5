"""Elementwise operators, comparisons, and `where`. Source: derivatives.yaml."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.aten import aten
from ..core.dtypes import python_number, result_dtype
from ..engine.grad_mode import is_grad_enabled
from ..engine.hooks import check
from ..engine.tensor import Tensor, bump_version, wrap
from .arithmetic import _zero, divisor, power, power_other, power_self, times, without_bools  # noqa: F401  (of rows below)
from .make import (
    as_tensors,
    composite,
    declare,
    filling,
    function,
    into,
    refuse_overlap,
    refuse_shared,
    refused,
)  # fmt: skip


def _logaddexp(a: Any, b: Any) -> Any:
    if a.dtype.kind != "c":
        return np.logaddexp(a, b)
    larger = np.where(a.real >= b.real, a, b)
    return larger + np.log(1 + np.exp(a + b - 2 * larger))


def _filled_by(value: Any, dtype: Any) -> Any:
    """Return a number in a dtype that reaches it; a tensor's is converted like any copy."""
    if not isinstance(value, np.ndarray):
        return filling(value, dtype)
    check(not value.ndim, "only supports a 0-dimensional value tensor", ValueError)
    return value.astype(dtype)


def _filling(value: Any, dtype: Any) -> Any:
    check(not getattr(value, "ndim", 0), "only supports a 0-dimensional value tensor", ValueError)
    return filling(value, dtype)


def _bools(mask: Any) -> Any:
    check(mask.dtype.kind == "b", "masked_fill_ only supports boolean masks", ValueError)
    return mask


def _abs(a: Any) -> Any:
    check(a.dtype.kind != "b", "aten::abs is not implemented for bool", NotImplementedError)
    return np.abs(a)


def _share(x: Tensor, y: Tensor) -> Tensor:
    """1 / (x² + y²), and 0 where that is infinite."""
    squares = x * x + y * y
    return aten.reciprocal(squares).masked_fill(aten.eq(squares, 0), 0)


def _larger(grad: Tensor, one: Tensor, other: Tensor) -> Tensor:
    """The gradient of `maximum` for `one`: halved where both are equal."""
    return aten.where(one == other, grad / 2, grad).masked_fill(one < other, 0)


def _clamp(self: Any, low: Any, high: Any, half: Any) -> Any:
    check(self.dtype.kind != "c", "clamp is not supported for complex types", ValueError)
    if low is not None is not high and type(low) is not type(high):
        low, high = (x.item() if getattr(x, "ndim", 1) == 0 else x for x in (low, high))
    bounds = [bound for bound in (low, high) if bound is not None]
    check(bool(bounds), "torch.clamp: At least one of 'min' or 'max' must not be None", ValueError)
    if len({isinstance(bound, np.ndarray) for bound in bounds}) > 1:
        raise refused("clamp(): min and max have to be both numbers, or both tensors")
    self = self.astype(dtype := result_dtype(self, *bounds), copy=False)
    low, high = (x if x is None else _bound(x, dtype, half) for x in (low, high))
    self = self if low is None else np.maximum(self, low)
    return self if high is None else np.minimum(self, high)


def _bound(x: Any, dtype: Any, half: Any) -> Any:
    return x.astype(dtype) if isinstance(x, np.ndarray) else filling(x, half or dtype)


def _clamped(self: Tensor, low: Any, high: Any) -> list[Tensor]:
    """Where `clamp` changes nothing, gives the lower bound, or the upper (also if they cross)."""
    x = self.array
    low, high = (getattr(bound, "array", bound) for bound in (low, high))
    low, high = -np.inf if low is None else low, np.inf if high is None else high
    if x.dtype.itemsize == 2:
        low, high = (np.asarray(bound, x.dtype) for bound in (low, high))
    inside, below = (x >= low) & (x <= high), (x < low) & (low < high)
    return [wrap(inside), wrap(below), wrap((x > high) | (low > high))]


def _factor(value: Any, *arrays: Any) -> Any:
    """Return a number that products of these arrays are scaled by, as their dtype has it."""
    if value.__class__ in (int, float) and arrays[0].dtype.kind in "fV" and abs(value) < 1e38:
        return value
    return filling(value, result_dtype(*arrays))


def _sgn(a: Any) -> Any:
    if a.dtype.kind == "c":
        return a / np.where(a == 0, 1, np.abs(a))
    return a.copy() if a.dtype.kind == "b" else np.nan_to_num(np.sign(a))  # 0 for nan


def _sgn_back(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    if self.array.dtype.kind != "c":
        return _zero(grad)
    each = (grad / self.abs()).masked_fill(self == 0, 0)
    return each - result * (each * result.conj()).real


def erf_array(a: Any) -> Any:
    """Return the error function; in 32 bits tanh of an odd polynomial, to 2e-7."""
    if a.dtype.itemsize >= 8:
        found = np.empty_like(a, np.float64)
        for some in np.nditer(
            [a, found], ["external_loop", "zerosize_ok"], [["readonly"], ["writeonly"]]
        ):
            some[1][...] = np.fromiter(map(math.erf, some[0].tolist()), np.float64, some[0].size)
        return found.astype(a.dtype, copy=False)
    x = a.astype(np.float32, copy=False)
    return np.tanh(x * polynomial(x * x, ERF)).astype(a.dtype, copy=False)


def polynomial(x: Any, table: Sequence[float]) -> Any:
    """Horner's rule, in place; `table` begins with the highest power."""
    found = x * x.dtype.type(table[0])
    for coefficient in table[1:-1]:
        found += x.dtype.type(coefficient)
        found *= x
    found += x.dtype.type(table[-1])
    return found


# erf(x) is tanh(x P(x * x)). The polynomial P has the least greatest relative error on 0 to 4.2,
# beyond which tanh is 1 in float32, and as P grows from there on it stays 1.
ERF = (
    1.4185262e-7, -5.6684832e-6, 8.7637379e-5, -6.1978481e-4, -1.9183060e-4, 0.10276906, 1.12837927,
)  # fmt: skip


_ROWS = r"""
[promote wide in_place]
add.to(self, other) = np.add(self, other) => grad
    other: grad
sub.to(self, other) = np.subtract(self, other) => grad
    other: -grad
add.scaled(self, other, alpha: any) = self + times(other, alpha, half or self.dtype) => grad
    other: grad * conj(alpha)
sub.scaled(self, other, alpha: any) = self + times(other, alpha, half or self.dtype, -1) => grad
    other: grad * -conj(alpha)
[torch tensor promote wide opmath in_place]
mul(self, other) = np.multiply(self, other) => grad * conj(other)
    other: grad * conj(self)
[torch tensor promote wide quiet in_place]
remainder(self, other) = np.remainder(self, divisor(self, other)) => grad
    other: -grad * div(self, other, rounding_mode="floor")
[torch tensor promote first wide quiet in_place]
fmod(self, other) = np.fmod(self, divisor(self, other)) => grad
    other: -grad * div(self, other, rounding_mode="trunc")
[torch tensor promote wide opmath quiet in_place]
floor_divide(self, other) = np.floor_divide(self, divisor(self, other)) => _zero(grad)
    other: _zero(grad)
[torch tensor promote wide quiet in_place]
pow(self, other)
    = self * self if other.__class__ in (int, float) and other == 2
    else power(self, other, other_t, half)
    self: power_self(grad, self, other)
    other: power_other(grad, self, other, result)
[promote float wide opmath quiet in_place]
div.to(self, other) = np.true_divide(self, other) => grad / conj(other)
    other: -grad * conj((self / other) / other)
[torch tensor promote pair float wide quiet]
atan2(self, other) = np.arctan2(self, other) => grad * other * _share(self, other)
    other: grad * -self * _share(self, other)
logaddexp(self, other) = _logaddexp(self, other) => grad / conj(1 + exp(other - self))
    other: grad / conj(1 + exp(self - other))
hypot(self, other) = np.hypot(self, other) => grad * (self / result)
    other: grad * (other / result)
[torch tensor promote pair quiet]
fmax(self, other) = np.fmax(self, other) => where((self >= other) | other.isnan(), grad, 0)
    other: where((self >= other) | other.isnan(), 0, grad)
fmin(self, other) = np.fmin(self, other) => where((self <= other) | other.isnan(), grad, 0)
    other: where((self <= other) | other.isnan(), 0, grad)
[torch tensor promote pair]
maximum(self, other) = np.maximum(self, other) => _larger(grad, self, other)
    other: _larger(grad, other, self)
minimum(self, other) = np.minimum(self, other) => _larger(grad, -self, -other)
    other: _larger(grad, -other, -self)
[torch tensor float quiet in_place]
exp(self) = np.exp(self) => grad * conj(result)
expm1(self) = np.expm1(self) => grad * conj(result + 1)
exp2(self) = np.exp2(self) => grad * conj(result) * 0.6931471805599453
log(self) = np.log(self) => grad / conj(self)
log2(self) = np.log2(self) => grad / conj(self * 0.6931471805599453)
log10(self) = np.log10(self) => grad / conj(self * 2.302585092994046)
log1p(self) = np.log1p(self) => grad / conj(self + 1)
sqrt(self) = np.sqrt(self) => grad / (conj(result) * 2)
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
deg2rad(self) = np.deg2rad(self) => grad * 0.017453292519943295
rad2deg(self) = np.rad2deg(self) => grad * 57.29577951308232
[torch tensor float wide quiet in_place]
rsqrt(self) = 1 / np.sqrt(self) => grad * conj(result**3) * -0.5
reciprocal(self) = 1 / self => -grad * conj(result * result)
erf(self) = erf_array(self) => grad * (-(self * self)).exp() * 1.1283791670955126
frac(self) = self - np.trunc(self) => grad
[torch tensor nn float wide quiet in_place]
sigmoid(self) = 1 / (1 + np.exp(-self))
    self: sigmoid_backward(grad, conj(result)) || grad * conj(result * (1 - result))
[torch tensor nn float wide in_place]
tanh(self) = np.tanh(self) => tanh_backward(grad, conj(result)) || grad * conj(1 - result * result)
[promote wide]
tanh_backward(self, other) = self * (1 - other * other) => tanh_backward(grad, conj(other))
    other: grad * conj(self * other) * -2
sigmoid_backward(self, other) = self * (other * (1 - other)) => sigmoid_backward(grad, conj(other))
    other: grad * conj(self * (1 - other * 2))
[torch tensor in_place]
neg(self) = np.negative(self) => -grad
abs(self) = _abs(self) => grad * self.sgn()
sign(self) = _sgn(self) => _zero(grad)
sgn(self) = _sgn(self) => _sgn_back(grad, self, result)
square(self) = np.square(self) if self.dtype.kind != 'b' else self.astype(np.int64)
    self: grad * conj(self * 2)
[torch tensor contiguous in_place]
masked_fill(self, mask, value: number)
    = np.where(_bools(mask), _filling(value, self.dtype), self)
    self: grad.masked_fill(mask, 0)
    value: (grad * mask).sum()
[torch tensor wide in_place]
clamp(self, min: number = None, max: number = None) = _clamp(self, min, max, half)
    self: where(_clamped(self, min, max)[0], grad, 0)
    min: where(_clamped(self, min, max)[1], grad, 0)
    max: where(_clamped(self, min, max)[2], grad, 0)
round(self, *, decimals: int = 0) = np.round(self, decimals) => _zero(grad)
lerp(self, end, weight: number)
    = self + (weight if getattr(weight, "ndim", 1) else weight.astype(self.dtype)) * (end - self)
    self: grad * (1 - conj(weight))
    end: grad * conj(weight)
    weight: grad * conj(end - self)
addcmul(self, tensor1, tensor2, *, value: any = 1)
    = self + _factor(value, self, tensor1, tensor2) * tensor1 * tensor2 => grad
    tensor1: grad * conj(tensor2 * value)
    tensor2: grad * conj(tensor1 * value)
addcdiv(self, tensor1, tensor2, *, value: any = 1) = self + value * tensor1 / tensor2 => grad
    tensor1: grad / conj(tensor2) * conj(value)
    tensor2: -grad * conj(tensor1 / (tensor2 * tensor2) * value)
[torch tensor]
positive(self) = np.positive(self) => grad
clone(self, *, memory_format: any = None) = in_format(self, memory_format) => grad
nan_to_num(self, nan: any = 0.0, posinf: any = None, neginf: any = None)
    = np.nan_to_num(self, True, nan, posinf, neginf) => grad * self.isfinite()
angle(self) = np.angle(to_float(self))
    self: (grad * self * 1j / self.abs().square()).masked_fill(self == 0, 0) if self.is_complex()
        else _zero(grad)
[only_in_place]
zero(self) = np.broadcast_to(self.dtype.type(0), self.shape) => _zero(grad)
copy(self, src, non_blocking: bool = False)
    = np.broadcast_to(src, self.shape).astype(self.dtype, copy=False) => _zero(grad)
    src: grad
fill(self, value: number)
    = np.broadcast_to(_filled_by(value, self.dtype), self.shape)
    self: _zero(grad)
    value: grad.sum()
[]
where.self(condition, self: number, other: number) = np.where(as_mask(condition), self, other)
    self: where(condition, grad, 0)
    other: where(condition, 0, grad)
"""
declare(globals(), _ROWS)


_PAIRS = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater"}
_PAIRS |= {"ge": "greater_equal"}
_LOGIC = ("and", "or", "xor")
_BITS = {f"bitwise_{n}": f"bitwise_{n}" for n in _LOGIC}
for _flags, _operands, _formula, _known in (
    ("promote first", "self, other", "", _PAIRS),
    ("promote pair", "self, other", "", {f"logical_{n}": f"logical_{n}" for n in _LOGIC}),
    ("promote in_place", "self, other", "", _BITS),
    ("in_place", "self", " => _zero(grad)", {n: n for n in ("floor", "ceil", "trunc")}),
    ("in_place", "self", "", {"logical_not": "logical_not", "bitwise_not": "invert"}),
    ("", "self", "", {n: n for n in ("isnan", "isinf", "isfinite")}),
    ("promote pair", "self, other", "", {"gcd": "gcd"}),
    ("promote", "self, other", "", {f"bitwise_{n}_shift": f"{n}_shift" for n in ("left", "right")}),
):
    _rows = [f"{n}({_operands}) = np.{f}({_operands}){_formula}" for n, f in _known.items()]
    declare(globals(), "\n".join((f"[torch tensor {_flags}]", *_rows)))


def _scalable(name: str, plain: Any, scaled: Any, places: str) -> None:
    def call(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
        if out is not None:
            return into(name, out, call(input, other, alpha=alpha), (input, other))
        plainly = alpha == 1 and alpha is not True
        return plain(input, other) if plainly else scaled(input, other, alpha)

    call.__name__ = name
    function(places)(call)


_scalable("add", aten.add_to, aten.add_scaled, "torch tensor")
_scalable("sub", aten.sub_to, aten.sub_scaled, "torch tensor")
_scalable("sub_", aten.sub_to_, aten.sub_scaled_, "tensor")


@composite(name="aten::add_")
def _add_alike(self: Tensor, other: Tensor, alpha: Any) -> Tensor:
    if 0 in self.array.strides:
        refuse_shared(self.array)
    if self.array.base is not None or other.array.base is not None:
        refuse_overlap(self.array, other.array)
    np.add(self.array, other.array if alpha == 1 else other.array * alpha, self.array)
    bump_version(self)
    return self


@function("tensor")
def add_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """`self += alpha * other`. Optimizers live on this: a short way for equals without a graph."""
    if not is_grad_enabled() and isinstance(other, Tensor):
        array, more = self.array, other.array
        if array.dtype is more.dtype and array.shape == more.shape and array.dtype.kind == "f":
            try:
                return _add_alike(self, other, alpha)
            except (NotImplementedError, TypeError):
                if not other.is_sparse:
                    raise
                return other.add_to(self, alpha)
    if alpha == 1 and alpha is not True:
        return aten.add_to_(self, other)
    return aten.add_scaled_(self, other, alpha)


@function("torch tensor")
def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Tensor:
    """`input / other`; with rounding_mode "floor" or "trunc" its integer part, without gradient."""
    if out is not None:
        found = div(input, other, rounding_mode=rounding_mode)
        return into("aten::div", out, found, (input, other))
    if rounding_mode not in {None, "trunc", "floor"}:
        raise RuntimeError(f"div expected rounding_mode None, 'trunc' or 'floor', {rounding_mode=}")
    if rounding_mode == "floor":
        return aten.floor_divide(input, other)
    if rounding_mode is None:
        return aten.div_to(input, other)
    if result_dtype(*(getattr(x, "array", x) for x in (input, other))).kind in "biu":
        return aten.floor_divide(aten.sub_to(input, aten.fmod(input, other)), other)
    return aten.div_to(input, other).trunc()


@function("tensor")
def div_(self: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """`self /= other`, rounded as `div` would."""
    if rounding_mode is None:
        return aten.div_to_(self, other)
    return aten.copy_(self, div(self, other, rounding_mode=rounding_mode))


def _reached(x: Any, dtype: Any) -> Any:
    number = python_number(x)
    return wrap(filling(number, dtype)) if isinstance(number, (int, float, complex)) else x


@function("torch")
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """Elements of `input` where `condition`, of `other` elsewhere; alone, where it is."""
    if input is None and other is None:
        return aten.nonzero(condition, as_tuple=True)
    dtype = result_dtype(getattr(input, "array", input), getattr(other, "array", other))
    if dtype.itemsize != 2 or dtype.kind not in "fV":  # numbers become infinite in 16 bits
        if not isinstance(input, Tensor):
            input = _reached(input, dtype)
        if not isinstance(other, Tensor):
            other = _reached(other, dtype)
    pair = [x if x.dtype == dtype else x.to(dtype) for x in as_tensors("where", input, other)]
    return aten.where_self(condition, *pair)
