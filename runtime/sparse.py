"""Sparse gradients, as `embedding(sparse=True)` makes them: some rows of a tensor.

Their `array` is a Coo, which has a shape and a dtype as arrays have: to the engine it is one until
gradients are added. Operators refuse it. Source: aten/src/ATen/native/sparse/SparseTensor.cpp.
"""

from __future__ import annotations

from functools import partialmethod
from types import SimpleNamespace
from typing import Any

import numpy as np

from .hooks import check
from .tensor import Array, Tensor, wrap


class Coo(SimpleNamespace):
    """Rows `values`, (nnz, *shape[1:]), to be summed at the places `indices`, (1, nnz)."""

    def __getattr__(self, name: str) -> Any:
        raise NotImplementedError("this operator does not take a sparse tensor; use to_dense()")


class SparseTensor(Tensor):
    """A tensor that is zero but for some rows."""

    array: Coo  # type: ignore[assignment]
    is_sparse, layout = True, "torch.sparse_coo"

    def __init__(self, indices: Array, values: Array, shape: tuple[int, ...], tidy: bool = False):
        super().__init__()
        self.array = Coo(indices=indices, values=values, shape=shape, dtype=values.dtype)
        self.array.coalesced = tidy or len(values) < 2  # in order, and one row for each place

    def _read(self, name: str, checked: bool = False) -> Tensor:
        refusal = f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first"
        check(self.array.coalesced or not checked, refusal)
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
        order = coo.indices[0].argsort(kind="stable")
        places, starts = np.unique(coo.indices[0][order], return_index=True)
        sums = np.add.reduceat(coo.values[order], starts, 0)
        return SparseTensor(places[None], sums, coo.shape, True)

    def to_dense(self) -> Tensor:
        coo, dense = self.coalesce().array, np.zeros(self.array.shape, self.array.dtype)
        dense[coo.indices[0]] = coo.values
        return wrap(dense)

    def clone(self) -> SparseTensor:
        coo = self.array
        return SparseTensor(coo.indices.copy(), coo.values.copy(), coo.shape, coo.coalesced)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, SparseTensor):
            return other + self.to_dense() if isinstance(other, Tensor) else NotImplemented
        rows = np.concatenate((self.array.values, other.array.values))
        places = np.concatenate((self.array.indices, other.array.indices), 1)
        return SparseTensor(places, rows, self.array.shape)

    __radd__ = __add__  # where the other one is dense
    __repr__ = object.__repr__
