"""Indexing, assignment, gather and scatter.

Basic indices are views (select, slice, unsqueeze, one operator each, as in PyTorch); a tensor,
list or mask makes `aten::index`, and in an assignment `aten::index_put_`.

Source: torch/csrc/autograd/python_variable_indexing.cpp, TensorAdvancedIndexing.cpp.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ..core.aten import aten
from ..core.dtypes import in_16_bits
from ..core.storage import storages
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap
from .add_at import add_at
from .arithmetic import times  # noqa: F401  (of rows below)
from .make import (
    as_tensors,
    declare,
    device_like,
    dimension,
    failed,
    filling,
    function,
    zeros_beside,
)  # fmt: skip


def _arrays(indices: Any) -> tuple[Any, ...]:
    return tuple([slice(None) if i is None else getattr(i, "array", i) for i in indices])


def _picked(self: Any, indices: tuple[Any, ...]) -> Any:
    """In PyTorch's layout: in order, unless the first dimensions are indexed."""
    found = self[indices]
    return np.ascontiguousarray(found) if isinstance(indices[0], slice) else found


def _put(
    self: Any, place: tuple[Any, ...], values: Any, accumulate: Any = False, order: Any = "C"
) -> Any:
    """A copy with `values` written, added, or multiplied ("multiply") to a place."""
    if isinstance(values, np.ndarray) and values.dtype != self.dtype:
        raise ValueError(f"expected values of dtype {self.dtype}, not {values.dtype}")
    found = self.copy(order)
    if accumulate:
        (np.multiply.at if accumulate == "multiply" else add_at)(found, place, values)
    else:
        found[place] = values
    return found


def _along(self: Any, dim: int, index: Any) -> tuple[Any, ...]:
    """Where `gather` and `scatter` look: `index` along `dim`, its own place elsewhere."""
    index = np.atleast_1d(index)
    if index.size and (index.dtype.kind != "i" or index.ndim != self.ndim):
        raise ValueError(f"expected int64 indices with {self.ndim} dimensions")
    if not index.size:
        return (index.reshape(-1).astype(np.int64),)
    if index.min() < 0 or index.max() >= self.shape[dim]:
        raise ValueError(f"index out of bounds for dimension {dim} with size {self.shape[dim]}")
    sizes = enumerate(zip(index.shape, self.shape, strict=True))
    fits = all(mine <= whole for d, (mine, whole) in sizes if d != dim)
    check(fits, f"Size does not match: index {index.shape}, self {self.shape}", ValueError)
    place = list(np.indices(index.shape, sparse=True))
    place[dim] = index
    return tuple(place)


def _gather(self: Any, dim: int, index: Any) -> Any:
    line = np.atleast_1d(self)
    place = _along(line, dim, index)
    return line[place].reshape(index.shape) if index.size else np.empty(index.shape, self.dtype)


def _scatter(self: Any, dim: int, index: Any, src: Any, add: Any) -> Any:
    if not index.size:
        return self.copy()
    if isinstance(src, np.ndarray):
        pair = [x.shape or (1,) for x in (index, src)]
        fits = len(pair[0]) == len(pair[1]) and all(a <= b for a, b in zip(*pair, strict=True))
        check(fits, f"Expected index {index.shape} to be smaller than src {src.shape}", ValueError)
        src = np.atleast_1d(src)[tuple([slice(0, s) for s in pair[0]])]
    else:
        src = filling(src, self.dtype)
    line = np.atleast_1d(self)
    return _put(line, _along(line, dim, index), src, add).reshape(self.shape)


def _vector(index: Any) -> Any:
    check(index.ndim < 2, "Index is supposed to be a vector", IndexError)
    check(index.dtype.kind == "i", "Expected dtype int32/int64 for index", ValueError)
    return np.atleast_1d(index)


def _at_rows(self: Any, dim: int, index: Any, values: Any, add: bool = False, *order: str) -> Any:
    """index_add, index_copy and index_fill: a tensor without dimensions has one row."""
    check(index.dtype.kind == "i" or not order, "Expected dtype int64 for index", IndexError)
    line, index = np.atleast_1d(self), _vector(index)
    size = line.shape[dim]
    if index.size and (index.min() < (-size if order else 0) or index.max() >= size):
        raise IndexError(f"index out of range in self, which has size {size} at {dim}")
    if not order:
        wanted = (*line.shape[:dim], index.size, *line.shape[dim + 1 :])
        fits = values.shape == wanted or (values.ndim == 0 and math.prod(wanted) == 1 == line.ndim)
        apart = [a != b for a, b in zip(values.shape, wanted, strict=False)]
        alike = values.ndim != line.ndim or not any(apart[:dim] + apart[dim + 1 :])
        kind = IndexError if alike and not add else ValueError
        check(fits, f"source tensor {values.shape} does not fit: expected {wanted}", kind)
        values = values.reshape(wanted)
    elif np.ndim(values) or (isinstance(values, complex) and self.dtype.kind != "c"):
        raise ValueError("index_fill_ only supports a 0-dimensional value of the tensor's kind")
    else:
        values = filling(values, self.dtype)
    return _put(line, (np.s_[:],) * dim + (index,), values, add, *order).reshape(self.shape)


def _at_indices(self: Any, dim: int, index: Any) -> Any:
    line, index = np.atleast_1d(self), _vector(index)
    if index.size and (index.min() < 0 or index.max() >= line.shape[dim]):
        raise IndexError("index out of range in self")
    found = np.take(line, index, dim)
    return found if self.ndim else found.reshape(())


def _along_dim(self: Tensor, indices: Tensor, dim: Any) -> Tensor:
    if dim is None:
        return aten.gather(self.reshape(-1), 0, indices.reshape(-1))
    check(
        indices.array.dtype == np.int64, "torch.take_along_dim(): dtype of indices should be Long"
    )
    check(self.array.ndim == indices.array.ndim, "torch.take_along_dim(): dimensions differ")
    dim = dimension(dim, self.array.ndim)
    shapes = [list(x.array.shape) for x in (self, indices)]
    own = [shape[dim] if shape else 1 for shape in shapes]
    for shape in shapes:
        shape[dim : dim + 1] = [1]
    whole = list(np.broadcast_shapes(*shapes))
    whole[dim] = own[1]
    place = indices.expand(whole) % own[0]
    whole[dim] = own[0]
    return aten.gather(self.expand(whole), dim, place)


def _first(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Zero-padded to a source larger than its index."""
    have = grad.array.shape
    if have == shape or not shape:
        return grad.reshape(shape)
    if len(have) != len(shape):
        grad = grad.reshape((*have, *(1,) * (len(shape) - len(have))))
        have = grad.array.shape
    made = zeros_beside(shape, grad)
    made[tuple(slice(0, s) for s in have)] = grad
    return made


def _once(index: Tensor) -> Tensor:
    return wrap(np.unique(index.array))


def _masked(self: Tensor, mask: Tensor) -> Tensor:
    if mask.array.dtype.kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    try:
        shape = np.broadcast_shapes(self.array.shape, mask.array.shape)
    except ValueError as error:
        raise failed("aten::masked_select", error, self.array, mask.array) from None
    return getitem(aten.expand(self, shape), wrap(np.broadcast_to(mask.array, shape)))


_ROWS = r"""
[]
index(self, indices: any) = _picked(self, _arrays(indices))
    self: index_put(zeros_beside(self_shape, grad), indices, grad, True)
[torch tensor in_place]
index_put(self, indices: any, values, accumulate: bool = False)
    = _put(self, _arrays(indices), values, accumulate, "K")
    self: grad if accumulate else index_put(grad, indices, zeros_beside((), grad))
    values: index(grad, indices)
scatter.src(self, dim: dim, index, src: number) = _scatter(self, dim, index, src, False)
    self: scatter_src(grad, dim, index, 0)
    src: _first(gather(grad, dim, index), src_shape)
scatter.reduce(self, dim: dim, index, src: number) = _scatter(self, dim, index, src, "multiply")
    self: check(False, "derivative for aten::scatter is not implemented")
    src: check(False, "derivative for aten::scatter is not implemented")
scatter_add(self, dim: dim, index, src) = _scatter(self, dim, index, src, True) => grad
    src: _first(gather(grad, dim, index), src_shape)
index_add(self, dim: dim, index, source, *, alpha: any = 1)
    = _at_rows(self, dim, index, source if alpha == 1 else times(source, alpha, self.dtype), True)
    self: grad
    source: reshape(index_select(grad, dim, index), source_shape) * conj(alpha)
index_copy(self, dim: dim, index, source) = _at_rows(self, dim, index, source)
    self: index_fill(grad, dim, index, 0)
    source: reshape(index_select(grad, dim, index), source_shape)
index_fill(self, dim: dim, index, value: number) = _at_rows(self, dim, index, value, False, "K")
    self: index_fill(grad, dim, index, 0)
    value: index_select(grad, dim, _once(index)).sum()
[torch tensor contiguous]
gather(self, dim: dim, index)
    = _gather(self, dim, index)
    self: scatter_add(zeros_beside(self_shape, grad), dim, index, grad)
index_select(self, dim: dim, index) = _at_indices(self, dim, index)
    self: index_add(zeros_beside(self_shape, grad), dim, index, grad)
[torch tensor]
take(self, index) := self.reshape(-1)[index]
masked_select(self, mask) := _masked(self, mask)
nonzero(self, *, as_tuple: bool = False)
    := tuple(wrap(x.copy()) for x in np.nonzero(np.atleast_1d(self.array))) if as_tuple
    else wrap(np.asarray(np.argwhere(self.array), order="F"))
take_along_dim(self, indices, dim = None) := _along_dim(self, indices, dim)
"""
declare(globals(), _ROWS)


def _plain(part: Any) -> Any:
    """Tensors and lists as arrays, and those of one number as that."""
    if isinstance(part, (int, slice)) or part is None or part is Ellipsis:
        return part
    if isinstance(part, (list, tuple)):
        part = aten.tensor(part)
        part = part if part.array.size else part.array
    array = part.array if isinstance(part, Tensor) else np.asarray(part)
    if not array.size and not isinstance(part, Tensor):
        array = array.astype(np.int64)
    if array.dtype.kind not in "biu":
        kind = TypeError if array.dtype.kind == "U" else IndexError
        raise kind("tensors used as indices must be long, int, byte or bool tensors")
    if array.ndim and array.dtype == np.uint8:
        warnings.warn("indexing with dtype torch.uint8 is deprecated, use torch.bool", stacklevel=4)
        return array.astype(bool)
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


def _parts_of(key: Any) -> tuple[Any, ...]:
    """The parts of an index; a list in which one stands is taken for a tuple."""
    if isinstance(key, list) and len(key) < 32:
        parts = (list, tuple, Tensor, np.ndarray, slice, type(None), type(Ellipsis))
        if any(isinstance(part, parts) for part in key):
            what = "Using a non-tuple sequence for multidimensional indexing is deprecated"
            warnings.warn(f"{what}; use x[tuple(seq)] instead of x[seq]", stacklevel=4)
            return tuple(key)
    return key if isinstance(key, tuple) else (key,)


def _basic(self: Tensor, key: Any) -> tuple[Tensor, list[Any]]:
    """The view that the basic parts of an index make, and the advanced indices left over."""
    given = _parts_of(key)
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


def _as_mask(key: Any, left: list[Any], view: Tensor) -> Tensor | None:
    """Return an index's only tensor as a mask of the view; None if it is none, or not the only."""
    found = [x for x in _parts_of(key) if isinstance(_plain(x), np.ndarray)]
    if len(found) != 1:
        return None
    mask = found[0] if isinstance(found[0], Tensor) else wrap(np.asarray(found[0]))
    if mask.array.dtype.kind != "b" or mask.array.ndim != sum(x is not None for x in left):
        return None
    mask = mask.reshape((*mask.array.shape, *(1,) * (view.array.ndim - len(left))))
    return mask.to(device_like(view)) if storages else mask


@function("")
def setitem(self: Tensor, key: Any, value: Any) -> None:
    """`self[key] = value`: select or slice, then fill_, copy_ or index_put_."""
    mask = isinstance(key, Tensor) and key.array.dtype.kind == "b" and key.array.ndim > 0
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) or (isinstance(value, int) and -(2**63) <= value < 2**63):
        value = in_16_bits(value, self.array.dtype)
    if storages and mask and not isinstance(value, (Tensor, np.ndarray)):
        aten.masked_fill_(self, key, value)  # nobody needs to know how many there are
        return
    found, left = _basic(self, key)
    if left:
        if not isinstance(value, Tensor) and not getattr(value, "ndim", 0):
            filling(value, self.array.dtype)
        given, _ = as_tensors("aten::index_put_", value, self)
        if not isinstance(value, Tensor):
            given = given.to(self.array.dtype)
        bytes_ = [x for x in _parts_of(key) if isinstance(x, Tensor) and x.dtype == np.uint8]
        only = "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char"
        check(not bytes_ or given.array.size != 1, only)
        alike = given.array.dtype == found.array.dtype
        alone = alike and not np.may_share_memory(found.array, given.array)
        placed = None if alone or given.array.size != 1 else _as_mask(key, left, found)
        if placed is None:
            aten.index_put_(found, tuple(left), given)
        else:
            aten.masked_fill_(found, placed, given.reshape(()))  # reads before it writes
    elif isinstance(value, (Tensor, np.ndarray)):
        given = value if isinstance(value, Tensor) else wrap(value)
        more = given.array.ndim - found.array.ndim
        # leading dimensions may go
        given = aten.reshape(given, given.array.shape[more:]) if more > 0 else given
        spread = found.array.shape != given.array.shape
        if spread and np.may_share_memory(found.array, given.array):
            given = given.expand(found.array.shape)  # which may be written to while it is read
        aten.copy_(found, given)
    else:
        aten.fill_(found, value)


@function("torch tensor")
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None,
    reduce: str | None = None,
) -> Tensor:  # fmt: skip
    """Return a copy with values of `src` (or one value) where `index` points along `dim`."""
    src = value if src is None else src
    if reduce is None:
        return aten.scatter_src(input, dim, index, src)
    told = f"reduce argument must be either add or multiply, not {reduce!r}"
    check(reduce in {"add", "multiply"}, told)
    if isinstance(src, Tensor):
        what = "The reduce argument of torch.scatter with Tensor src is deprecated"
        warnings.warn(f"{what}; use scatter_reduce instead.", stacklevel=2)
    if reduce == "multiply":
        return aten.scatter_reduce(input, dim, index, src)
    given = src if isinstance(src, Tensor) else aten.full_like(index, src, dtype=input.array.dtype)
    return aten.scatter_add(input, dim, index, given)


@function("tensor")
def scatter_(self: Tensor, dim: int, index: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Scatter in place."""
    if len(args) == 1 and not kwargs:
        return aten.scatter_src_(self, dim, index, *args)
    return aten.copy_(self, scatter(self, dim, index, *args, **kwargs))
