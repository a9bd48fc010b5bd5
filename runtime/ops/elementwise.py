"""Elementwise operators, comparisons, `where`, and the activations. Source: derivatives.yaml."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import result_dtype, to_float
from ..grad_mode import is_grad_enabled
from ..tensor import Tensor, bump_version, wrap
from .arguments import as_tensors, conj, zeros_beside
from .table import aten, composite, declare, function


def _zero(x: Any) -> Tensor:
    return zeros_beside(x.array.shape, x)


def _abs(a: Any) -> Any:
    if a.dtype.kind == "b":
        raise NotImplementedError("aten::abs is not implemented for bool")
    return np.abs(a)


def _pow_self(grad: Tensor, self: Tensor, other: Any) -> Tensor:
    if not isinstance(other, Tensor):
        return _zero(grad) if other == 0 else grad * conj(self ** (other - 1) * other)
    return aten.where(other == 0, _zero(grad * other), grad * conj(other * self ** (other - 1)))


def _pow_other(grad: Tensor, self: Any, other: Any, result: Any) -> Any:
    if not isinstance(self, Tensor):
        return grad * (result * math.log(self))
    if self.array.dtype.kind == "c":
        return grad * conj(result * self.log())
    zero = aten.eq(self, 0).logical_and(other >= 0)
    return grad * aten.where(zero, _zero(result), result * self.log())


def _larger(grad: Tensor, one: Tensor, other: Tensor) -> Tensor:
    """The gradient of `maximum` for `one`: halved where both are equal."""
    return aten.where(one == other, grad / 2, grad).masked_fill(one < other, 0)


def _clamp(self: Any, low: Any, high: Any) -> Any:
    if self.dtype.kind == "c":
        raise ValueError("clamp is not supported for complex types")
    if low is None and high is None:
        raise ValueError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if float in {type(low), type(high)} and self.dtype.kind in "biu":
        self = to_float(self)
    if self.dtype.kind == "V":  # bfloat16 and a float would be float32
        low, high = (x if x is None else np.asarray(x, self.dtype) for x in (low, high))
    found = self if low is None else np.maximum(self, low)
    return found if high is None else np.minimum(found, high)


def _clamped(self: Tensor, low: Any, high: Any) -> list[Tensor]:
    """Where `clamp` changes nothing, gives the lower bound, or the upper (also if they cross)."""
    x = self.array
    low = -np.inf if low is None else getattr(low, "array", low)
    high = np.inf if high is None else getattr(high, "array", high)
    inside, below = (x >= low) & (x <= high), (x < low) & (low < high)
    return [wrap(inside), wrap(below), wrap((x > high) | (low > high))]


def _sgn(a: Any) -> Any:
    if a.dtype.kind == "c":
        return a / np.where(a == 0, 1, np.abs(a))
    return a.copy() if a.dtype.kind == "b" else np.nan_to_num(np.sign(a))  # 0 for nan


def _sgn_back(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    if self.array.dtype.kind != "c":
        return _zero(grad)
    each = grad / self.abs()
    return each - result * (each * result.conj()).real


def _erf(a: Any) -> Any:
    """In 32 bits a rational approximation, to 4e-7. Source: Eigen, generic_fast_erf_float."""
    if a.dtype.itemsize >= 8:
        found = np.fromiter(map(math.erf, a.ravel().tolist()), np.float64, a.size)
        return found.reshape(a.shape).astype(a.dtype)
    x = np.minimum(np.maximum(a, -3.832506856900711, dtype=np.float32), 3.832506856900711)
    above, below = (_polynomial(x * x, table) for table in _ERF)
    above /= below
    above *= x
    return above.astype(a.dtype, copy=False)


def _polynomial(x: Any, table: tuple[float, ...]) -> Any:
    """Horner's rule, in place."""
    found = x * x.dtype.type(table[0])
    for coefficient in table[1:-1]:
        found += x.dtype.type(coefficient)
        found *= x
    found += x.dtype.type(table[-1])
    return found


_ERF = (
    (2.29050658e-4, 3.40829101e-3, 5.09556951e-2, 1.85208322e-1, 1.12837914),
    (-1.1791603e-7, 2.35479665e-5, 1.01796253e-3, 1.40704702e-2, 0.110985052, 0.497469251, 1.0),
)
_TANH, _ORDERS = math.sqrt(2 / math.pi), {"contiguous_format": "C"}
_BLOCK = 1 << 14


def _in_blocks(function: Any, *arrays: Any) -> Any:
    """`function` of arrays of one shape, elementwise, in pieces that stay in the cache."""
    first = arrays[0]
    if first.ndim and first.size <= _BLOCK:
        return function(*arrays)
    flat = [np.ascontiguousarray(a).reshape(-1) for a in arrays]
    found = np.empty_like(flat[0])
    for start in range(0, first.size, _BLOCK):
        found[start : start + _BLOCK] = function(*(a[start : start + _BLOCK] for a in flat))
    return found.reshape(first.shape)


def _gelu(x: Any, approximate: str) -> Any:
    if approximate not in {"none", "tanh"}:
        raise ValueError("approximate argument must be either none or tanh.")
    return _in_blocks(lambda x: x * _gelu_share(x, approximate), x)


def _gelu_back(grad: Any, x: Any, approximate: str) -> Any:
    return _in_blocks(lambda grad, x: _gelu_block_back(grad, x, approximate), grad, x)


def _gelu_share(x: Any, approximate: str) -> Any:
    """Phi(x), or its approximation."""
    if approximate == "none":
        found = _erf(x * x.dtype.type(math.sqrt(0.5)))
    else:
        found = x * x
        found *= x.dtype.type(0.044715 * _TANH)
        found += x.dtype.type(_TANH)
        found *= x
        np.tanh(found, out=found)
    found += 1
    found *= x.dtype.type(0.5)
    return found


def _gelu_block_back(grad: Any, x: Any, approximate: str) -> Any:
    """`x Phi(x)` has the slope `Phi + x phi`."""
    share, found = _gelu_share(x, approximate), x * x
    if approximate == "none":
        found *= x.dtype.type(-0.5)
        np.exp(found, out=found)
        found *= x.dtype.type(math.sqrt(0.5 / math.pi))
    else:  # Phi (1 - Phi) times twice the slope of what tanh is taken of
        found *= x.dtype.type(6 * 0.044715 * _TANH)
        found += x.dtype.type(2 * _TANH)
        found *= share
        found *= 1 - share
    found *= x
    found += share
    found *= grad
    return found


def _gelu_slope(x: Tensor, approximate: str) -> Tensor:
    if approximate == "none":
        share = (aten.erf(x * math.sqrt(0.5)) + 1) * 0.5
        return share + x * (x * x * -0.5).exp() * math.sqrt(0.5 / math.pi)
    share = ((x + x * x * x * 0.044715) * _TANH).tanh() * 0.5 + 0.5
    return share + x * share * (1 - share) * (x * x * 3 * 0.044715 + 1) * (2 * _TANH)


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
pow(self, other)
    = self * self if other.__class__ in (int, float) and other == 2 else np.power(self, other)
    self: _pow_self(grad, self, other)
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
round(self, *, decimals: int = 0) = np.round(self, decimals) => _zero(grad)
clamp(self, min: number = None, max: number = None) = _clamp(self, min, max)
    self: grad * _clamped(self, min, max)[0]
    min: grad * _clamped(self, min, max)[1]
    max: grad * _clamped(self, min, max)[2]
masked_fill(self, mask, value: number)
    = np.where(as_mask(mask), np.asarray(value).astype(self.dtype), self)
    self: grad.masked_fill(mask, 0)
    value: (grad * mask).sum()
lerp(self, end, weight: number) = self + weight * (end - self) => grad * (1 - conj(weight))
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
clone(self, *, memory_format: any = None) = self.copy(order=_ORDERS.get(memory_format, "K")) => grad
nan_to_num(self, nan: any = 0.0, posinf: any = None, neginf: any = None)
    = np.nan_to_num(self, True, nan, posinf, neginf) => grad * self.isfinite()
angle(self) = np.angle(to_float(self))
    self: grad * self * 1j / self.abs().square() if self.is_complex() else _zero(grad)
[only_in_place]
zero(self) = np.broadcast_to(self.dtype.type(0), self.shape) => _zero(grad)
copy(self, src, non_blocking: bool = False)
    = np.broadcast_to(src, self.shape).astype(self.dtype, copy=False) => _zero(grad)
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
softplus(self, beta: any = 1.0, threshold: any = 20.0) = np.where(self * beta > threshold, self,
    np.log1p(np.exp(np.minimum(self * beta, threshold))) / beta)
    self: where(self * beta > threshold, grad, grad * (self * beta).sigmoid())
logsigmoid(self) = np.minimum(self, 0) - np.log1p(np.exp(-np.abs(self))) => grad * (-self).sigmoid()
silu(self) := self * self.sigmoid()
relu6(self) := hardtanh(self, 0.0, 6.0)
mish(self) := self * softplus(self).tanh()
hardsigmoid(self) := hardtanh(self / 6 + 0.5, 0.0, 1.0)
hardswish(self) := self * hardsigmoid(self)
softsign(self) := self / (self.abs() + 1)
gelu(self, approximate: str = "none") = _gelu(self, approximate)
    self: grad * _gelu_slope(self, approximate) || _gelu_back(grad, self, approximate)
""",
)


_PAIRS = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater"}
_PAIRS |= {"ge": "greater_equal"} | {f"logical_{n}": f"logical_{n}" for n in ("and", "or", "xor")}
_BITS = {f"bitwise_{n}": f"bitwise_{n}" for n in ("and", "or", "xor")}
for _flags, _operands, _formula, _known in (
    ("promote", "self, other", "", _PAIRS),
    ("promote in_place", "self, other", "", _BITS),
    ("in_place", "self", " => _zero(grad)", {n: n for n in ("floor", "ceil", "trunc")}),
    ("in_place", "self", "", {"logical_not": "logical_not", "bitwise_not": "invert"}),
    ("", "self", "", {n: n for n in ("isnan", "isinf", "isfinite")}),
):
    _rows = [f"{n}({_operands}) = np.{f}({_operands}){_formula}" for n, f in _known.items()]
    declare(globals(), "\n".join((f"[torch tensor {_flags}]", *_rows)))


def _scalable(name: str, plain: Any, scaled: Any, places: str) -> None:
    def call(input: Any, other: Any, *, alpha: Any = 1) -> Any:
        return plain(input, other) if alpha == 1 else scaled(input, other, alpha)

    call.__name__ = name
    function(places)(call)


_scalable("add", aten.add_to, aten.add_scaled, "torch tensor")
_scalable("sub", aten.sub_to, aten.sub_scaled, "torch tensor")
_scalable("sub_", aten.sub_to_, aten.sub_scaled_, "tensor")


@composite(name="aten::add_")
def _add_alike(self: Tensor, other: Tensor, alpha: Any) -> Tensor:
    np.add(self.array, other.array if alpha == 1 else other.array * alpha, self.array)
    bump_version(self)
    return self


@function("tensor")
def add_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """`self += alpha * other`. Optimizers live on this: a short way for equals without a graph."""
    if not is_grad_enabled() and isinstance(other, Tensor):
        array, more = self.array, other.array
        if array.dtype is more.dtype and array.shape == more.shape and array.dtype.kind == "f":
            return _add_alike(self, other, alpha)
    return aten.add_to_(self, other) if alpha == 1 else aten.add_scaled_(self, other, alpha)


@function("torch tensor")
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """`input / other`; with rounding_mode "floor" or "trunc" its integer part, without gradient."""
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


@function("torch")
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """Elements of `input` where `condition`, of `other` elsewhere; alone, where it is."""
    if input is None and other is None:
        return aten.nonzero(condition, as_tuple=True)
    dtype = result_dtype(getattr(input, "array", input), getattr(other, "array", other))
    pair = [x if x.dtype == dtype else x.to(dtype) for x in as_tensors("where", input, other)]
    return aten.where_self(condition, *pair)
