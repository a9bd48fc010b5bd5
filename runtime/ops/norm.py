"""Norms of vectors. Source: derivatives.yaml, FunctionsManual.cpp (norm_backward)."""

# ruff: noqa: PLW0108  (a formula's lambda names what is defined further down)
# mypy: disable-error-code="no-any-return,has-type,call-overload"

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import Tensor, wrap
from .elementwise import where
from .reduction import Dim, amax, amin, axes, back
from .table import op


def norm(input: Tensor, p: Any = 2, dim: Dim = None, keepdim: bool = False) -> Tensor:  # noqa: A002
    """The p-norm over `dim` ("fro" is 2)."""
    if p in (2, "fro"):
        return norm2(input, dim, keepdim)
    if p == float("inf"):
        return amax(input.abs(), dim, keepdim)
    if p == float("-inf"):
        return amin(input.abs(), dim, keepdim)
    if p == 0:
        return (input != 0).to(input.dtype).sum(dim, keepdim)
    if p == 1:
        return input.abs().sum(dim, keepdim)
    return (input.abs() ** p).sum(dim, keepdim) ** (1.0 / p)


norm2 = op(
    "aten::linalg_vector_norm",
    lambda self, dim=None, keepdim=False: np.sqrt(
        np.add.reduce((self * self.conj()).real, axes(dim, self.ndim), None, None, keepdim)
    ),
    "self",
    self=lambda grad, self, result, dim, keepdim: _norm_back(grad, self, result, dim, keepdim),
)


def _norm_back(grad: Tensor, self: Tensor, result: Tensor, dim: Any, keepdim: bool) -> Tensor:
    shape = self.array.shape
    length = back(result, shape, dim, keepdim)
    scaled = self * (back(grad, shape, dim, keepdim) / length)
    return where(length == 0, wrap(np.zeros((), scaled.array.dtype)), scaled)
