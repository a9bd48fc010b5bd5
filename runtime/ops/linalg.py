"""Small `linalg` and `fft` namespaces.

Source: derivatives.yaml, torch/csrc/autograd/FunctionsManual.cpp (linalg_*_backward, fft_*).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import Tensor, wrap
from .table import aten, declare, function


def _cholesky_back(grad: Tensor, result: Tensor) -> Tensor:
    """Source: I. Murray, Differentiation of the Cholesky decomposition, 2016."""
    inner = result.mT @ grad
    half = np.tri(inner.array.shape[-1]) - 0.5 * np.eye(inner.array.shape[-1])
    inverse = aten.linalg_inv(result)
    found = inverse.mT @ (inner * wrap(half.astype(inner.array.dtype))) @ inverse
    return 0.5 * (found + found.mT)


def _like(found: Any, source: Any) -> Any:
    """In single precision if the source is (older numpy computes in double)."""
    single = source.dtype.kind in "biu" or source.dtype.itemsize <= (
        8 if source.dtype.kind == "c" else 4
    )
    kind = ("c8" if single else "c16") if found.dtype.kind == "c" else ("f4" if single else "f8")
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


def _norm(A: Tensor, ord: Any, dim: Any, keepdim: bool) -> Tensor:
    """Of a vector, or of matrices for "fro" (the default), 1, -1, inf and -inf."""
    two = (-2, -1) if A.array.ndim == 2 and dim is None else dim
    if ord in (None, "fro") or not isinstance(two, tuple) or (ord == 2 and dim is not None):
        return aten.norm(A, 2 if ord is None else ord, dim, keepdim)
    if ord not in (1, -1, float("inf"), -float("inf")):
        raise NotImplementedError(f"linalg.norm of a matrix with ord={ord!r} is not supported")
    rows, columns = (d % A.array.ndim for d in two)
    over, then = (rows, columns) if abs(ord) == 1 else (columns, rows)
    found = (aten.amax if ord > 0 else aten.amin)(A.abs().sum(over, True), then, True)
    return found if keepdim else found.squeeze((rows, columns))


declare(
    globals(),
    r"""
[linalg]
inv(A) = np.linalg.inv(_floating(A))
    A: -(conj(result).mT @ grad @ conj(result).mT)
solve.of(self, other) = _solve(_floating(self), other)
    self: -(linalg_solve_of(conj(self).mT, grad) @ conj(result).mT)
    other: linalg_solve_of(conj(self).mT, grad)
solve(A, B) := linalg_solve_of(A, B) if B.array.ndim > 1 and B.array.shape != A.array.shape[:-1]
    else linalg_solve_of(A, B.unsqueeze(-1)).squeeze(-1)
norm(A, ord = None, dim = None, keepdim: bool = False) := _norm(A, ord, dim, keepdim)
det(self) = np.linalg.det(_floating(self))
    self: (grad * conj(result))[..., None, None] * conj(linalg_inv(self)).mT
slogdet(self) -> (sign, logabsdet) = np.linalg.slogdet(_floating(self))
    self: grads[1][..., None, None] * conj(linalg_inv(self)).mT
cholesky(self) = np.linalg.cholesky(_floating(self)) => _cholesky_back(grad, result)
[fft]
fft(self, n: any = None, dim: dim = -1, norm: any = None)
    = _like(np.fft.fft(self, n, dim, norm), self)
    self: _sized(fft_ifft(grad, None, dim, _other(norm)), self_shape[dim], dim)
ifft(self, n: any = None, dim: dim = -1, norm: any = None)
    = _like(np.fft.ifft(self, n, dim, norm), self)
    self: _sized(fft_fft(grad, None, dim, _other(norm)), self_shape[dim], dim)
rfft(self, n: any = None, dim: dim = -1, norm: any = None)
    = _like(np.fft.rfft(self, n, dim, norm), self)
    self: _sized(fft_ifft(_sized(grad, n or self_shape[dim], dim), None, dim, _other(norm)).real,
        self_shape[dim], dim)
irfft(self, n: any = None, dim: dim = -1, norm: any = None)
    = _like(np.fft.irfft(self, n, dim, norm), self)
    self: _sized(_doubled(fft_rfft(grad, None, dim, _other(norm)), n or 2 * (self_shape[dim] - 1),
        dim), self_shape[dim], dim)
fftfreq(n: int, d: float = 1.0) := wrap(np.fft.fftfreq(n, d).astype(np.float32))
rfftfreq(n: int, d: float = 1.0) := wrap(np.fft.rfftfreq(n, d).astype(np.float32))
""",
)


@function("linalg")
def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False) -> Tensor:
    """(sum |x|^ord)^(1 / ord) over `dim`."""
    return aten.norm(x, ord, dim, keepdim)
