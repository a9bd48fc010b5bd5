"""The matrix products. Source: derivatives.yaml, aten/src/ATen/native/LinearAlgebra.cpp."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..record_function import active
from ..tensor import Tensor
from .arguments import conj, not_tensors
from .table import aten, composite, declare, function


def _product(self: Any, mat2: Any, ndim: int) -> Any:
    if self.ndim != ndim or mat2.ndim != ndim:
        raise ValueError(f"expected {ndim}-D tensors, got {self.ndim}-D and {mat2.ndim}-D")
    if self.dtype is not mat2.dtype and self.dtype != mat2.dtype:
        raise ValueError(f"expected both to have the same dtype, got {self.dtype} and {mat2.dtype}")
    if self.shape[-1] != mat2.shape[-2] or self.shape[:-2] != mat2.shape[:-2]:
        raise ValueError(f"shapes cannot be multiplied ({_by(self)} and {_by(mat2)})")
    return self.dot(mat2) if ndim == 2 else self @ mat2


def _by(array: Any) -> str:
    return "x".join(map(str, array.shape))


def _mat2(grad: Tensor, mat1: Tensor, strides: tuple[int, ...]) -> Tensor:
    """In the layout of mat2: that of a transposed weight gives the weight a contiguous gradient."""
    if strides[0] < strides[1]:
        return aten.t(aten.mm(aten.t(grad), conj(mat1)))
    return aten.mm(aten.t(conj(mat1)), grad)


def _mat2_array(grad: Any, mat1: Any, strides: tuple[int, ...]) -> Any:
    if strides[0] < strides[1]:
        return grad.T.dot(conj(mat1)).T
    return conj(mat1).T.dot(grad)


def _addmm(self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    if mat1.ndim != 2 or mat2.ndim != 2 or mat1.shape[1] != mat2.shape[0]:
        raise ValueError(f"mat1 and mat2 shapes cannot be multiplied ({_by(mat1)} and {_by(mat2)})")
    if not mat1.dtype == mat2.dtype == self.dtype:
        raise ValueError(f"expected one dtype, got {self.dtype}, {mat1.dtype} and {mat2.dtype}")
    found = mat1.dot(mat2)
    if alpha != 1:
        found *= alpha
    found += self if beta == 1 else self * beta
    return found


def _scaled(grad: Any, factor: Any) -> Any:
    return grad if factor == 1 else grad * factor


def _dot(self: Any, tensor: Any) -> Any:
    if self.ndim != 1 or tensor.ndim != 1 or self.shape != tensor.shape:
        raise ValueError(f"1D tensors of one size expected, got {self.shape} and {tensor.shape}")
    return self @ tensor


def _column(self: Tensor, vec2: Tensor) -> Tensor:
    if self.array.ndim != 1 or vec2.array.ndim != 1:
        raise RuntimeError("outer: Expected 1-D arguments")
    return self.unsqueeze(1)


def _mv(self: Any, vec: Any) -> Any:
    if self.ndim != 2 or vec.ndim != 1 or self.shape[1] != vec.shape[0]:
        raise ValueError(f"size mismatch, got input ({_by(self)}), vec ({_by(vec)})")
    return self @ vec


declare(
    globals(),
    r"""
[torch tensor]
mm(self, mat2) = _product(self, mat2, 2)
    self: mm(grad, t(conj(mat2))) || grad.dot(conj(mat2).T)
    mat2: _mat2(grad, self, mat2_strides) || _mat2_array(grad, self, mat2_strides)
bmm(self, mat2) = _product(self, mat2, 3)
    self: bmm(grad, conj(mat2).transpose(1, 2)) || grad @ conj(mat2).swapaxes(1, 2)
    mat2: bmm(conj(self).transpose(1, 2), grad) || conj(self).swapaxes(1, 2) @ grad
addmm(self, mat1, mat2, *, beta: any = 1, alpha: any = 1) = _addmm(self, mat1, mat2, beta, alpha)
    self: _scaled(grad, beta) || _scaled(grad, beta)
    mat1: _scaled(mm(grad, t(conj(mat2))), alpha) || _scaled(grad.dot(conj(mat2).T), alpha)
    mat2: _scaled(_mat2(grad, mat1, mat2_strides), alpha)
        || _scaled(_mat2_array(grad, mat1, mat2_strides), alpha)
dot(self, tensor) = _dot(self, tensor) => grad * conj(tensor)
    tensor: grad * conj(self)
mv(self, vec) = _mv(self, vec) => outer(grad, conj(vec))
    vec: mv(t(conj(self)), grad)
outer(self, vec2) := _column(self, vec2) * vec2
baddbmm(self, batch1, batch2, *, beta: any = 1, alpha: any = 1) := self * beta + bmm(batch1, batch2) * alpha
addmv(self, mat, vec, *, beta: any = 1, alpha: any = 1) := self * beta + mv(mat, vec) * alpha
addbmm(self, batch1, batch2, *, beta: any = 1, alpha: any = 1)
    := self * beta + bmm(batch1, batch2).sum(0) * alpha
""",
)


@composite("torch tensor")
def matmul(input: Tensor, other: Tensor) -> Tensor:  # noqa: PLR0911
    """Vectors, matrices and batches of them, as `numpy.matmul`."""
    try:
        a, b = input.array.ndim, other.array.ndim
    except AttributeError:
        raise not_tensors("aten::matmul", input, other) from None
    if not a or not b:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D"
        )
    if a == 2 and b == 2:
        return aten.mm(input, other)
    if a == 1 and b == 1:
        return aten.dot(input, other)
    if a == 2 and b == 1:
        return aten.mv(input, other)
    if a == 1 and b == 2:
        return aten.mm(input.unsqueeze(0), other).squeeze(0)
    if a >= 3 and b <= 2:  # one large mm rather than many small ones
        shape = input.array.shape
        flat = aten.reshape(input, (-1, shape[-1]))
        if b == 1:
            return aten.reshape(aten.mv(flat, other), shape[:-1])
        return aten.reshape(aten.mm(flat, other), (*shape[:-1], other.array.shape[1]))
    first = input.unsqueeze(0) if a == 1 else input
    second = other.unsqueeze(-1) if b == 1 else other
    sa, sb = first.array.shape, second.array.shape
    try:
        lead = np.broadcast_shapes(sa[:-2], sb[:-2])
    except ValueError as error:
        raise RuntimeError(f"matmul: {error}") from None
    left = aten.reshape(aten.expand(first, (*lead, *sa[-2:])), (-1, *sa[-2:]))
    right = aten.reshape(aten.expand(second, (*lead, *sb[-2:])), (-1, *sb[-2:]))
    found = aten.reshape(aten.bmm(left, right), (*lead, sa[-2], sb[-1]))
    if a == 1:
        found = found.squeeze(-2)
    return found.squeeze(-1) if b == 1 else found


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    turned = aten.t(weight)
    if input.array.ndim == 2:
        if bias is None:
            return aten.mm(input, turned)
        return aten.addmm(bias, input, turned)
    if bias is None or input.array.ndim < 2:
        found = aten.matmul(input, turned)
        return found if bias is None else found + bias
    shape = input.array.shape
    flat = aten.addmm(bias, aten.reshape(input, (-1, shape[-1])), turned)
    return aten.reshape(flat, (*shape[:-1], weight.array.shape[0]))


_linear_seen = composite(name="aten::linear")(_linear)


@function("nn")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias`: (*, in), (out, in), (out,) to (*, out)."""
    return (_linear_seen if active else _linear)(input, weight, bias)


@composite("torch")
def einsum(equation: str, *operands: Any) -> Tensor:
    """Sums of products by their indices, as `numpy.einsum` (explicit or implicit output).

    Operands are contracted from the left, two at a time, each pair as one batched matrix product.
    """
    one = len(operands) == 1 and not isinstance(operands[0], Tensor)
    tensors = operands[0] if one else operands
    spec = equation.replace(" ", "")
    left, arrow, right = spec.partition("->")
    terms = left.split(",")
    if len(terms) != len(tensors):
        raise RuntimeError(f"einsum(): {len(terms)} terms but {len(tensors)} operands")
    spare = "".join(c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in spec)
    hidden = [x.array.ndim - len(t.replace("...", "")) for x, t in zip(tensors, terms, strict=True)]
    if min(hidden) < 0 or any(n and "..." not in t for n, t in zip(hidden, terms, strict=True)):
        raise RuntimeError(f"einsum(): {equation!r} does not fit the operands' dimensions")
    dots = spare[: max(hidden)] if "..." in spec else ""
    terms = [
        t.replace("...", dots[len(dots) - n :] if dots else "")
        for t, n in zip(terms, hidden, strict=True)
    ]
    every = "".join(terms)
    once = sorted(c for c in set(every) if every.count(c) == 1 and c not in dots)
    result = right.replace("...", dots) if arrow else dots + "".join(once)
    if len(set(result)) != len(result) or not set(result) <= set(every):
        raise RuntimeError(f"einsum(): output subscripts of {equation!r} are not valid")
    found, have = _diagonals(tensors[0], terms[0])
    for place, (x, term) in enumerate(zip(tensors[1:], terms[1:], strict=True), 1):
        later = set(result).union(*terms[place + 1 :])
        found, have = _contracted(found, have, *_diagonals(x, term), later)
    gone = tuple(i for i, c in enumerate(have) if c not in result)
    found = found.sum(gone) if gone else found
    have = "".join(c for c in have if c in result)
    return found.permute([have.index(c) for c in result]) if have != result else found


def _diagonals(x: Tensor, names: str) -> tuple[Tensor, str]:
    """A repeated index is a diagonal."""
    for c in dict.fromkeys(names):
        while names.count(c) > 1:
            i, j = names.index(c), names.index(c, names.index(c) + 1)
            x = x.diagonal(0, i, j)
            names = names[:i] + names[i + 1 : j] + names[j + 1 :] + c
    return x, names


def _contracted(a: Tensor, left: str, b: Tensor, right: str, keep: set[str]) -> tuple[Tensor, str]:
    """Two operands as one: indices that neither `keep` nor the other has are summed over."""
    for names, other in ((left, right), (right, left)):
        alone = tuple(i for i, c in enumerate(names) if c not in keep and c not in other)
        if alone and names is left:
            a, left = a.sum(alone), "".join(c for i, c in enumerate(left) if i not in alone)
        elif alone:
            b, right = b.sum(alone), "".join(c for i, c in enumerate(right) if i not in alone)
    both = [c for c in left if c in right]
    summed = [c for c in both if c not in keep]
    if not summed or any(
        a.array.shape[left.index(c)] != b.array.shape[right.index(c)] for c in both
    ):
        order = left + "".join(c for c in right if c not in left)
        spread = [
            x.permute([n.index(c) for c in order if c in n]).reshape(
                [x.array.shape[n.index(c)] if c in n else 1 for c in order]
            )
            for x, n in ((a, left), (b, right))
        ]
        product = spread[0] * spread[1]
        gone = tuple(i for i, c in enumerate(order) if c in summed)
        return (product.sum(gone) if gone else product), "".join(
            c for c in order if c not in summed
        )
    batch = [c for c in both if c in keep]
    rows = [c for c in left if c not in both]
    columns = [c for c in right if c not in both]
    size = {
        c: n
        for x, names in ((a, left), (b, right))
        for c, n in zip(names, x.array.shape, strict=True)
    }

    def folded(x: Tensor, names: str, *groups: list[str]) -> Tensor:
        turned = x.permute([names.index(c) for group in groups for c in group])
        return turned.reshape([int(np.prod([size[c] for c in group])) for group in groups])

    product = aten.bmm(
        folded(a, left, batch, rows, summed), folded(b, right, batch, summed, columns)
    )
    order = "".join(batch + rows + columns)
    return product.reshape([size[c] for c in order]), order
