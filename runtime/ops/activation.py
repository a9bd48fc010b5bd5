"""Activations. Source: derivatives.yaml, aten/src/ATen/native/Activation.cpp."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor
from .elementwise import ERF, erf_array, polynomial
from .make import declare, refused

_TANH = math.sqrt(2 / math.pi)
_BLOCK = 1 << 15


def _in_blocks(function: Any, *arrays: Any) -> Any:
    """`function` of arrays of one shape, elementwise, in pieces that stay in the cache."""
    first = arrays[0]
    if first.ndim and first.size <= _BLOCK:
        return function(*arrays)
    found = np.empty_like(first)
    if any(a.strides != found.strides for a in arrays):
        return function(*arrays)
    flat = [a.ravel("K") for a in (*arrays, found)]  # views, as all are dense
    for start in range(0, first.size, _BLOCK):
        flat[-1][start : start + _BLOCK] = function(*(a[start : start + _BLOCK] for a in flat[:-1]))
    return found


def _between(x: Any, low: Any, high: Any) -> Any:
    if low > high:
        raise refused("min_val cannot be greater than max_val", ValueError)
    return np.clip(x, x.dtype.type(low), x.dtype.type(high))


def _gelu(x: Any, approximate: str) -> Any:
    if approximate not in _SHARES:
        raise ValueError("approximate argument must be either none or tanh.")
    return _in_blocks(lambda x: _gelu_block(x, approximate), _floats(x))


def _gelu_block(x: Any, approximate: str) -> Any:
    near = np.clip(x, -_FAR, _FAR)
    return x * _gelu_share(near, near * near, approximate)


def _gelu_back(grad: Any, x: Any, approximate: str) -> Any:
    return _in_blocks(lambda grad, x: _gelu_block_back(grad, x, approximate), grad, x)


_FAR = 100  # from where on Phi is 0 or 1, and powers of it are within float32


def _gelu_share(x: Any, square: Any, approximate: str) -> Any:
    """Phi(x), or its approximation."""
    if approximate == "none" and x.itemsize == 8:
        found = erf_array(x * math.sqrt(0.5))
    else:
        found = polynomial(square, _SHARES[approximate])
        found *= x
        np.tanh(found, out=found)
    found += 1
    found *= x.dtype.type(0.5)
    return found


# What is multiplied by x before tanh makes `2 Phi(x) - 1` of it: polynomials in x * x.
_SHARES = {
    "none": tuple(c * 0.5 ** (len(ERF) - k - 0.5) for k, c in enumerate(ERF)),
    "tanh": (0.044715 * _TANH, _TANH),
}


def _gelu_block_back(grad: Any, x: Any, approximate: str) -> Any:
    """`x Phi(x)` has the slope `Phi + x phi`."""
    x = np.clip(x, -_FAR, _FAR)
    found = x * x
    share = _gelu_share(x, found, approximate)
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


def _per_channel(x: Tensor, weight: Tensor) -> Tensor:
    n, channels = weight.array.size, x.array.shape[1] if x.array.ndim > 1 else 1
    check(weight.array.ndim < 2, f"weight: expected 0 or 1 dimensions, not {weight.array.ndim}")
    check(n in (1, channels), f"Mismatch of parameter numbers: {n}, and {channels} channels.")
    if n == 1:
        return weight if x.array.ndim else weight.reshape(())
    return weight.reshape((-1, *(1,) * max(x.array.ndim - 2, 0)))


def _gated(x: Tensor, dim: int) -> Tensor:
    even = x.array.ndim and not x.array.shape[dim] % 2
    check(bool(even), "Halving dimension must be even")
    first, second = x.chunk(2, dim)
    return first * second.sigmoid()


def _floats(x: Any, lambd: float = 0) -> Any:
    check(lambd >= 0, f"lambda must be greater or equal to 0, but found to be {lambd}", ValueError)
    check(x.dtype.kind in "fV", f"not implemented for {x.dtype}", ValueError)
    return x


def _not_zero(alpha: float) -> float:
    check(alpha != 0, "ZeroDivisionError: alpha cannot be 0 for CELU", ValueError)
    return alpha


def _real(x: Any) -> Any:
    check(x.dtype.kind in "iufV", f"not implemented for {x.dtype}", ValueError)
    return x


def _signed(x: Any) -> Any:
    check(x.dtype.kind != "b", "silu is not implemented for bool")
    return x


def _random_slopes(x: Tensor, lower: float, upper: float, training: bool) -> Tensor:
    check(lower <= upper, "Lower bound should be less than or equal to the upper bound")
    if not training:
        return aten.leaky_relu(x, (lower + upper) / 2)
    slopes = aten.empty_like(x.detach()).uniform_(lower, upper)
    return aten.where(x >= 0, x, x * slopes)


def _gumbel(logits: Tensor, tau: float, hard: bool, dim: int) -> Tensor:
    noise = -aten.empty_like(logits.detach()).exponential_().log()
    soft = aten.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    best = soft.max(dim, keepdim=True)[1]
    return aten.zeros_like(soft.detach()).scatter(dim, best, 1.0) - soft.detach() + soft


def _elu_slope(x: Any, alpha: float, by: float = 1.0) -> Any:
    return np.where(x <= 0, np.exp(np.minimum(x, 0) * by) * alpha, 1).astype(x.dtype, copy=False)


def _mish_slope(x: Any) -> Any:
    turned = np.tanh(np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 20)))))
    return turned + x * (1 / (1 + np.exp(-x))) * (1 - turned * turned)


def _silu_slope(x: Any, share: Any) -> Any:
    return share * (1 + x * (1 - share))


def _above(grad: Any, result: Any, threshold: Any) -> Any:
    """The gradient where the result is above, and 0 elsewhere, also of one that is infinite.

    To multiply by the mask is far faster than to choose; what is not finite shows in the product.
    """
    found = grad * np.logical_not(result <= threshold)  # NaN is above
    flat = found.reshape(-1)
    if flat.dtype.char in "fd" and math.isfinite(np.dot(flat, flat)):
        return found
    return np.where(result <= threshold, grad.dtype.type(0), grad)


_ROWS = r"""
[torch tensor nn in_place inplace]
relu(self) = np.maximum(self, 0) => threshold_backward(grad, result, 0) || _above(grad, result, 0)
[]
threshold_backward(grad_output, self, threshold: any) = _above(grad_output, self, threshold)
    grad_output: threshold_backward(grad, self, threshold)
    self: zeros_like(grad)
[nn wide in_place inplace]
leaky_relu(self, negative_slope: any = 0.01)
    = np.where(self > 0, self, self * self.dtype.type(negative_slope))
    self: where(self > 0, grad, grad * negative_slope)
elu(self, alpha: any = 1.0)
    = np.where(_floats(self) > 0, self, self.dtype.type(alpha) * np.expm1(np.minimum(self, 0)))
    self: where(self <= 0, grad * where(self < 0, self, 0).exp() * alpha, grad)
        || grad * _elu_slope(self, alpha)
celu(self, alpha: any = 1.0)
    = np.where(_floats(self) > 0, self,
    self.dtype.type(alpha) * np.expm1(np.minimum(self, 0) * (1 / _not_zero(alpha))))
    self: where(self <= 0, grad * (where(self < 0, self, 0) / alpha).exp(), grad)
        || grad * _elu_slope(self, 1, 1 / alpha)
threshold(self, threshold: any, value: any)
    = np.where(_real(self) <= threshold, self.dtype.type(value), self)
    self: threshold_backward(grad, self, threshold)
hardtanh(self, min_val: any = -1.0, max_val: any = 1.0)
    = _between(self, min_val, max_val)
    self: where((self <= min_val).logical_or(self >= max_val), 0, grad)
[nn wide]
softplus(self, beta: any = 1.0, threshold: any = 20.0) = np.where(self * beta > threshold, self,
    np.log1p(np.exp(np.minimum(self * beta, threshold))) / beta)
    self: where(self * beta > threshold, grad, grad * (self * beta).sigmoid())
logsigmoid(self) = np.minimum(self, 0) - np.log1p(np.exp(-np.abs(self))) => grad * (-self).sigmoid()
[nn wide inplace]
hardsigmoid(self) = np.clip(self / 6 + 0.5, 0, 1).astype(self.dtype)
    self: where((self > -3).logical_and(self < 3), grad * 0.1666666716337204, 0)
hardswish(self) = (self * np.clip(self + 3, 0, 6) / 6).astype(self.dtype)
    self: where(self < 3, where(self <= -3, 0, grad * (self / 3 + 0.5)), grad)
silu(self) = self / (1 + np.exp(-_signed(self)))
    self: grad * (self.sigmoid() * (1 + self * (1 - self.sigmoid())))
        || grad * _silu_slope(self, 1 / (1 + np.exp(-self)))
mish(self) = self * np.tanh(np.logaddexp(0, self))
    self: grad * (softplus(self).tanh()
        + self * self.sigmoid() * (1 - softplus(self).tanh() ** 2))
        || grad * _mish_slope(self)
relu6(self) := hardtanh(self, 0.0, 6.0)
selu(self) := 1.0507009873554805 * elu(self, 1.6732632423543772)
rrelu(self, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False)
    := _random_slopes(self, lower, upper, training)
[nn wide]
softshrink(self, lambd: any = 0.5)
    = np.where(np.abs(_floats(self, lambd)) > lambd, self - np.sign(self) * self.dtype.type(lambd),
    0 * self)
    self: where(self.abs() <= lambd, 0, grad)
hardshrink(self, lambd: any = 0.5) = np.where(np.abs(_floats(self)) > lambd, self, 0 * self)
    self: where(self.abs() <= lambd, 0, grad)
gumbel_softmax(logits, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1)
    := _gumbel(logits, tau, hard, dim)
tanhshrink(self) := self - tanh(self)
prelu(self, weight) := where(self > 0, self, self * _per_channel(self, weight))
glu(self, dim: int = -1) := _gated(self, dim)
softsign(self) := self / (self.abs() + 1)
[torch nn]
bilinear(input1, input2, weight, bias = None)
    := add(einsum("...i,oij,...j->...o", input1, weight, input2), 0 if bias is None else bias)
[nn wide]
gelu(self, approximate: str = "none") = _gelu(self, approximate)
    self: grad * _gelu_slope(self, approximate) || _gelu_back(grad, self, approximate)
[torch tensor]
clamp_max(self, max) := clamp(self, None, max)
clamp_min(self, min) := clamp(self, min)
"""
declare(globals(), _ROWS)
