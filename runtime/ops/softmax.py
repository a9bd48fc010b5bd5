"""softmax and its kin. Source: derivatives.yaml, aten/src/ATen/native/SoftMax.cpp."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..engine.tensor import Tensor
from .make import declare, refused
from .reduction import back  # noqa: F401  (rows use it)

_add: Any = np.add.reduce


def _dim(self: Tensor, dim: Any) -> Any:
    """Left out it is 0 or 1, as in functions of old."""
    if dim is None:
        what = "Implicit dimension choice for softmax has been deprecated."
        warnings.warn(f"{what} Change the call to include dim=X as an argument.", stacklevel=4)
        return 0 if self.array.ndim in (0, 1, 3) else 1
    return dim


def _soft(self: Any, dim: int, log: bool) -> Any:
    if self.dtype.kind not in "fV":
        raise RuntimeError(f"softmax is not implemented for {self.dtype}")
    axis = dim if self.ndim else None
    apart = np.asarray(self - np.max(self, axis, keepdims=True, initial=-np.inf))
    each = np.asarray(np.exp(apart))
    total = _add(each, axis, None, None, True)
    if log:
        return np.subtract(apart, np.log(total), out=apart)
    return np.divide(each, total, out=each)


def _safe_soft(self: Any, dim: int) -> Any:
    """Rows of -inf alone give 0."""
    found = _soft(self, dim, False)
    empty = np.isneginf(self).all(dim, keepdims=True)
    return np.where(empty, found.dtype.type(0), found) if empty.any() else found


def _soft_back(grad: Any, result: Any, dim: int) -> Any:
    scaled = grad * result
    return scaled - result * scaled.sum(dim, keepdims=True)


def _log_soft_back(grad: Any, result: Any, dim: int) -> Any:
    return grad - np.exp(result) * grad.sum(dim, keepdims=True)


def _soft_second(grad: Tensor, given: Tensor, output: Tensor, dim: int) -> Tensor:
    inner = (given * output).sum(dim, keepdim=True)
    return grad * (given - inner) - given * (grad * output).sum(dim, keepdim=True)


def _given(dim: Any) -> Any:
    if dim is None:
        raise refused("logsumexp() missing 1 required positional argument: 'dim'")
    return dim


def _logsumexp(self: Any, dim: Any, keepdim: bool) -> Any:
    top = self.real.max(dim, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0)
    total = np.log(np.exp(self - top).sum(dim, keepdims=True)) + top
    return total if keepdim else total.squeeze(dim)


_ROWS = r"""
[torch tensor nn]
softmax(self, dim: int = None, dtype = None)
    := _softmax(self if dtype is None else self.to(dtype=dtype), _dim(self, dim))
log_softmax(self, dim: int = None, dtype = None)
    := _log_softmax(self if dtype is None else self.to(dtype=dtype), _dim(self, dim))
[nn]
softmin(self, dim: int = None, dtype = None)
    := softmax(-self, dim, dtype=dtype)
[torch tensor float wide contiguous quiet]
logsumexp(self, dim: any = None, keepdim: bool = False)
    = _logsumexp(self, axes(_given(dim), self.ndim), keepdim)
    self: back(grad, self_shape, dim, keepdim)
        * conj((self - back(result, self_shape, dim, keepdim)).exp())
[wide contiguous]
_softmax(self, dim: dim) = _soft(self, dim, False)
    self: _softmax_backward_data(grad, result, dim) || _soft_back(grad, result, dim)
_safe_softmax(self, dim: dim) = _safe_soft(self, dim)
    self: _softmax_backward_data(grad, result, dim) || _soft_back(grad, result, dim)
_log_softmax(self, dim: dim) = _soft(self, dim, True)
    self: _log_softmax_backward_data(grad, result, dim) || _log_soft_back(grad, result, dim)
[wide]
_softmax_backward_data(grad_output, output, dim: int) = _soft_back(grad_output, output, dim)
    grad_output: _softmax_backward_data(grad, output, dim)
    output: _soft_second(grad, grad_output, output, dim)
_log_softmax_backward_data(grad_output, output, dim: int) = _log_soft_back(grad_output, output, dim)
    grad_output: grad - (grad * output.exp()).sum(dim, keepdim=True)
    output: -grad * output.exp() * grad_output.sum(dim, keepdim=True)
"""
declare(globals(), _ROWS)
