"""Activations, the softmax family and losses.

Source: derivatives.yaml, torch/nn/functional.py.
"""

# ruff: noqa: PLW0108  (a formula's lambda names what is defined further down)
# mypy: disable-error-code="no-any-return,has-type,call-overload"

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import to_float
from ..tensor import Tensor, wrap
from .composite import composite
from .elementwise import quiet, where
from .table import binary, op, unary
from .views import dimension


def _sigmoid(a: Any) -> Any:
    return 1 / (1 + np.exp(-a))


sigmoid = unary(
    "aten::sigmoid", quiet(_sigmoid), lambda grad, result: sigmoid_backward(grad, result)
)
sigmoid_backward = binary(
    "aten::sigmoid_backward",
    lambda grad, result: grad * (result * (1 - result)),
    self=lambda grad, other: sigmoid_backward(grad, other),
    other=lambda grad, self, other: grad * self * (1 - other * 2),
)
relu = unary(
    "aten::relu",
    lambda a: np.maximum(a, 0),
    lambda grad, result: threshold_backward(grad, result, 0),
    floating=False,
)
threshold_backward = op(
    "aten::threshold_backward",
    lambda self, result, threshold: self * (result > threshold),
    "self",
    self=lambda grad, result, threshold: threshold_backward(grad, result, threshold),
)


def _leaky(self: Any, slope: float = 0.01) -> Any:
    return np.where(self > 0, self, self * self.dtype.type(slope))


leaky_relu = op(
    "aten::leaky_relu",
    _leaky,
    "self",
    self=lambda grad, self, slope: where(self > 0, grad, grad * slope),
)


@quiet
def _elu_forward(self: Any, alpha: Any) -> Any:
    return np.where(self > 0, self, alpha * np.expm1(np.minimum(self, 0)))


elu = op(
    "aten::elu",
    lambda self, alpha=1.0: _elu_forward(self, self.dtype.type(alpha)),
    "self",
    self=lambda grad, self, alpha: where(self > 0, grad, grad * self.clamp(max=0).exp() * alpha),
)


@quiet
def _softplus_forward(self: Any, beta: float, threshold: float) -> Any:
    scaled = self * self.dtype.type(beta)
    soft = np.log1p(np.exp(np.minimum(scaled, threshold))) / self.dtype.type(beta)
    return np.where(scaled > threshold, self, soft)


softplus = op(
    "aten::softplus",
    lambda self, beta=1.0, threshold=20.0: _softplus_forward(self, beta, threshold),
    "self",
    self=lambda grad, self, beta, threshold: where(
        self * beta > threshold, grad, grad * (self * beta).sigmoid()
    ),
)


@composite("aten::silu")
def silu(input: Tensor) -> Tensor:  # noqa: A002
    """`x * sigmoid(x)`."""
    return input * sigmoid(input)


@composite("aten::hardtanh")
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:  # noqa: A002
    """Clamped to [min_val, max_val]."""
    inside = (input > min_val).logical_and(input < max_val)
    edge = wrap(np.clip(input.array, min_val, max_val))
    return where(inside, input, edge)


_erf_each: Any = np.frompyfunc(math.erf, 1, 1)
erf = unary(
    "aten::erf",
    lambda a: _erf_each(a).astype(a.dtype) if a.ndim else np.asarray(math.erf(a), a.dtype),
    lambda grad, self: grad * (-(self * self)).exp() * (2 / math.sqrt(math.pi)),
)


@composite("aten::gelu")
def gelu(input: Tensor, approximate: str = "none") -> Tensor:  # noqa: A002
    """`x * Phi(x)`, Phi the normal distribution's, or its tanh approximation."""
    if approximate == "tanh":
        inner = (input + input * input * input * 0.044715) * math.sqrt(2 / math.pi)
        return input * (inner.tanh() + 1) * 0.5
    if approximate != "none":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return input * (erf(input * math.sqrt(0.5)) + 1) * 0.5


# Softmax


def _softmax(self: Any, dim: int) -> Any:
    axis = dimension(dim, self.ndim) if self.ndim else None
    found = np.exp(self - np.max(self, axis, keepdims=True))
    return found / np.add.reduce(found, axis, None, None, True)


def _log_softmax(self: Any, dim: int) -> Any:
    axis = dimension(dim, self.ndim) if self.ndim else None
    found = self - np.max(self, axis, keepdims=True)
    return found - np.log(np.add.reduce(np.exp(found), axis, None, None, True))


def _softmax_back(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    scaled = grad * result
    return scaled - result * scaled.sum(dim, keepdim=True)


def _log_softmax_back(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    return grad - result.exp() * grad.sum(dim, keepdim=True)


_softmax_op = op("aten::_softmax", _softmax, "self", self=_softmax_back)
_log_softmax_op = op("aten::_log_softmax", _log_softmax, "self", self=_log_softmax_back)


def _as_float(input: Tensor, dtype: Any) -> Tensor:  # noqa: A002
    if dtype is not None:
        return input.to(dtype)
    return input if input.array.dtype.kind == "f" else wrap(to_float(input.array))


@composite("aten::softmax")
def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:  # noqa: A002
    """exp, divided by its sum over `dim`."""
    return _softmax_op(_as_float(input, dtype), dim)


@composite("aten::log_softmax")
def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:  # noqa: A002
    """The logarithm of softmax, computed without overflow."""
    return _log_softmax_op(_as_float(input, dtype), dim)
