"""Products along any dimensions, covariances, powers, exponentials and inverses of matrices.

Source: aten/src/ATen/native/LinearAlgebra.cpp, Correlation.cpp.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap
from .make import conj, declare, dimension


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


def _kron(self: Tensor, other: Tensor) -> Tensor:
    n = max(self.array.ndim, other.array.ndim)
    one, two = ((1,) * (n - x.array.ndim) + x.array.shape for x in (self, other))
    left = self.reshape([s for size in one for s in (size, 1)])
    right = other.reshape([s for size in two for s in (1, size)])
    return (left * right).reshape([a * b for a, b in zip(one, two, strict=True)])


def _cov(self: Tensor, correction: int, fweights: Any, aweights: Any) -> Tensor:
    check(self.array.ndim <= 2, "cov(): expected input to have two or fewer dimensions")
    x = self.reshape(1, -1) if self.array.ndim < 2 else self
    weights: Any = None
    for name, each, kinds in (("fweights", fweights, "iu"), ("aweights", aweights, "fV")):
        fits = each is None or (each.array.shape == x.array.shape[1:] and each.dtype.kind in kinds)
        fits = fits and (each is None or not (each.array < 0).any())
        check(bool(fits), f"cov(): {name} do not fit: one for each column, none negative")
    for each in (fweights, aweights):
        weights = each if weights is None else weights if each is None else weights * each
    if weights is None:
        total, scale = x.array.shape[1], x.array.shape[1] - correction
        centred = x - x.sum(1, keepdim=True) / total
        return (centred @ conj(centred).mT / max(scale, 0)).squeeze()
    total = weights.sum()
    lost: Any = correction
    if aweights is not None and correction:
        lost = correction * (weights * aweights).sum() / total
    centred = x - (x * weights).sum(1, keepdim=True) / total
    return (centred @ conj(centred * weights).mT / (total - lost).clamp(min=0)).squeeze()


def _corrcoef(self: Tensor) -> Tensor:
    found = _cov(self, 1, None, None)
    if not found.array.ndim:
        return found / found
    scale = found.diagonal().real.sqrt()
    return found / scale[:, None] / scale[None]


def _power(self: Tensor, n: int) -> Tensor:
    check(self.array.ndim > 1, "linalg.matrix_power: A must have at least 2 dimensions.")
    if n < 0:
        self, n = aten.linalg_inv(self), -n
    found = None
    while n:
        if n & 1:
            found = self if found is None else found @ self
        self, n = self @ self if n > 1 else self, n >> 1
    return self.clone().zero_() + _unit(self) if found is None else found.clone()


def _unit(self: Tensor) -> Tensor:
    eye = np.eye(self.array.shape[-1], dtype=self.array.dtype)
    return wrap(np.broadcast_to(eye, self.array.shape).copy())


def _exponential(self: Tensor) -> Tensor:
    """Halved until it is small; a Taylor polynomial, squared as often again."""
    check(self.array.ndim > 1, "linalg.matrix_exp: A must have at least 2 dimensions")
    size = np.abs(self.array).sum(-1).max(initial=0)
    times = max(0, math.ceil(math.log2(size)) + 1) if size > 0 else 0
    x = self / 2.0**times
    found = term = _unit(self)
    for k in range(1, 19):
        term = term @ x / k
        found = found + term
    return reduce(lambda y, _: y @ y, range(times), found)


def _pinv(self: Tensor, rcond: Any, hermitian: bool) -> Tensor:
    if hermitian:
        self = self.tril() + conj(self.tril(-1)).mT
    if rcond is None:
        rcond = max(self.array.shape[-2:]) * np.finfo(self.array.dtype).eps
    return aten.linalg_pinv_of(self, getattr(rcond, "array", rcond))


def _pinv_back(grad: Tensor, A: Tensor, made: Tensor) -> Tensor:
    """Source: FunctionsManual.cpp, pinv_backward."""
    turned, up = conj(made).mT, conj(grad).mT
    if A.array.shape[-2] <= A.array.shape[-1]:
        inner = up @ made
        outer = inner @ turned
        rest = outer - A @ made @ outer + turned @ made @ (up - inner @ A)
        return rest - conj(made @ inner).mT
    inner = made @ up
    outer = turned @ inner
    return (up - A @ inner) @ made @ turned + outer - outer @ made @ A - conj(inner @ made).mT


def _rank(A: Tensor, tol: Any, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    """How many singular values are above `atol`, and `rtol` times the greatest."""
    values = A.array if not hermitian else (A.tril() + conj(A.tril(-1)).mT).array
    values = np.linalg.svd(values, compute_uv=False)
    atol = tol if atol is None else atol
    given = [
        x if x is None else getattr(x, "array", np.asarray(x))[..., None] for x in (atol, rtol)
    ]
    if given[1] is None:
        usual = max(A.array.shape[-2:]) * np.finfo(values.dtype).eps
        given[1] = usual if given[0] is None else np.where(given[0] > 0, 0, usual)
    top = values.max(-1, keepdims=True, initial=0)
    least = np.maximum(0 if given[0] is None else given[0], given[1] * top)
    return wrap(np.asarray((values > least).sum(-1)))


def _triangular(A: Tensor, B: Tensor, upper: bool, left: bool, unit: bool) -> Tensor:
    part = aten.triu(A) if upper else aten.tril(A)
    part = part - aten.diag_embed(part.diagonal(0, -2, -1)) + _unit(part) if unit else part
    if left:
        lead = np.broadcast_shapes(part.array.shape[:-2], B.array.shape[:-2])
        pair = (x.expand((*lead, *x.array.shape[-2:])) for x in (part, B))
        return aten.linalg_solve_of(*pair)
    return _triangular(A.mT, B.mT, not upper, True, unit).mT


def _blocks(tensors: Any) -> Tensor:
    given = [x if x.array.ndim == 2 else x.reshape(1, -1) for x in tensors]
    check(all(x.array.ndim < 3 for x in tensors), "block_diag(): inputs need 2 or fewer dimensions")
    width, rows, start = sum(x.array.shape[1] for x in given), [], 0
    for x in given:
        have = x.array.shape[1]
        rows.append(aten.constant_pad_nd(x, [start, width - start - have]))
        start += have
    return aten.cat(rows)


_ROWS = r"""
[torch tensor]
adjoint(self) := self.mH
corrcoef(self) := _corrcoef(self)
cov(self, *, correction: int = 1, fweights = None, aweights = None)
    := _cov(self, correction, fweights, aweights)
cross(self, other, dim = None) := _cross(self, other, dim)
inner(self, other) := tensordot(self, other, [[-1], [-1]])
    if self.array.ndim and other.array.ndim else self * other
kron(self, other) := _kron(self, other)
matrix_exp(self) := _exponential(self)
matrix_power(self, n: int) := _power(self, n)
pinverse(self, rcond: float = 1e-15) := _pinv(self, rcond, False)
vdot(self, other) := dot(conj(self), other)
[torch]
block_diag(*tensors) := _blocks(tensors)
tensordot(self, other, dims = 2) := _tensordot(self, other, dims)
[linalg]
pinv.of(self, rcond: any) = np.linalg.pinv(self, rcond) => _pinv_back(grad, self, result)
cross(self, other, *, dim: int = -1) := _cross(self, other, dim)
diagonal(A, *, offset: int = 0, dim1: int = -2, dim2: int = -1)
    := A.diagonal(offset, dim1, dim2)
matmul(self, other) := matmul(self, other)
matrix_exp(self) := _exponential(self)
matrix_power(self, n: int) := _power(self, n)
matrix_rank(A, tol = None, *, atol = None, rtol = None, hermitian: bool = False)
    := _rank(A, tol, atol, rtol, hermitian)
multi_dot(tensors) := reduce(matmul, tensors)
pinv(A, *, rtol = None, hermitian: bool = False) := _pinv(A, rtol, hermitian)
solve_triangular(A, B, *, upper: bool, left: bool = True, unitriangular: bool = False)
    := _triangular(A, B, upper, left, unitriangular)
vecdot(x, y, *, dim: int = -1) := sum(conj(x) * y, dim)
"""
declare(globals(), _ROWS)
