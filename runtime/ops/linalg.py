"""Small `linalg` and `fft` namespaces.

Source: derivatives.yaml, torch/csrc/autograd/FunctionsManual.cpp (linalg_*_backward, fft_*).
"""

# ruff: noqa: N806  (matrices have their usual names)

from __future__ import annotations

import math
import warnings
from collections import namedtuple
from typing import Any

import numpy as np

from ..core.aten import aten
from ..core.dtypes import as_dtype, get_default_dtype
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap
from .make import conj, declare, function, zeros_beside


def _cholesky_back(grad: Tensor, result: Tensor) -> Tensor:
    """Source: I. Murray, Differentiation of the Cholesky decomposition, 2016."""
    inner = conj(result).mT @ grad
    inverse = aten.linalg_inv(result)
    return 0.5 * (conj(inverse).mT @ (inner.tril() + conj(inner.tril(-1)).mT) @ inverse)


def _like(found: Any, source: Any) -> Any:
    """In single precision if the source is (older numpy computes in double)."""
    single = source.dtype.kind in "biu" or source.real.itemsize <= 4
    kind = {"c": "c8" if single else "c16"}.get(found.dtype.kind, "f4" if single else "f8")
    return found.astype(kind, copy=False)


def _floating(array: Any) -> Any:
    if array.dtype.kind in "biu":
        raise ValueError(f"Expected a floating point or complex tensor as input. Got {array.dtype}")
    return array


def _solve(a: Any, b: Any) -> Any:
    if a.dtype != b.dtype:
        raise ValueError(f"linalg.solve: Expected A and B to have one dtype, not {b.dtype}")
    return np.linalg.solve(a, b)


def _other(norm: str | None) -> str:
    """The scaling of the adjoint."""
    return {None: "forward", "backward": "forward", "forward": "backward"}.get(norm, "ortho")


def _sized(x: Tensor, size: int, dim: int) -> Tensor:
    """Cut, or padded with zeros, to `size` along `dim`."""
    have = x.array.shape[dim]
    if have > size:
        return x.narrow(dim, 0, size)
    after = [0] * (2 * (x.array.ndim - 1 - dim % x.array.ndim)) + [0, size - have]
    return aten.constant_pad_nd(x, after) if have < size else x


def _doubled(x: Tensor, n: int, dim: int) -> Tensor:
    """Frequencies that stand for two of a real signal's, counted twice."""
    have = x.array.shape[dim]
    weights = np.ones(have, x.array.real.dtype)
    weights[1 : n - have + 1] = 2
    shape = [1] * x.array.ndim
    shape[dim] = have
    return x * wrap(weights.reshape(shape))


def _by_columns(array: Any) -> Any:
    """Matrices whose columns lie in order, as LAPACK leaves them."""
    return np.ascontiguousarray(array.swapaxes(-1, -2)).swapaxes(-1, -2)


def _columns_of(arrays: Any) -> list[Any]:
    """Matrices by columns, beside values of one dimension less."""
    most = max(x.ndim for x in arrays)
    return [_by_columns(x) if x.ndim == most else x for x in arrays]


def _lower(A: Any, upper: bool) -> Any:
    """Of what is positive definite; the other triangle is not read."""
    found = np.linalg.cholesky(A.conj().swapaxes(-1, -2) if upper else A)
    return _by_columns(found.conj().swapaxes(-1, -2) if upper else found)


def _slogdet_back(grads: Any, self: Tensor, sign: Tensor) -> Tensor:
    """The sign of a complex determinant turns with its phase."""
    scale = _zeros(grads[1], grads[0]) if grads[1] is None else grads[1]
    if grads[0] is not None and sign.is_complex():
        scale = scale - (conj(grads[0]) * sign).imag * 1j
    return scale[..., None, None] * conj(aten.linalg_inv(self)).mT


def _solved_rows(found: Tensor) -> Tensor:
    """Of a batch of vectors: in the layout of a matrix by columns, as PyTorch leaves it."""
    return found.mT.contiguous().mT if found.array.ndim > 1 else found


def _zeros(grad: Any, like: Tensor) -> Tensor:
    return zeros_beside(like.array.shape, like) if grad is None else grad


def _skew(x: Tensor) -> Tensor:
    return x - conj(x).mT


def _apart(values: Tensor) -> Tensor:
    """The differences of values, and ones on the diagonal."""
    found = values.unsqueeze(-2) - values.unsqueeze(-1)
    return found + wrap(np.eye(values.array.shape[-1], dtype=values.array.dtype))


def _svd_back(grads: Any, U: Tensor, S: Tensor, Vh: Tensor) -> Tensor:
    """Source: FunctionsManual.cpp, svd_backward."""
    k, V = S.array.shape[-1], conj(Vh).mT
    gU, gS, gV = _zeros(grads[0], U), _zeros(grads[1], S), conj(_zeros(grads[2], Vh)).mT
    U, V, gU, gV = (x if x.array.shape[-1] == k else x[..., :k] for x in (U, V, gU, gV))
    Vh = conj(V).mT
    if grads[0] is None and grads[2] is None:
        return (U * gS.unsqueeze(-2).to(U.array.dtype)) @ Vh  # also of equal values
    left, right = _skew(conj(U).mT @ gU), _skew(conj(V).mT @ gV)
    inner = (left * S.unsqueeze(-2) + S.unsqueeze(-1) * right) / _apart(S * S)
    inner = inner + aten.diag_embed(gS)
    if U.is_complex() and grads[0] is not None and grads[2] is not None:
        inner = inner + aten.diag_embed(left.diagonal(0, -2, -1) / (S * 2))
    found = U @ inner @ Vh
    if U.array.shape[-2] > k:
        beside = gU / S.unsqueeze(-2)
        found = found + (beside - U @ (conj(U).mT @ beside)) @ Vh
    if V.array.shape[-2] > k:
        beside = conj(gV / S.unsqueeze(-2)).mT
        found = found + U @ (beside - (beside @ V) @ Vh)
    return found


def _eigh_back(grads: Any, values: Tensor, vectors: Tensor) -> Tensor:
    inner = aten.diag_embed(_zeros(grads[0], values)).to(vectors.array.dtype)
    if grads[1] is not None:
        mixed = conj(vectors).mT @ grads[1]
        off = 1 - wrap(np.eye(values.array.shape[-1], dtype=values.array.dtype))
        turned = mixed * off / _apart(values)
        inner = inner + (turned + conj(turned).mT) / 2
    return vectors @ inner @ conj(vectors).mT


def _qr_back(grads: Any, Q: Tensor, R: Tensor) -> Tensor:
    """Source: FunctionsManual.cpp, linalg_qr_backward."""
    n, m = R.array.shape[-1], Q.array.shape[-1]
    told = "qr: the gradient needs mode='reduced', or as many rows as columns"
    check(Q.array.shape[-2] == m or m == n, told)
    check(R.array.shape[-2] == m, told)
    gQ, gR = _zeros(grads[0], Q), _zeros(grads[1], R)
    if n > m:  # the columns behind are Q times theirs in R
        rest, beside = R[..., m:], gR[..., m:]
        first = _qr_back([gQ + Q @ rest @ conj(beside).mT, gR[..., :m]], Q, R[..., :m])
        return aten.cat([first, Q @ beside], -1)
    upper = (gR @ conj(R).mT - conj(Q).mT @ gQ).triu()
    whole = upper + conj(upper).mT
    half = wrap(1 - 0.5 * np.eye(n, dtype=R.array.real.dtype))
    return conj(aten.linalg_solve_of(R, conj(gQ + Q @ (whole * half)).mT)).mT


_Solved = namedtuple("_Solved", "solution residuals rank singular_values")


def _svd(parts: Any) -> Any:
    return parts._replace(Vh=conj(parts.Vh).mT)


def _over(last: Any, others: Any, x: Tensor, s: Any, dim: Any, norm: Any) -> Tensor:
    """A transform over several dimensions: the last, real one first, or of an inverse at last."""
    s = (s,) if isinstance(s, int) else s
    if dim is None:
        dim = range(x.array.ndim) if s is None else range(x.array.ndim - len(s), x.array.ndim)
    dims = [int(dim)] if isinstance(dim, (int, np.integer)) else list(dim)
    sizes = [None if n == -1 else n for n in s] if s is not None else [None] * len(dims)
    steps = [(last, dims.pop(), sizes.pop())] + [
        (others, *p) for p in zip(dims, sizes, strict=True)
    ]
    for transform, d, n in reversed(steps) if last.__name__ == "fft_irfft" else steps:
        x = transform(x, n, d, norm)
    return x if len(steps) == 1 else _last_in_memory(x, [d for _, d, _ in steps[1:] + steps[:1]])


def _last_in_memory(x: Tensor, dims: list[int]) -> Tensor:
    """The transformed dimensions lie innermost, as one transform over all leaves them."""
    n = x.array.ndim
    inner = [d % n for d in dims]
    order = [d for d in range(n) if d not in inner] + inner
    return x.permute(order).contiguous().permute([order.index(d) for d in range(n)])


def _transformed(run: Any, self: Any, n: Any, dim: int, norm: Any) -> Any:
    """The transformed dimension lies innermost."""
    found = run(np.moveaxis(self, dim, -1), n, -1, norm)
    return np.moveaxis(np.ascontiguousarray(_like(found, self)), -1, dim)


def _frequencies(found: Any, dtype: Any) -> Any:
    return found.astype(get_default_dtype() if dtype is None else as_dtype(dtype))


def _shifted(x: Tensor, dim: Any, sign: int) -> Tensor:
    dims = range(x.array.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    sizes = [x.array.shape[d] for d in dims]
    return x.roll([n // 2 if sign > 0 else -(n // 2) for n in sizes], list(dims))


def _matrix_norm(A: Tensor, ord: Any, dim: Any, keepdim: bool) -> Tensor:
    check(A.array.ndim > 1, "linalg.matrix_norm: A must have at least 2 dimensions")
    return _norm(A, ord, tuple(dim), keepdim)


def _norm(A: Tensor, ord: Any, dim: Any, keepdim: bool) -> Tensor:
    """Of vectors, or of matrices."""
    two = (-2, -1) if A.array.ndim == 2 and dim is None else dim
    if ord in (None, "fro") or not isinstance(two, tuple):
        return aten.norm(A, 2 if ord is None else ord, dim, keepdim)
    check(len(two) == 2, f"linalg.matrix_norm: dim must be a 2-tuple, got {two}")
    if ord in ("nuc", 2, -2):
        last = A.movedim(two, (-2, -1))
        values = aten.linalg_svdvals(last)
        none = ord != -2 and not values.array.shape[-1]
        how = values.sum if none or ord == "nuc" else values.amax if ord == 2 else values.amin
        found = how(-1)
        first, second = sorted(d % A.array.ndim for d in two)
        return found.unsqueeze(first).unsqueeze(second) if keepdim else found
    check(ord in (1, -1, math.inf, -math.inf), f"linalg.matrix_norm: ord {ord!r} is not supported")
    rows, columns = (d % A.array.ndim for d in two)
    over, then = (rows, columns) if abs(ord) == 1 else (columns, rows)
    how = aten.amax if ord > 0 else aten.amin
    how = how if A.array.shape[then] or ord < 0 else aten.sum
    found = how(A.abs().sum(over, True), then, True)
    return found if keepdim else found.squeeze((rows, columns))


_ROWS = r"""
[linalg]
inv(A) = _by_columns(np.linalg.inv(_floating(A)))
    A: -(conj(result).mT @ grad @ conj(result).mT)
solve.of(self, other) = _by_columns(_solve(_floating(self), other))
    self: -(linalg_solve_of(conj(self).mT, grad) @ conj(result).mT)
    other: linalg_solve_of(conj(self).mT, grad)
solve(A, B) := linalg_solve_of(A, B) if B.array.ndim > 1 and B.array.shape != A.array.shape[:-1]
    else _solved_rows(linalg_solve_of(A, B.unsqueeze(-1)).squeeze(-1))
norm(A, ord = None, dim = None, keepdim: bool = False) := _norm(A, ord, dim, keepdim)
det(self) = np.linalg.det(_floating(self))
    self: (grad * conj(result))[..., None, None] * conj(linalg_inv(self)).mT
slogdet(self) -> (sign, logabsdet) = np.linalg.slogdet(_floating(self))
    self: _slogdet_back(grads, self, sign)
cholesky(self, *, upper: bool = False) = _lower(_floating(self), upper)
    self: _cholesky_back(conj(grad).mT, conj(result).mT) if upper else _cholesky_back(grad, result)
svd(A, full_matrices: bool = True) -> (U, S, Vh)
    = _columns_of(np.linalg.svd(_floating(A), full_matrices))
    A: _svd_back(grads, U, S, Vh)
svdvals(A) := linalg_svd(A, False).S
eigh(A, UPLO: str = "L") -> (eigenvalues, eigenvectors)
    = _columns_of(np.linalg.eigh(_floating(A), UPLO))
    A: _eigh_back(grads, eigenvalues, eigenvectors)
eigvalsh(A, UPLO: str = "L") := linalg_eigh(A, UPLO).eigenvalues
qr(A, mode: str = "reduced") -> (Q, R)
    = _columns_of(np.linalg.qr(_floating(A), mode))
    A: _qr_back(grads, Q, R)
matrix_norm(A, ord = "fro", dim = (-2, -1), keepdim: bool = False)
    := _matrix_norm(A, ord, dim, keepdim)
[torch tensor]
trace(self) := einsum("ii", self)
inverse(self) := linalg_inv(self)
det(self) := linalg_det(self)
slogdet(self) := linalg_slogdet(self)
logdet(self) := log(linalg_det(self))
svd(self, some: bool = True, compute_uv: bool = True) := _svd(linalg_svd(self, not some))
[torch]
cdist(x1, x2, p: float = 2.0, compute_mode = None)
    := (x1.unsqueeze(-2) - x2.unsqueeze(-3)).norm(p, -1)
[fft]
fft(self, n: any = None, dim: dim = -1, norm: any = None)
    = _transformed(np.fft.fft, self, n, dim, norm)
    self: _sized(fft_ifft(grad, None, dim, _other(norm)), self_shape[dim], dim)
ifft(self, n: any = None, dim: dim = -1, norm: any = None)
    = _transformed(np.fft.ifft, self, n, dim, norm)
    self: _sized(fft_fft(grad, None, dim, _other(norm)), self_shape[dim], dim)
rfft(self, n: any = None, dim: dim = -1, norm: any = None)
    = _transformed(np.fft.rfft, self, n, dim, norm)
    self: _sized(fft_ifft(_sized(grad, n or self_shape[dim], dim), None, dim, _other(norm)).real,
        self_shape[dim], dim)
irfft(self, n: any = None, dim: dim = -1, norm: any = None)
    = _transformed(np.fft.irfft, self, n, dim, norm)
    self: _sized(_doubled(fft_rfft(grad, None, dim, _other(norm)), n or 2 * (self_shape[dim] - 1),
        dim), self_shape[dim], dim)
hfft(self, n = None, dim: int = -1, norm = None) := fft_irfft(conj(self), n, dim, _other(norm))
ihfft(self, n = None, dim: int = -1, norm = None) := conj(fft_rfft(self, n, dim, _other(norm)))
fftshift(self, dim = None) := _shifted(self, dim, 1)
ifftshift(self, dim = None) := _shifted(self, dim, -1)
[fft make]
fftfreq(n: int, d: float = 1.0) = _frequencies(np.fft.fftfreq(n, d), dtype)
rfftfreq(n: int, d: float = 1.0) = _frequencies(np.fft.rfftfreq(n, d), dtype)
[fft]
"""
for _kind, _dims in (("2", "(-2, -1)"), ("n", "None")):
    for _name in ("fft", "ifft", "rfft", "irfft"):
        _ROWS += f"""{_name}{_kind}(self, s = None, dim = {_dims}, norm = None)
    := _over(fft_{_name}, fft_{_name.replace("r", "")}, self, s, dim, norm)
"""
declare(globals(), _ROWS)


@function("linalg")
def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False) -> Tensor:
    """(sum |x|^ord)^(1 / ord) over `dim`."""
    return aten.norm(x, ord, dim, keepdim)


@function("torch tensor")
def qr(input: Tensor, some: bool = True) -> Any:
    """Return what linalg.qr does, by its old name."""
    warnings.warn("torch.qr is deprecated in favor of torch.linalg.qr", stacklevel=2)
    return aten.linalg_qr(input, "reduced" if some else "complete")
