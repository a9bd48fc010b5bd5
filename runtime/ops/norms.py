"""Norms. Source: derivatives.yaml, FunctionsManual.cpp."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.aten import aten
from ..engine.tensor import Tensor
from .make import declare, function
from .reduction import back


def _norm(self: Any, ord: float, dim: Any, keepdim: bool) -> Any:
    if abs(ord) == math.inf:
        return (np.max if ord > 0 else np.min)(np.abs(self), dim, keepdims=keepdim)
    if ord == 0:
        return np.sum(self != 0, dim, keepdims=keepdim).astype(self.real.dtype)
    each = np.abs(self) if ord == 1 else np.abs(self) ** ord
    total = each.sum(dim, keepdims=keepdim)
    return total if ord == 1 else total ** (1.0 / ord)


def _two_back(grad: Tensor, self: Tensor, result: Tensor, *how: Any) -> Tensor:
    """A second gradient of zeros is nan, as in PyTorch."""
    grad, result = (back(x, self.array.shape, *how) for x in (grad, result))
    return grad * (self / result).masked_fill(result == 0, 0)


def _norm_back(
    grad: Tensor, self: Tensor, result: Tensor, ord: float, dim: Any, keepdim: bool
) -> Tensor:
    """Source: FunctionsManual.cpp, linalg_vector_norm_backward."""
    shape = self.array.shape
    grad, result = (back(x, shape, dim, keepdim) for x in (grad, result))
    if ord == 0:
        return aten.mul(self, 0)
    if ord == 1:
        return self.sgn() * grad
    if abs(ord) == math.inf:
        mask: Any = self.abs() == result
        return self.sgn() * (grad * mask / mask.sum(dim, keepdim=True))
    if ord < 1:
        each = self.sgn() * aten.pow(self.abs(), ord - 1).masked_fill(self == 0, 0)
        return each * grad * result ** (1 - ord)
    each = self.sgn() * self.abs() ** (ord - 1) if ord < 2 else self * self.abs() ** (ord - 2)
    return each * (grad / aten.pow(result, ord - 1)).masked_fill(result == 0, 0)


_ROWS = r"""
[wide contiguous quiet]
linalg_vector_norm.two(self, dim: dims, keepdim: bool)
    = np.sqrt(np.add.reduce((self * self.conj()).real, dim, None, None, keepdim))
    self: _two_back(grad, self, result, dim, keepdim)
linalg_vector_norm.of(self, ord: float, dim: dims, keepdim: bool)
    = _norm(self, ord, dim, keepdim) => _norm_back(grad, self, result, ord, dim, keepdim)
[torch tensor]
dist(self, other, p: float = 2) := norm(self - other, p)
"""
declare(globals(), _ROWS)


@function("torch tensor")
def norm(
    input: Tensor, p: Any = 2, dim: Any = None, keepdim: Any = False, dtype: Any = None
) -> Any:
    """Return the p-norm over `dim` ("fro" is 2)."""
    if dtype is None and input.array.dtype.kind in "biu":
        raise RuntimeError("norm: expected a floating point or complex tensor")
    input = input if dtype is None else input.to(dtype=dtype)
    if p in (2, "fro", None):
        return aten.linalg_vector_norm_two(input, dim, keepdim)
    if p == "nuc":
        return aten.linalg_matrix_norm(input, p, (-2, -1) if dim is None else dim, keepdim)
    return aten.linalg_vector_norm_of(input, p, dim, keepdim)
