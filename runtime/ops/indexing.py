"""Indexing, assignment, gather and scatter.

Basic indices are views (select, slice, unsqueeze, one operator each, as in PyTorch); a tensor,
list or mask makes `aten::index`, and in an assignment `aten::index_put_`.

Source: torch/csrc/autograd/python_variable_indexing.cpp, TensorAdvancedIndexing.cpp.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import Tensor, wrap
from .arguments import as_tensors, failed
from .table import aten, declare, function


def _zeros(shape: tuple[int, ...], like: Tensor) -> Tensor:
    return wrap(np.zeros(shape, like.array.dtype))


def _arrays(indices: Any) -> tuple[Any, ...]:
    return tuple([slice(None) if i is None else getattr(i, "array", i) for i in indices])


def _index(self: Any, indices: Any) -> Any:
    return self[_arrays(indices)]


def _same(name: str, self: Any, source: Any) -> None:
    if isinstance(source, np.ndarray) and source.dtype != self.dtype:
        raise ValueError(f"{name}(): Expected self.dtype to be equal to src.dtype")


def _put(self: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    _same("index_put", self, values)
    found = self.copy()
    if accumulate:
        _add_at(found, _arrays(indices), values)
    else:
        found[_arrays(indices)] = values
    return found


def _add_at(target: Any, place: tuple[Any, ...], values: Any) -> None:
    """np.add.at; rows of a matrix go by sorting, which is faster."""
    index = place[0]
    if len(place) > 1 or target.ndim != 2 or index.dtype.kind not in "iu" or index.size < 64:
        np.add.at(target, place, values)
        return
    rows = np.broadcast_to(values, (*index.shape, target.shape[1])).reshape(-1, target.shape[1])
    flat = index.reshape(-1)
    order = np.argsort(flat, kind="stable")
    keys = flat[order]
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    target[keys[starts]] += np.add.reduceat(rows[order], starts, 0)


def _along(self: Any, dim: int, index: Any) -> tuple[Any, ...]:
    """Where `gather` and `scatter` look: `index` along `dim`, its own place elsewhere."""
    if index.dtype.kind not in "iu":
        raise ValueError("Expected dtype int32/int64 for index")
    if index.ndim != self.ndim:
        raise ValueError("Index tensor must have the same number of dimensions as input tensor")
    if index.size and (index.min() < 0 or index.max() >= self.shape[dim]):
        wrong = index.min() if index.min() < 0 else index.max()
        raise ValueError(
            f"index {wrong} is out of bounds for dimension {dim} with size {self.shape[dim]}"
        )
    place = list(np.indices(index.shape, sparse=True))
    place[dim] = index
    return tuple(place)


def _gather(self: Any, dim: int, index: Any) -> Any:
    if not self.ndim:
        return np.broadcast_to(self, index.shape).copy()
    return self[_along(self, dim, index)]


def _scatter(self: Any, dim: int, index: Any, src: Any, add: bool) -> Any:
    _same("scatter", self, src)
    if not self.ndim:
        return self + src if add else np.broadcast_to(src, ()).copy()
    found, place = self.copy(), _along(self, dim, index)
    if np.ndim(src):
        src = src[tuple([slice(0, s) for s in index.shape])]
    if add:
        np.add.at(found, place, src)
    else:
        found[place] = src
    return found


def _first(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Zero-padded to a source larger than its index."""
    have = grad.array.shape
    if have == shape or not shape:
        return grad.sum() if have != shape else grad
    made = _zeros(shape, grad)
    made[tuple(slice(0, s) for s in have)] = grad
    return made


def _index_add(self: Any, dim: int, index: Any, source: Any, alpha: Any) -> Any:
    _same("index_add", self, source)
    found = self.copy()
    place = (slice(None),) * dim + (index,)
    _add_at(found, place, source if alpha == 1 else source * alpha)
    return found


def _index_fill(self: Any, dim: int, index: Any, value: Any) -> Any:
    _same("index_copy", self, value)
    found = self.copy()
    found[(slice(None),) * dim + (index,)] = value
    return found


declare(
    globals(),
    r"""
[]
index(self, indices: any) = _index(self, indices)
    self: index_put(_zeros(self_shape, grad), indices, grad, True)
[torch tensor in_place]
index_put(self, indices: any, values, accumulate: bool = False) = _put(self, indices, values, accumulate)
    self: grad if accumulate else index_put(grad, indices, _zeros((), grad))
    values: index(grad, indices)
scatter(self, dim: dim, index, src: number) = _scatter(self, dim, index, src, False)
    self: scatter(grad, dim, index, 0)
    src: _first(gather(grad, dim, index), src_shape)
scatter_add(self, dim: dim, index, src) = _scatter(self, dim, index, src, True) => grad
    src: _first(gather(grad, dim, index), src_shape)
index_add(self, dim: dim, index, source, *, alpha: any = 1)
    = _index_add(self, dim, index, source, alpha) => grad
    source: index_select(grad, dim, index) * alpha
index_copy(self, dim: dim, index, source) = _index_fill(self, dim, index, source)
    self: index_fill(grad, dim, index, 0)
    source: index_select(grad, dim, index)
index_fill(self, dim: dim, index, value: any) = _index_fill(self, dim, index, value)
    self: index_fill(grad, dim, index, 0)
[torch tensor]
gather(self, dim: dim, index) = _gather(self, dim, index)
    self: scatter_add(_zeros(self_shape, grad), dim, index, grad)
index_select(self, dim: dim, index) = np.take(self, index, dim)
    self: index_add(_zeros(self_shape, grad), dim, index, grad)
take(self, index) := self.reshape(-1)[index]
take_along_dim(self, indices, dim: int) := gather(self, dim, indices)
""",
)


def _basic(self: Tensor, key: Any) -> tuple[Tensor, list[Any]]:  # noqa: PLR0912
    """The view that the basic parts of an index make, and the advanced indices left over."""
    parts = key if isinstance(key, tuple) else (key,)
    used = 0
    for part in parts:
        if isinstance(part, (Tensor, np.ndarray)) and part.dtype.kind == "b":
            used += part.ndim
        elif part is not None and part is not Ellipsis and not isinstance(part, bool):
            used += 1
    if used > self.array.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self.array.ndim}")
    found, dim = self, 0
    left: list[Any] = []
    for part in parts:
        if isinstance(part, (Tensor, np.ndarray)) and not part.ndim and part.dtype.kind == "b":
            part = bool(part)  # noqa: PLW2901
        if isinstance(part, bool):
            found = aten.unsqueeze(found, dim)
            left += [None] * (dim - len(left)) + [np.asarray([part])]
            dim += 1
        elif isinstance(part, (int, np.integer)):
            found = aten.select(found, dim, int(part))
        elif isinstance(part, Tensor) and not part.array.ndim and part.array.dtype.kind in "iu":
            found = aten.select(found, dim, int(part.array))
        elif isinstance(part, slice):
            size = found.array.shape[dim]
            if part.step is not None and part.step <= 0:
                raise ValueError("step must be greater than zero")
            begin, end, step = part.indices(size)
            if (begin, step) != (0, 1) or end != size:
                found = aten.slice(found, dim, begin, end, step)
            dim += 1
        elif part is Ellipsis:
            dim += self.array.ndim - used
        elif part is None:
            found = aten.unsqueeze(found, dim)
            dim += 1
        else:
            array = part.array if isinstance(part, Tensor) else np.asarray(part)
            if not array.size and not isinstance(part, Tensor):
                array = array.astype(np.int64)
            if array.dtype.kind not in "biu":
                kind = TypeError if isinstance(part, str) else IndexError
                raise kind("tensors used as indices must be long, int, byte or bool tensors")
            left += [None] * (dim - len(left)) + [array]
            if array.dtype.kind == "b":
                have = found.array.shape[dim : dim + array.ndim]
                if array.shape != have:
                    raise IndexError(
                        f"The shape of the mask {list(array.shape)} at index 0 does not match the "
                        f"shape of the indexed tensor {list(found.array.shape)} at index 0"
                    )
                left[-1:] = list(np.nonzero(array))
            dim += array.ndim if array.dtype.kind == "b" else 1
    return found, left


@function("")
def getitem(self: Tensor, key: Any) -> Tensor:
    """`self[key]`."""
    found, left = _basic(self, key)
    if left:
        return aten.index(found, tuple(left))
    return aten.alias(found) if found is self else found


@function("")
def setitem(self: Tensor, key: Any, value: Any) -> None:
    """`self[key] = value`: select or slice, then fill_, copy_ or index_put_."""
    found, left = _basic(self, key)
    if left:
        given, _ = as_tensors("aten::index_put_", value, self)
        given = given if given.array.dtype == self.array.dtype else given.to(self.array.dtype)
        aten.index_put_(found, tuple(left), given)
    elif isinstance(value, (Tensor, np.ndarray)):
        given = value if isinstance(value, Tensor) else wrap(value)
        more = given.array.ndim - found.array.ndim
        if more > 0:  # leading ones may go
            given = aten.reshape(given, given.array.shape[more:])
        aten.copy_(found, given)
    else:
        aten.fill_(found, value)


@function("torch tensor")
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where `mask`, as one dimension."""
    if mask.array.dtype.kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    try:
        shape = np.broadcast_shapes(input.array.shape, mask.array.shape)
    except ValueError as error:
        raise failed("aten::masked_select", error, input.array, mask.array) from None
    full = input if input.array.shape == shape else aten.expand(input, shape)
    return getitem(full, wrap(np.broadcast_to(mask.array, shape)))


@function("torch tensor")
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Where elements are not zero: (count, ndim), or one index tensor per dimension."""
    found = np.nonzero(np.atleast_1d(input.array))
    return tuple(map(wrap, found)) if as_tuple else wrap(np.stack(found, 1)[:, : input.array.ndim])
