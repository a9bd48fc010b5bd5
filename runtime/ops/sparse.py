"""Sparse tensors: the gradients of `embedding(sparse=True)`, and matrices of some elements.

Their `array` is a Coo, which has a shape and a dtype as arrays have: to the engine it is one until
gradients are added. Operators refuse it, but for products with dense tensors, whose gradients also
reach the values. Source: aten/src/ATen/native/sparse/SparseTensor.cpp, SparseTensorMath.cpp.
"""

from __future__ import annotations

from functools import partialmethod
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Array, Tensor, bump_version, wrap
from .make import sizes, zeros_beside
from .make.table import PUBLIC, publish


class Coo(SimpleNamespace):
    """Parts `values`, (nnz, *shape[n:]), to be summed at the places `indices`, (n, nnz)."""

    def __getattr__(self, name: str) -> Any:
        raise NotImplementedError("this operator does not take a sparse tensor; use to_dense()")


class SparseTensor(Tensor):
    """A tensor that is zero but for some rows, or elements."""

    array: Coo  # type: ignore[assignment]
    is_sparse, layout = True, "torch.sparse_coo"
    source: Tensor | None = None  # the values as they were given, which a gradient may flow to

    def __init__(self, indices: Array, values: Array, shape: tuple[int, ...], tidy: bool = False):
        self._become(wrap(values))
        self.array = Coo(indices=indices, values=values, shape=shape, dtype=values.dtype)
        self.array.coalesced = tidy or len(values) < 2  # in order, and one row for each place

    def _read(self, name: str, checked: bool = False) -> Tensor:
        refusal = f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first"
        check(self.array.coalesced or not checked, refusal)
        if checked and name == "values" and self.source is not None:
            return self.source
        return wrap(getattr(self.array, name))

    indices, values = partialmethod(_read, "indices", True), partialmethod(_read, "values", True)
    _indices, _values = partialmethod(_read, "indices"), partialmethod(_read, "values")

    def _nnz(self) -> int:
        return len(self.array.values)

    def is_coalesced(self) -> bool:
        return bool(self.array.coalesced)

    def coalesce(self) -> SparseTensor:
        coo = self.array
        if coo.coalesced:
            return self
        flat = np.ravel_multi_index(tuple(coo.indices), coo.shape[: len(coo.indices)])
        order = flat.argsort(kind="stable")
        _, starts = np.unique(flat[order], return_index=True)
        places = np.ascontiguousarray(coo.indices[:, order[starts]])
        if self.source is not None and self.source.requires_grad:
            return _made(places, self.to_dense()[tuple(places)], coo.shape, True)
        sums = np.add.reduceat(coo.values[order], starts, 0)
        return SparseTensor(places, sums, coo.shape, True)

    def to_dense(self) -> Tensor:
        coo, values = self.array, self._values() if self.source is None else self.source
        dense = zeros_beside(coo.shape, values)
        return dense.index_put(tuple(map(wrap, coo.indices)), values, accumulate=True)

    def dim(self) -> int:
        return len(self.array.shape)

    def t(self) -> SparseTensor:
        coo = self.array
        check(len(coo.indices) == len(coo.shape) == 2, "t() expects a matrix")
        values = self._values() if self.source is None else self.source
        return _made(coo.indices[::-1], values, coo.shape[::-1], False)

    def to(self, *where: Any, **options: Any) -> SparseTensor:
        """On the CPU alone."""
        values = (self._values() if self.source is None else self.source).to(*where, **options)
        check(values.is_cpu, "sparse tensors are on the CPU alone", NotImplementedError)
        return _made(self.array.indices, values, self.array.shape, self.array.coalesced)

    def __matmul__(self, other: Tensor) -> Tensor:
        """The product with a dense matrix or vector: rows of it, scaled, and summed."""
        coo, values = self.array, self._values() if self.source is None else self.source
        matrix = len(coo.shape) == len(coo.indices) == 2
        check(matrix, "sparse products are of matrices", NotImplementedError)
        check(not other.is_sparse, "sparse @ sparse is not supported", NotImplementedError)
        fits = other.array.ndim in (1, 2) and coo.shape[1] == other.array.shape[0]
        check(fits, f"mm: sizes do not match: {self.shape} and {other.shape}")
        alike = coo.dtype == other.array.dtype
        check(alike, f"mm: expected one dtype, got {coo.dtype} and {other.dtype}")
        rows = other.index_select(0, wrap(coo.indices[1]))
        rows = rows * (values if other.array.ndim == 1 else values.unsqueeze(1))
        whole = zeros_beside((coo.shape[0], *other.array.shape[1:]), other)
        return whole.index_add(0, wrap(coo.indices[0]), rows)

    matmul = mm = mv = __matmul__

    def _like(self, values: Array) -> SparseTensor:
        """Other rows at the same places."""
        coo = self._settled()
        return SparseTensor(coo.indices.copy(), values, coo.shape, coo.coalesced)

    def _settled(self) -> Coo:
        """Its array, for what brings no gradient to the values."""
        learns = self.source is not None and self.source.requires_grad
        told = "the values of this sparse tensor require a gradient, which flows through products,"
        check(not learns, f"{told} coalesce() and to_dense() alone", NotImplementedError)
        return self.array

    def clone(self) -> SparseTensor:
        return self._like(self.array.values.copy())

    def neg(self) -> SparseTensor:
        return self._like(-self.array.values)

    def mul_(self, factor: float) -> SparseTensor:
        self._settled().values *= factor
        return self

    def zero_(self) -> SparseTensor:
        self.array = SparseTensor(
            self.array.indices[:, :0], self.array.values[:0], self.shape
        ).array
        return self

    def add(self, other: SparseTensor, *, alpha: float = 1) -> SparseTensor:
        """Add two sparse tensors."""
        wrong = "add(sparse, dense) is not supported. Use add(dense, sparse) instead."
        check(isinstance(other, SparseTensor), wrong)
        return self + (other if alpha == 1 else other.clone().mul_(alpha))

    def add_(self, other: SparseTensor, *, alpha: float = 1) -> SparseTensor:
        self.array = self.add(other, alpha=alpha).array
        return self

    def add_to(self, dense: Tensor, alpha: float = 1) -> Tensor:
        """`dense += alpha * self`, of a dense tensor."""
        coo = self.coalesce().array
        dense.array[tuple(coo.indices)] += coo.values * alpha
        bump_version(dense)
        return dense

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, SparseTensor):
            return other + self.to_dense() if isinstance(other, Tensor) else NotImplemented
        coo, more = self._settled(), other._settled()
        rows = np.concatenate((coo.values, more.values))
        places = np.concatenate((coo.indices, more.indices), 1)
        return SparseTensor(places, rows, self.array.shape)

    __radd__ = __add__  # where the other one is dense
    __repr__ = object.__repr__


def _made(indices: Any, values: Tensor, shape: Any, tidy: bool) -> SparseTensor:
    found = SparseTensor(indices, values.array, tuple(shape), tidy)
    found.source = values
    return found


def sparse_coo_tensor(
    indices: Any, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, check_invariants: Any = None, is_coalesced: Any = None,
) -> SparseTensor:  # fmt: skip
    """Return a tensor with `values` at `indices`, (dimensions, nnz); equal places add up."""
    check(not requires_grad, "give values that require a gradient", NotImplementedError)
    if values is None or isinstance(indices, (int, tuple)):  # sizes alone
        size = sizes((indices,) if values is None else (indices, values))
        indices, values = np.zeros((len(size), 0)), aten.zeros(0, dtype=dtype)
    places = np.asarray(getattr(indices, "array", indices)).astype(np.int64)
    given = PUBLIC["torch"]["as_tensor"](values, dtype, device)
    check(places.ndim == 2, f"indices must be sparse_dim x nnz, but got: {places.shape}")
    nnz = given.array.shape[0] if given.array.ndim else 1
    check(places.shape[1] == nnz, f"{places.shape[1]} indices but {nnz} values")
    most = places.max(1, initial=-1) + 1
    shape = (*most.tolist(), *given.array.shape[1:]) if size is None else sizes((size,))
    fits = len(shape) == len(places) + given.array.ndim - 1
    check(fits, f"size {shape} does not fit {len(places)} indices and values {given.shape}")
    inside = not places.size or (places.min() >= 0 and (most <= shape[: len(places)]).all())
    check(bool(inside), "an index is out of the size, or below 0")
    return _made(places, given, shape, bool(is_coalesced))


def to_sparse(self: Tensor, sparse_dim: int | None = None) -> SparseTensor:
    """Return its elements that are not 0."""
    check(sparse_dim in (None, self.array.ndim), "hybrid tensors are not made", NotImplementedError)
    places = np.stack(np.nonzero(self.array))
    return _made(places, self[tuple(map(wrap, places))], self.array.shape, True)


def mm(input: Tensor, mat2: Tensor, *, out: Any = None) -> Any:
    """Return the product of two matrices; the first may be sparse."""
    if isinstance(input, SparseTensor):
        return input @ mat2
    return aten.mm(input, mat2, out=out)


def _typed(dtype: Any) -> Any:
    return lambda *args, **more: sparse_coo_tensor(*args, **more, dtype=dtype)


FloatTensor, DoubleTensor = _typed(np.float32), _typed(np.float64)
for _name in ("mm", "spmm"):
    publish(mm, _name, ["torch"])
publish(sparse_coo_tensor, "sparse_coo_tensor", ["torch"])
for _name in ("to_sparse", "to_sparse_coo"):
    publish(to_sparse, _name, ["tensor"])
publish(lambda self: self, "to_dense", ["tensor"])
