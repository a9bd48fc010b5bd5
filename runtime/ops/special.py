"""Special functions: gamma and its kin, the error function and its inverse.

Source: aten/src/ATen/native/Math.h, derivatives.yaml.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..engine.hooks import check
from ..engine.tensor import Tensor
from .creation import _draws  # noqa: F401  (rows use it)
from .elementwise import erf_array
from .make import declare

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


def _mapped(function: Any, a: Any) -> Any:
    """A function of floats, elementwise in double precision."""
    wide = a.astype(np.float64).reshape(-1)
    found = np.fromiter(map(function, wide.tolist()), np.float64, wide.size)
    return found.reshape(a.shape).astype(a.dtype)


def _lgamma_of(x: float) -> float:
    if x <= 0 and x == math.floor(x):
        return math.inf
    return math.lgamma(x)


def _real(a: Any) -> Any:
    check(a.dtype.kind != "c", "not implemented for complex numbers", ValueError)
    return a


def _lgamma(a: Any) -> Any:
    return _mapped(_lgamma_of, a)


def _digamma(a: Any) -> Any:
    """By recurrence up to 10, an asymptotic series from there, and reflection below 0."""
    x = a.astype(np.float64)
    low = x <= 0
    up = np.where(low, 1 - x, x)
    found = np.zeros_like(up)
    for _ in range(10):
        small = up < 10
        found -= np.where(small, 1 / up, 0)
        up = np.where(small, up + 1, up)
    series = sum(b / (2 * k * up ** (2 * k)) for k, b in enumerate(_BERNOULLI, 1))
    found += np.log(up) - 0.5 / up - series
    found = np.where(low, found - np.pi / np.tan(np.pi * x), found)
    found = np.where(low & (x == np.floor(x)), np.nan, found)
    return np.where(x == 0, -np.copysign(np.inf, x), found).astype(a.dtype)


def _zeta(s: Any, a: Any) -> Any:
    """The Hurwitz zeta function, by Euler and Maclaurin."""
    total = sum((a + k) ** -s for k in range(16))
    far = a + 16
    total = total + far ** (1 - s) / (s - 1) + 0.5 * far**-s
    factor = s
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        total = total + bernoulli / math.factorial(2 * k) * factor * far ** (1 - s - 2 * k)
        factor = factor * (s + 2 * k - 1) * (s + 2 * k)
    return total


def _polygamma(n: int, a: Any) -> Any:
    check(n >= 0, "polygamma(n, x) does not support negative n.")
    if n == 0:
        return _digamma(a)
    x = a.astype(np.float64)
    low = (x < 0.5) & (n == 1)
    found = (-1) ** (n + 1) * math.factorial(n) * _zeta(float(n + 1), np.where(low, 1 - x, x))
    wave = np.sin(a.dtype.type(np.pi) * a)  # rounded as PyTorch does, which shows near its zeros
    return np.where(low, (np.pi / wave) ** 2 - found, found).astype(a.dtype)


def _erfinv(a: Any) -> Any:
    """A first guess (Winitzki), and Newton's steps to the last digits."""
    y = a.astype(np.float64)
    inner = np.log1p(-y * y)
    half = 2 / (np.pi * 0.147) + inner / 2
    x = np.copysign(np.sqrt(np.sqrt(half * half - inner / 0.147) - half), y)
    for _ in range(4):
        error = (erf_array(x) - y) / (2 / math.sqrt(np.pi) * np.exp(-x * x))
        x = x - np.where(np.isfinite(error), error / (1 + x * error), 0)
    return np.where(np.abs(y) == 1, np.copysign(np.inf, y), x).astype(a.dtype)


def _no_slope(grad: Tensor) -> Tensor:
    told = "gradients of samples of Gamma, Beta and Dirichlet are not supported"
    raise NotImplementedError(told)


def _drawn_gamma(a: Any, draws: Any) -> Any:
    found = np.asarray(draws.standard_gamma(a), a.dtype)  # a float, of one number
    return np.maximum(found, np.finfo(a.dtype).tiny)


def _xlogy(self: Any, other: Any) -> Any:
    other = np.asarray(other, self.dtype)  # a number's logarithm would be a float64
    return np.where((self == 0) & ~np.isnan(other), 0, self * np.log(other))


def _clamped(self: Tensor, eps: Any) -> Tensor:
    self = self.float() if self.array.dtype.kind == "b" else self
    return self if eps is None else self.clamp(eps, 1 - eps)


_ROWS = r"""
[torch tensor float quiet wide in_place]
lgamma(self) = _lgamma(_real(self)) => grad * digamma(self)
digamma(self) = _digamma(_real(self)) => grad * polygamma(1, self)
erfinv(self) = _erfinv(_real(self)) => grad * (result * result).exp() * 0.886226925452758
erfc(self) = 1 - erf_array(_real(self)) => grad * (-(self * self)).exp() * -1.1283791670955126
sinc(self) = np.sinc(self)
    self: grad * conj(where(self == 0, 0, (cos(self * 3.141592653589793) - result) / self))
[torch tensor quiet]
logit(self, eps: any = None) := log(_clamped(self, eps) / (1 - _clamped(self, eps)))
[torch quiet wide]
polygamma(n: int, self) = _polygamma(n, _real(to_float(self))) => grad * polygamma(n + 1, self)
[torch tensor promote float quiet wide]
xlogy(self, other) = _xlogy(self, other)
    self: grad * xlogy((self != 0).to(grad.dtype), other)
    other: grad * self / other
[torch quiet wide]
_standard_gamma(self, generator: any = None) = _drawn_gamma(self, _draws(generator))
    self: _no_slope(grad)
"""
declare(globals(), _ROWS)
