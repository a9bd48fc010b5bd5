"""Products of matrices, and along any dimensions.

Source: derivatives.yaml, aten/src/ATen/native/LinearAlgebra.cpp.
"""

from __future__ import annotations

import math
from functools import reduce  # noqa: F401  (a row uses it)
from typing import Any

import numpy as np

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor
from ..observe.arrangement import active
from .make import conj, declare, dimension, not_tensors


def _product(self: Any, mat2: Any, ndim: int) -> Any:
    usual = ndim == 2 == self.ndim == mat2.ndim and self.dtype is mat2.dtype
    if usual and self.shape[1] == mat2.shape[0]:
        return self.dot(mat2)
    if self.ndim != ndim or mat2.ndim != ndim:
        raise ValueError(f"expected {ndim}-D tensors, got {self.ndim}-D and {mat2.ndim}-D")
    if self.dtype is not mat2.dtype and self.dtype != mat2.dtype:
        raise ValueError(f"expected both to have the same dtype, got {self.dtype} and {mat2.dtype}")
    if self.shape[-1] != mat2.shape[-2] or self.shape[:-2] != mat2.shape[:-2]:
        raise ValueError(f"shapes cannot be multiplied ({_by(self)} and {_by(mat2)})")
    return self.dot(mat2) if ndim == 2 else self @ mat2


def _by(array: Any) -> str:
    return "x".join(map(str, array.shape))


def _mat2_array(grad: Any, mat1: Any, strides: tuple[int, ...]) -> Any:
    """In the layout of mat2: that of a transposed weight gives the weight a contiguous gradient."""
    turned = strides[0] < strides[1]
    return grad.T.dot(conj(mat1)).T if turned else conj(mat1).T.dot(grad)


def _addmm(self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    if mat1.ndim != 2 or mat2.ndim != 2 or mat1.shape[1] != mat2.shape[0]:
        raise ValueError(f"mat1 and mat2 shapes cannot be multiplied ({_by(mat1)} and {_by(mat2)})")
    if not mat1.dtype == mat2.dtype == self.dtype:
        raise ValueError(f"expected one dtype, got {self.dtype}, {mat1.dtype} and {mat2.dtype}")
    found = mat1.dot(mat2)
    if found.dtype.kind in "biu":
        beta, alpha = int(beta), int(alpha)
    beta, alpha = (x.item() if hasattr(x, "item") else x for x in (beta, alpha))
    if alpha != 1:
        found *= alpha
    if beta != 0:
        found += self if beta == 1 else self * beta
    return found


def _blend(self: Tensor, beta: Any, product: Tensor, alpha: Any) -> Tensor:
    if product.array.dtype.kind in "biu":
        whole = bool if product.array.dtype.kind == "b" else int
        beta, alpha = whole(beta), whole(alpha)
    found = product if alpha == 1 else product * alpha
    return found if beta == 0 else (self if beta == 1 else self * beta) + found


def _scaled(grad: Any, factor: Any) -> Any:
    return grad if factor == 1 else grad * conj(factor)


def _dot(self: Any, tensor: Any, ndim: int) -> Any:
    if self.ndim != ndim or tensor.ndim != 1 or self.shape[-1] != tensor.shape[0]:
        raise ValueError(f"size mismatch, got {ndim}D ({_by(self)}) and 1D ({_by(tensor)})")
    if self.dtype != tensor.dtype:
        raise ValueError(f"expected both to have the same dtype, got {self.dtype}, {tensor.dtype}")
    return self @ tensor


def _column(self: Tensor, vec2: Tensor) -> Tensor:
    check(self.array.ndim == 1 == vec2.array.ndim, "outer: Expected 1-D arguments")
    return self.unsqueeze(1)


def _matmul(x: Tensor, y: Tensor) -> Tensor:
    try:
        a, b, sa, sb = x.array.ndim, y.array.ndim, x.array.shape, y.array.shape
    except NotImplementedError:
        return x @ y if x.is_sparse else aten.mm(x, y)
    except AttributeError:
        raise not_tensors("aten::matmul", x, y) from None
    if a == b == 2:
        return aten.mm(x, y)
    if not a or not b:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, not {a}D and {b}D")
    if a == 1:
        return aten.dot(x, y) if b == 1 else _matmul(x.unsqueeze(0), y).squeeze(-2)
    if a == 2 and b == 1:
        return aten.mv(x, y)
    if b <= 2:  # one large product rather than many small ones
        found = (aten.mv if b == 1 else aten.mm)(aten.reshape(x, (math.prod(sa[:-1]), sa[-1])), y)
        return aten.reshape(found, (*sa[:-1], *sb[1:]))
    try:
        lead = np.broadcast_shapes(sa[:-2], sb[:-2])
    except ValueError as error:
        raise RuntimeError(f"matmul: {error}") from None
    many = math.prod(lead)
    left = aten.reshape(aten.expand(x, (*lead, *sa[-2:])), (many, *sa[-2:]))
    right = aten.reshape(aten.expand(y, (*lead, *sb[-2:])), (many, *sb[-2:]))
    return aten.reshape(aten.bmm(left, right), (*lead, sa[-2], sb[-1]))


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    shape = input.array.shape
    if len(shape) > 2 and bias is not None:
        fold = aten.view_size if input.array.flags.c_contiguous else aten.reshape
        rows = fold(input, (math.prod(shape[:-1]), shape[-1]))
        flat = aten.addmm(bias, rows, aten.t(weight))
        return aten.view_size(flat, (*shape[:-1], weight.array.shape[0]))
    turned = aten.t(weight)
    if len(shape) == 2 and bias is not None:
        return aten.addmm(bias, input, turned)
    if len(shape) == 2 and not active:
        return aten.mm(input, turned)  # as matmul does
    found = aten.matmul(input, turned)
    return found if bias is None else found + bias


def _einsum(spec: Any, operands: Any) -> Tensor:
    """Contracted from the left, two operands at a time, each pair as one batched product."""
    check(isinstance(spec, str), "einsum(): the equation has to be a text", NotImplementedError)
    spec = spec.replace(" ", "")
    tensors = operands if isinstance(operands[0], Tensor) else operands[0]
    left, arrow, right = spec.partition("->")
    terms = left.split(",")
    check(len(terms) == len(tensors), f"einsum(): {len(terms)} terms but {len(tensors)} operands")
    spare = "".join(c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in spec)
    hidden = [x.array.ndim - len(t.replace("...", "")) for x, t in zip(tensors, terms, strict=True)]
    if min(hidden) < 0 or any(n and "..." not in t for n, t in zip(hidden, terms, strict=True)):
        raise RuntimeError(f"einsum(): {spec!r} does not fit the operands' dimensions")
    dots = spare[: max(hidden)] if "..." in spec else ""
    terms = [t.replace("...", dots[len(dots) - n :]) for t, n in zip(terms, hidden, strict=True)]
    every = "".join(terms)
    once = sorted(c for c in set(every) if every.count(c) == 1 and c not in dots)
    result = right.replace("...", dots) if arrow else dots + "".join(once)
    if len(set(result)) != len(result) or not set(result) <= set(every):
        raise RuntimeError(f"einsum(): output subscripts of {spec!r} are not valid")
    found, have = _diagonals(tensors[0], terms[0])
    for i in range(1, len(terms)):
        later = set(result).union(*terms[i + 1 :])
        found, have = _contracted(found, have, *_diagonals(tensors[i], terms[i]), later)
    found, have = _summed(found, have, set(result))
    return found.permute([have.index(c) for c in result]) if have != result else found


def _diagonals(x: Tensor, names: str) -> tuple[Tensor, str]:
    """A repeated index is a diagonal."""
    for c in dict.fromkeys(names):
        while names.count(c) > 1:
            i, j = names.index(c), names.index(c, names.index(c) + 1)
            x = x.diagonal(0, i, j)
            names = names[:i] + names[i + 1 : j] + names[j + 1 :] + c
    return x, names


def _summed(x: Tensor, names: str, keep: set[str]) -> tuple[Tensor, str]:
    gone = tuple(i for i, c in enumerate(names) if c not in keep)
    return x.sum(gone) if gone else x, "".join(c for c in names if c in keep)


def _contracted(a: Tensor, left: str, b: Tensor, right: str, keep: set[str]) -> tuple[Tensor, str]:
    """Two operands as one: indices that neither `keep` nor the other has are summed over."""
    (a, left), (b, right) = _summed(a, left, keep | {*right}), _summed(b, right, keep | {*left})
    size: dict[str, int] = {}
    for c, n in zip(left + right, a.array.shape + b.array.shape, strict=True):
        size[c] = n if size.get(c, 1) == 1 else size[c]
    batch = [c for c in left if c in right and c in keep]
    summed = [c for c in left if c in right and c not in keep]
    rows, columns = [c for c in left if c not in right], [c for c in right if c not in left]

    def folded(x: Tensor, names: str, *groups: list[str]) -> Tensor:
        wide = x.expand([size[c] for c in names])
        turned = wide.permute([names.index(c) for group in groups for c in group])
        return turned.reshape([math.prod(size[c] for c in group) for group in groups])

    one, two = folded(a, left, batch, rows, summed), folded(b, right, batch, summed, columns)
    order = batch + rows + columns
    found = aten.bmm(one, two) if summed else one * two
    return found.reshape([size[c] for c in order]), "".join(order)


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
[torch tensor wide]
mm(self, mat2) = _product(self, mat2, 2) => mm(grad, t(conj(mat2))) || grad.dot(conj(mat2).T)
    mat2: t(mm(t(grad), conj(self))) if mat2_strides[0] < mat2_strides[1]
        else mm(t(conj(self)), grad) || _mat2_array(grad, self, mat2_strides)
bmm(self, mat2) = _product(self, mat2, 3)
    self: bmm(grad, conj(mat2).transpose(1, 2)) || grad @ conj(mat2).swapaxes(1, 2)
    mat2: bmm(conj(self).transpose(1, 2), grad) || conj(self).swapaxes(1, 2) @ grad
addmm(self, mat1, mat2, *, beta: any = 1, alpha: any = 1) = _addmm(self, mat1, mat2, beta, alpha)
    self: _scaled(grad, beta) || _scaled(grad, beta)
    mat1: _scaled(mm(grad, t(conj(mat2))), alpha) || _scaled(grad.dot(conj(mat2).T), alpha)
    mat2: _scaled(t(mm(t(grad), conj(mat1))) if mat2_strides[0] < mat2_strides[1]
        else mm(t(conj(mat1)), grad), alpha)
        || _scaled(_mat2_array(grad, mat1, mat2_strides), alpha)
dot(self, tensor) = _dot(self, tensor, 1) => grad * conj(tensor)
    tensor: grad * conj(self)
mv(self, vec) = _dot(self, vec, 2) => outer(grad, conj(vec))
    vec: mv(t(conj(self)), grad)
[torch tensor]
outer(self, vec2) := _column(self, vec2) * vec2
baddbmm(self, batch1, batch2, *, beta: any = 1, alpha: any = 1)
    := _blend(self, beta, bmm(batch1, batch2), alpha)
addmv(self, mat, vec, *, beta: any = 1, alpha: any = 1) := _blend(self, beta, mv(mat, vec), alpha)
addr(self, vec1, vec2, *, beta: any = 1, alpha: any = 1)
    := _blend(self, beta, outer(vec1, vec2), alpha)
addbmm(self, batch1, batch2, *, beta: any = 1, alpha: any = 1)
    := _blend(self, beta, bmm(batch1, batch2).sum(0, dtype=self.dtype), alpha)
matmul(self, other) := _matmul(self, other)
cross(self, other, dim = None) := _cross(self, other, dim)
inner(self, other) := tensordot(self, other, [[-1], [-1]])
    if self.array.ndim and other.array.ndim else self * other
vdot(self, other) := dot(conj(self), other)
[torch]
einsum(equation, *operands) := _einsum(equation, operands)
tensordot(self, other, dims = 2) := _tensordot(self, other, dims)
[nn]
linear(self, weight, bias = None) := _linear(self, weight, bias)
[linalg]
cross(self, other, *, dim: int = -1) := _cross(self, other, dim)
diagonal(A, *, offset: int = 0, dim1: int = -2, dim2: int = -1)
    := A.diagonal(offset, dim1, dim2)
matmul(self, other) := matmul(self, other)
multi_dot(tensors) := reduce(matmul, tensors)
vecdot(x, y, *, dim: int = -1) := sum(conj(x) * y, dim)
"""
declare(globals(), _ROWS)
