"""The matrix products. Source: derivatives.yaml, aten/src/ATen/native/LinearAlgebra.cpp."""

# ruff: noqa: PLW0108  (a formula's lambda names what is defined further down)
# mypy: disable-error-code="no-any-return,has-type,call-overload"

from __future__ import annotations

from typing import Any

import numpy as np

from ..record_function import active
from ..tensor import Tensor
from .composite import composite
from .table import op
from .views import expand, reshape, t


def _product(name: str, ndim: int) -> Any:
    def forward(self: Any, mat2: Any) -> Any:
        if self.ndim != ndim or mat2.ndim != ndim:
            raise ValueError(f"expected {ndim}-D tensors, got {self.ndim}-D and {mat2.ndim}-D")
        if self.dtype is not mat2.dtype and self.dtype != mat2.dtype:
            raise ValueError(
                f"expected both to have the same dtype, got {self.dtype} and {mat2.dtype}"
            )
        if self.shape[-1] != mat2.shape[-2] or self.shape[:-2] != mat2.shape[:-2]:
            raise ValueError(
                f"shapes cannot be multiplied ({list(self.shape)} and {list(mat2.shape)})"
            )
        return self @ mat2

    forward.__name__ = name
    return forward


def _mat1_back(grad: Tensor, mat2: Tensor) -> Tensor:
    return mm(grad, t(mat2))


def _mat2_back(grad: Tensor, mat1: Tensor, strides: tuple[int, ...]) -> Tensor:
    """In the layout of mat2: that of a transposed weight gives the weight a contiguous gradient."""
    if strides[0] < strides[1]:
        return t(mm(t(grad), mat1))
    return mm(t(mat1), grad)


def _mat2_arrays(grad: Any, mat1: Any, strides: tuple[int, ...]) -> Any:
    return (grad.T @ mat1).T if strides[0] < strides[1] else mat1.T @ grad


mm = op(
    "aten::mm",
    _product("mm", 2),
    "self",
    "mat2",
    self=lambda grad, mat2: _mat1_back(grad, mat2),
    mat2=lambda grad, self, mat2_strides: _mat2_back(grad, self, mat2_strides),
    arrays={
        "self": lambda grad, mat2: grad @ mat2.T,
        "mat2": lambda grad, self, mat2_strides: _mat2_arrays(grad, self, mat2_strides),
    },
)


def _addmm(self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    if mat1.ndim != 2 or mat2.ndim != 2 or mat1.shape[1] != mat2.shape[0]:
        raise ValueError(
            f"mat1 and mat2 shapes cannot be multiplied ({list(mat1.shape)} and {list(mat2.shape)})"
        )
    if not mat1.dtype == mat2.dtype == self.dtype:
        raise ValueError(f"expected one dtype, got {self.dtype}, {mat1.dtype} and {mat2.dtype}")
    found = mat1 @ mat2
    if alpha != 1:
        found *= alpha
    found += self if beta == 1 else self * beta
    return found


def _scaled(grad: Any, factor: Any) -> Any:
    return grad if factor == 1 else grad * factor


_addmm_op = op(
    "aten::addmm",
    _addmm,
    "self",
    "mat1",
    "mat2",
    self=lambda grad, beta: _scaled(grad, beta),
    mat1=lambda grad, mat2, alpha: _scaled(_mat1_back(grad, mat2), alpha),
    mat2=lambda grad, mat1, mat2_strides, alpha: _scaled(
        _mat2_back(grad, mat1, mat2_strides), alpha
    ),
    arrays={
        "self": lambda grad, beta: _scaled(grad, beta),
        "mat1": lambda grad, mat2, alpha: _scaled(grad @ mat2.T, alpha),
        "mat2": lambda grad, mat1, mat2_strides, alpha: _scaled(
            _mat2_arrays(grad, mat1, mat2_strides), alpha
        ),
    },
)


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:  # noqa: A002
    """`beta * input + alpha * mat1 @ mat2`, of shapes (N, M) or broadcast, (N, K), (K, M)."""
    return _addmm_op(input, mat1, mat2, beta, alpha)


bmm = op(
    "aten::bmm",
    _product("bmm", 3),
    "self",
    "mat2",
    self=lambda grad, mat2: bmm(grad, mat2.transpose(1, 2)),
    mat2=lambda grad, self: bmm(self.transpose(1, 2), grad),
    arrays={
        "self": lambda grad, mat2: grad @ mat2.swapaxes(1, 2),
        "mat2": lambda grad, self: self.swapaxes(1, 2) @ grad,
    },
)


def _dot(self: Any, tensor: Any) -> Any:
    if self.ndim != 1 or tensor.ndim != 1 or self.shape != tensor.shape:
        raise ValueError(f"1D tensors of one size expected, got {self.shape} and {tensor.shape}")
    return self @ tensor


dot = op(
    "aten::dot",
    _dot,
    "self",
    "tensor",
    self=lambda grad, tensor: grad * tensor,
    tensor=lambda grad, self: grad * self,
)


def _mv(self: Any, vec: Any) -> Any:
    if self.ndim != 2 or vec.ndim != 1 or self.shape[1] != vec.shape[0]:
        raise ValueError(f"size mismatch, got input {list(self.shape)}, vec {list(vec.shape)}")
    return self @ vec


mv = op(
    "aten::mv",
    _mv,
    "self",
    "vec",
    self=lambda grad, vec: outer(grad, vec),
    vec=lambda grad, self: mv(t(self), grad),
)


@composite("aten::outer")
def outer(input: Tensor, vec2: Tensor) -> Tensor:  # noqa: A002
    """The products of all pairs: (N,) and (M,) to (N, M)."""
    return input.unsqueeze(1) * vec2


@composite("aten::matmul")
def matmul(input: Tensor, other: Tensor) -> Tensor:  # noqa: A002, PLR0911
    """Vectors, matrices and batches of them, as `numpy.matmul`."""
    a, b = input.array.ndim, other.array.ndim
    if not a or not b:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D"
        )
    if a == 2 and b == 2:
        return mm(input, other)
    if a == 1 and b == 1:
        return dot(input, other)
    if a == 2 and b == 1:
        return mv(input, other)
    if a == 1 and b == 2:
        return mm(input.unsqueeze(0), other).squeeze(0)
    if a >= 3 and b <= 2:  # one large mm rather than many small ones
        shape = input.array.shape
        flat = reshape(input, (-1, shape[-1]))
        if b == 1:
            return reshape(mv(flat, other), shape[:-1])
        return reshape(mm(flat, other), (*shape[:-1], other.array.shape[1]))
    first = input.unsqueeze(0) if a == 1 else input
    second = other.unsqueeze(-1) if b == 1 else other
    sa, sb = first.array.shape, second.array.shape
    lead = np.broadcast_shapes(sa[:-2], sb[:-2])
    left = reshape(expand(first, (*lead, *sa[-2:])), (-1, *sa[-2:]))
    right = reshape(expand(second, (*lead, *sb[-2:])), (-1, *sb[-2:]))
    found = reshape(bmm(left, right), (*lead, sa[-2], sb[-1]))
    if a == 1:
        found = found.squeeze(-2)
    return found.squeeze(-1) if b == 1 else found


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:  # noqa: A002
    turned = t(weight)
    if input.array.ndim == 2:
        if bias is None:
            return mm(input, turned)
        return _addmm_op(bias, input, turned, 1, 1)
    if bias is None or input.array.ndim < 2:
        found = matmul(input, turned)
        return found if bias is None else found + bias
    shape = input.array.shape
    flat = _addmm_op(bias, reshape(input, (-1, shape[-1])), turned, 1, 1)
    return reshape(flat, (*shape[:-1], weight.array.shape[0]))


_linear_seen = composite("aten::linear")(_linear)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:  # noqa: A002
    """`input @ weight.T + bias`: (*, in), (out, in), (out,) to (*, out)."""
    return (_linear_seen if active else _linear)(input, weight, bias)


def einsum(equation: str, *operands: Any) -> Tensor:
    """Sums of products by their indices, as `numpy.einsum` (explicit or implicit output).

    Operands are contracted in the order given, two at a time.
    """
    tensors = (
        operands[0] if len(operands) == 1 and not isinstance(operands[0], Tensor) else operands
    )
    spec = equation.replace(" ", "")
    left, arrow, right = spec.partition("->")
    terms = left.split(",")
    if len(terms) != len(tensors):
        raise RuntimeError(f"einsum(): {len(terms)} terms but {len(tensors)} operands")
    spare = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in spec]
    most = max(
        x.array.ndim - len(term.replace("...", "")) for x, term in zip(tensors, terms, strict=True)
    )
    dots = "".join(spare[:most]) if "..." in spec else ""
    terms = [
        term.replace(
            "...", dots[len(dots) - (x.array.ndim - len(term.replace("...", ""))) :] if dots else ""
        )
        for x, term in zip(tensors, terms, strict=True)
    ]
    every = "".join(terms)
    if arrow:
        result = right.replace("...", dots)
    else:
        result = dots + "".join(
            sorted(c for c in set(every) if every.count(c) == 1 and c not in dots)
        )
    order = result + "".join(dict.fromkeys(c for c in every if c not in result))
    if len(set(result)) != len(result) or not set(result) <= set(every):
        raise RuntimeError(f"einsum(): output subscripts of {equation!r} are not valid")
    found = None
    for x, term in zip(tensors, terms, strict=True):
        names = term
        for c in dict.fromkeys(term):  # a repeated index is a diagonal
            while names.count(c) > 1:
                i = names.index(c)
                j = names.index(c, i + 1)
                x = x.diagonal(0, i, j)  # noqa: PLW2901
                names = names[:i] + names[i + 1 : j] + names[j + 1 :] + c
        x = x.permute(*[names.index(c) for c in order if c in names])  # noqa: PLW2901
        for place, c in enumerate(order):
            if c not in names:
                x = x.unsqueeze(place)  # noqa: PLW2901
        found = x if found is None else found * x
    assert found is not None
    gone = tuple(range(len(result), len(order)))
    return found.sum(gone) if gone else found
