"""Products along any dimensions, and powers of matrices.

Source: aten/src/ATen/native/LinearAlgebra.cpp.
"""

from __future__ import annotations

import math
from functools import reduce  # noqa: F401  (a row uses it)
from typing import Any

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor
from .make import conj, declare, dimension  # noqa: F401  (rows use it)


def _cross(self: Tensor, other: Tensor, dim: Any) -> Tensor:
    n = self.array.ndim
    check(n == other.array.ndim, "linalg.cross: inputs must have the same number of dimensions.")
    a, b = aten.broadcast_tensors(self, other)
    if dim is None:
        dim = next((d for d, size in enumerate(a.array.shape) if size == 3), None)
        check(dim is not None, "no dimension of size 3 in input")
    dim = dimension(dim, n)
    three = self.array.shape[dim] == 3 == other.array.shape[dim]
    check(three, f"linalg.cross: inputs dimension {dim} must have length 3")
    return a.roll(-1, dim) * b.roll(-2, dim) - a.roll(-2, dim) * b.roll(-1, dim)


def _tensordot(a: Tensor, b: Tensor, dims: Any) -> Tensor:
    if isinstance(dims, (int, Tensor)):
        count = int(dims)
        check(count >= 0, f"tensordot expects dims >= 0, but got dims={count}")
        dims = list(range(-count, 0)), list(range(count))
    left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
    left, right = ([dimension(d, x.array.ndim) for d in ds] for x, ds in ((a, left), (b, right)))
    for one, other in zip(left, right, strict=False):
        if a.array.shape[one] == 1 != b.array.shape[other]:
            b = b.sum(other, keepdim=True, dtype=b.dtype)
        elif b.array.shape[other] == 1 != a.array.shape[one]:
            a = a.sum(one, keepdim=True, dtype=a.dtype)
    fits = [a.array.shape[d] for d in left] == [b.array.shape[d] for d in right]
    check(fits, "contracted dimensions need to match")
    rows, columns = (
        [d for d in range(x.array.ndim) if d not in gone] for x, gone in ((a, left), (b, right))
    )
    inner = math.prod(a.array.shape[d] for d in left)
    one = a.permute(rows + left).reshape(-1 if inner else 0, inner)
    other = b.permute(right + columns).reshape(inner, -1 if inner else 0)
    shape = [a.array.shape[d] for d in rows] + [b.array.shape[d] for d in columns]
    return aten.mm(one, other).reshape(shape)


_ROWS = r"""
[torch tensor]
cross(self, other, dim = None) := _cross(self, other, dim)
inner(self, other) := tensordot(self, other, [[-1], [-1]])
    if self.array.ndim and other.array.ndim else self * other
vdot(self, other) := dot(conj(self), other)
[torch]
tensordot(self, other, dims = 2) := _tensordot(self, other, dims)
[linalg]
cross(self, other, *, dim: int = -1) := _cross(self, other, dim)
diagonal(A, *, offset: int = 0, dim1: int = -2, dim2: int = -1)
    := A.diagonal(offset, dim1, dim2)
matmul(self, other) := matmul(self, other)
multi_dot(tensors) := reduce(matmul, tensors)
vecdot(x, y, *, dim: int = -1) := sum(conj(x) * y, dim)
"""
declare(globals(), _ROWS)
