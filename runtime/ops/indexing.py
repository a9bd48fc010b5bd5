"""Indexing, assignment, gather and scatter.

Basic indices are views (select, slice, unsqueeze, one operator each, as in PyTorch); a tensor,
list or mask makes `aten::index`, and in an assignment `aten::index_put_`.

Source: torch/csrc/autograd/python_variable_indexing.cpp, TensorAdvancedIndexing.cpp.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..storage import storages
from ..tensor import Tensor, wrap
from .arguments import as_tensors, device_like, failed, zeros_beside
from .table import aten, declare, function


def _arrays(indices: Any) -> tuple[Any, ...]:
    return tuple([slice(None) if i is None else getattr(i, "array", i) for i in indices])


def _put(self: Any, place: tuple[Any, ...], values: Any, accumulate: bool = False) -> Any:
    """A copy with `values` written, or added, to a place."""
    if isinstance(values, np.ndarray) and values.dtype != self.dtype:
        raise ValueError(f"expected values of dtype {self.dtype}, not {values.dtype}")
    found = self.copy()
    if accumulate:
        _add_at(found, place, values)
    else:
        found[place] = values
    return found


def _add_at(target: Any, place: tuple[Any, ...], values: Any) -> None:
    """np.add.at; rows of a matrix go by sorting, which is faster."""
    if len(place) != 1 or target.ndim != 2 or place[0].dtype.kind == "b" or place[0].size < 64:
        np.add.at(target, place, values)
        return
    flat, width = place[0].reshape(-1), target.shape[1]
    rows = np.broadcast_to(values, (*place[0].shape, width)).reshape(-1, width)
    order = np.argsort(flat, kind="stable")
    keys = flat[order]
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    target[keys[starts]] += np.add.reduceat(rows[order], starts, 0)


def _along(self: Any, dim: int, index: Any) -> tuple[Any, ...]:
    """Where `gather` and `scatter` look: `index` along `dim`, its own place elsewhere."""
    if index.dtype.kind not in "iu" or index.ndim != self.ndim:
        raise ValueError(f"expected int64 indices with {self.ndim} dimensions")
    if not self.ndim:
        return ()
    if index.size and (index.min() < 0 or index.max() >= self.shape[dim]):
        raise ValueError(f"index out of bounds for dimension {dim} with size {self.shape[dim]}")
    place = list(np.indices(index.shape, sparse=True))
    place[dim] = index
    return tuple(place)


def _scatter(self: Any, dim: int, index: Any, src: Any, add: bool) -> Any:
    if np.ndim(src):
        src = src[tuple([slice(0, s) for s in index.shape])]
    return _put(self, _along(self, dim, index), src if self.ndim else np.sum(src), add)


def _first(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Zero-padded to a source larger than its index."""
    have = grad.array.shape
    if have == shape or not shape:
        return grad.sum() if have != shape else grad
    made = zeros_beside(shape, grad)
    made[tuple(slice(0, s) for s in have)] = grad
    return made


def _masked(self: Tensor, mask: Tensor) -> Tensor:
    if mask.array.dtype.kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    try:
        shape = np.broadcast_shapes(self.array.shape, mask.array.shape)
    except ValueError as error:
        raise failed("aten::masked_select", error, self.array, mask.array) from None
    return getitem(aten.expand(self, shape), wrap(np.broadcast_to(mask.array, shape)))


declare(
    globals(),
    r"""
[]
index(self, indices: any) = self[_arrays(indices)]
    self: index_put(zeros_beside(self_shape, grad), indices, grad, True)
[torch tensor in_place]
index_put(self, indices: any, values, accumulate: bool = False)
    = _put(self, _arrays(indices), values, accumulate)
    self: grad if accumulate else index_put(grad, indices, zeros_beside((), grad))
    values: index(grad, indices)
scatter(self, dim: dim, index, src: number) = _scatter(self, dim, index, src, False)
    self: scatter(grad, dim, index, 0)
    src: _first(gather(grad, dim, index), src_shape)
scatter_add(self, dim: dim, index, src) = _scatter(self, dim, index, src, True) => grad
    src: _first(gather(grad, dim, index), src_shape)
index_add(self, dim: dim, index, source, *, alpha: any = 1)
    = _put(self, (np.s_[:],) * dim + (index,), source if alpha == 1 else source * alpha, True)
    self: grad
    source: index_select(grad, dim, index) * alpha
index_copy(self, dim: dim, index, source) = _put(self, (np.s_[:],) * dim + (index,), source)
    self: index_fill(grad, dim, index, 0)
    source: index_select(grad, dim, index)
index_fill(self, dim: dim, index, value: any) = _put(self, (np.s_[:],) * dim + (index,), value)
    self: index_fill(grad, dim, index, 0)
[torch tensor]
gather(self, dim: dim, index)
    = self[_along(self, dim, index)] if self.ndim or not index.ndim else np.full(index.shape, self)
    self: scatter_add(zeros_beside(self_shape, grad), dim, index, grad)
index_select(self, dim: dim, index) = np.take(self, index, dim)
    self: index_add(zeros_beside(self_shape, grad), dim, index, grad)
take(self, index) := self.reshape(-1)[index]
masked_select(self, mask) := _masked(self, mask)
nonzero(self, *, as_tuple: bool = False)
    := tuple(map(wrap, np.nonzero(np.atleast_1d(self.array)))) if as_tuple
    else wrap(np.argwhere(self.array).copy())
take_along_dim(self, indices, dim: int) := gather(self, dim, indices)
""",
)


def _plain(part: Any) -> Any:
    """Tensors and lists as arrays, and those of one number as that."""
    if isinstance(part, (int, slice)) or part is None or part is Ellipsis:
        return part
    array = part.array if isinstance(part, Tensor) else np.asarray(part)
    if not array.size and not isinstance(part, Tensor):
        array = array.astype(np.int64)
    if array.dtype.kind not in "biu":
        kind = TypeError if array.dtype.kind == "U" else IndexError
        raise kind("tensors used as indices must be long, int, byte or bool tensors")
    if array.ndim:
        return array
    return part.item() if storages and isinstance(part, Tensor) else array.item()


def _beside(self: Tensor, part: Any, advanced: tuple[Any, ...]) -> tuple[Any, ...]:
    """Advanced indices as tensors on `self`'s device; for the size of a mask the host waits."""
    device = device_like(self)
    found = part if isinstance(part, Tensor) else wrap(np.asarray(part))
    if device_like(found) not in (None, device):
        where = "cpu" if device is None else device
        raise RuntimeError(
            f"indices should be either on cpu or on the same device as the indexed tensor ({where})"
        )
    if device is None:
        return advanced
    if device_like(found) is None:
        found = found.to(device)
    return aten.nonzero(found, as_tuple=True) if found.array.dtype.kind == "b" else (found,)


def _takes(part: Any) -> int:
    """How many dimensions a part of an index stands for."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    return part.ndim if isinstance(part, np.ndarray) and part.dtype.kind == "b" else 1


def _basic(self: Tensor, key: Any) -> tuple[Tensor, list[Any]]:
    """The view that the basic parts of an index make, and the advanced indices left over."""
    given = key if isinstance(key, tuple) else (key,)
    parts = [_plain(part) for part in given]
    spare = self.array.ndim - sum(map(_takes, parts))
    if spare < 0:
        raise IndexError(f"too many indices for tensor of dimension {self.array.ndim}")
    found, dim, left = self, 0, list[Any]()
    for part, own in zip(parts, given, strict=True):
        advanced: tuple[Any, ...] = ()
        if part is Ellipsis:
            dim += spare
        elif part is None or isinstance(part, bool):
            found, dim = aten.unsqueeze(found, dim), dim + 1
            advanced = () if part is None else (np.asarray([part]),)
        elif isinstance(part, int):
            found = aten.select(found, dim, part)
        elif isinstance(part, slice):
            if part.step is not None and part.step <= 0:
                raise ValueError("step must be greater than zero")
            size = found.array.shape[dim]
            where = part.indices(size)
            found, dim = found if where == (0, size, 1) else aten.slice(found, dim, *where), dim + 1
        else:
            have = found.array.shape[dim : dim + _takes(part)]
            if part.dtype.kind == "b" and part.shape != have:
                raise IndexError(f"the shape of the mask {part.shape} is not the tensor's, {have}")
            advanced = np.nonzero(part) if part.dtype.kind == "b" else (part,)
            if storages:
                advanced = _beside(found, own, advanced)
            dim += len(have)
        if advanced:
            left += [None] * (dim - len(advanced) - len(left)) + [*advanced]
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
    mask = isinstance(key, Tensor) and key.array.dtype.kind == "b" and key.array.ndim > 0
    if storages and mask and not isinstance(value, (Tensor, np.ndarray)):
        aten.masked_fill_(self, key, value)  # nobody needs to know how many there are
        return
    found, left = _basic(self, key)
    if left:
        given, _ = as_tensors("aten::index_put_", value, self)
        given = given if given.array.dtype == self.array.dtype else given.to(self.array.dtype)
        aten.index_put_(found, tuple(left), given)
    elif isinstance(value, (Tensor, np.ndarray)):
        given = value if isinstance(value, Tensor) else wrap(value)
        more = given.array.ndim - found.array.ndim
        # leading dimensions may go
        aten.copy_(found, aten.reshape(given, given.array.shape[more:]) if more > 0 else given)
    else:
        aten.fill_(found, value)
