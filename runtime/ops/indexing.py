"""Indexing, assignment, gather and scatter.

Basic indices are views (select, slice, unsqueeze, one operator each, as in PyTorch); a tensor,
list or mask makes `aten::index`, and in an assignment `aten::index_put_`.

Source: torch/csrc/autograd/python_variable_indexing.cpp, TensorAdvancedIndexing.cpp.
"""

# ruff: noqa: PLW0108  (a formula's lambda names what is defined further down)
# mypy: disable-error-code="no-any-return,has-type,call-overload"

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import Tensor, wrap
from .in_place import inplace
from .table import as_tensors, op
from .views import alias, dimension, expand, reshape, select, slice_, unsqueeze


def _index(self: Any, indices: Any) -> Any:
    return self[_arrays(indices)]


def _arrays(indices: Any) -> tuple[Any, ...]:
    return tuple(slice(None) if i is None else getattr(i, "array", i) for i in indices)


def _index_put(self: Any, values: Any, indices: Any, accumulate: bool) -> Any:
    found = self.copy()
    if accumulate:
        np.add.at(found, _arrays(indices), values)
    else:
        found[_arrays(indices)] = values
    return found


def _index_back(grad: Tensor, self_shape: tuple[int, ...], indices: Any) -> Tensor:
    made = wrap(np.zeros(self_shape, grad.array.dtype))
    return _index_put_op(made, grad, indices, True)


def _put_back_self(grad: Tensor, indices: Any, accumulate: bool) -> Tensor:
    if accumulate:
        return grad
    return _index_put_op(grad, wrap(np.zeros((), grad.array.dtype)), indices, False)


_index_op = op("aten::index", _index, "self", self=_index_back)
_index_put_op = op(
    "aten::index_put",
    _index_put,
    "self",
    "values",
    self=_put_back_self,
    values=lambda grad, indices: _index_op(grad, indices),
)
_index_put_inplace = inplace("aten::index_put_", _index_put_op)
copy_op = op(
    "aten::copy",
    lambda self, src: np.broadcast_to(src, self.shape),
    "self",
    "src",
    self=lambda grad: wrap(np.zeros_like(grad.array)),
    src=lambda grad: grad,
)
fill_op = op(
    "aten::fill",
    lambda self, value: np.broadcast_to(value, self.shape),
    "self",
    "value",
    self=lambda grad: wrap(np.zeros_like(grad.array)),
    value=lambda grad: grad.sum(),
)
fill_ = inplace("aten::fill_", fill_op)


def index(self: Tensor, indices: Any) -> Tensor:
    """`aten::index`: index tensors, one per dimension, None for a whole dimension."""
    return _index_op(self, tuple(indices))


def index_put(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with `values` put (or added) at `indices`."""
    return _index_put_op(self, values, tuple(indices), accumulate)


def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """`values` put (or added) at `indices`, in place."""
    return _index_put_inplace(self, values, tuple(indices), accumulate)


def _apply_basic(self: Tensor, key: Any) -> tuple[Tensor, list[Any]]:  # noqa: PLR0912
    """The view that the basic parts of an index make, and the advanced indices left over."""
    parts = key if isinstance(key, tuple) else (key,)
    used = 0
    for part in parts:
        if isinstance(part, (Tensor, np.ndarray)) and part.dtype.kind == "b":
            used += part.ndim if isinstance(part, np.ndarray) else part.array.ndim
        elif part is not None and part is not Ellipsis and not isinstance(part, bool):
            used += 1
    if used > self.array.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self.array.ndim}")
    found, dim = self, 0
    left: list[Any] = []
    for part in parts:
        if isinstance(part, bool):
            found = unsqueeze(found, dim)
            left += [None] * (dim - len(left)) + [np.asarray([part])]
            dim += 1
        elif isinstance(part, (int, np.integer)):
            found = select(found, dim, int(part))
        elif isinstance(part, Tensor) and not part.array.ndim and part.array.dtype.kind in "iu":
            found = select(found, dim, int(part.array))
        elif isinstance(part, slice):
            size = found.array.shape[dim]
            if part.step is not None and part.step <= 0:
                raise ValueError("step must be greater than zero")
            begin, end, step = part.indices(size)
            if (begin, step) != (0, 1) or end != size:
                found = slice_(found, dim, begin, end, step)
            dim += 1
        elif part is Ellipsis:
            dim += self.array.ndim - used
        elif part is None:
            found = unsqueeze(found, dim)
            dim += 1
        else:
            array = part.array if isinstance(part, Tensor) else np.asarray(part)
            if not array.size and not isinstance(part, Tensor):
                array = array.astype(np.int64)
            if array.dtype.kind not in "biu":
                raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
            left += [None] * (dim - len(left)) + [array]
            if array.dtype.kind == "b":
                have = found.array.shape[dim : dim + array.ndim]
                if array.shape != have:
                    raise IndexError(
                        f"The shape of the mask {list(array.shape)} at index 0 does not match the "
                        f"shape of the indexed tensor {list(found.array.shape)} at index 0"
                    )
                left[-1:] = list(np.nonzero(array))
                dim += array.ndim
            else:
                dim += 1
    return found, left


def getitem(self: Tensor, key: Any) -> Tensor:
    """`self[key]`."""
    found, left = _apply_basic(self, key)
    if left:
        return _index_op(found, tuple(left))
    return alias(found) if found is self else found


def setitem(self: Tensor, key: Any, value: Any) -> None:
    """`self[key] = value`: select or slice, then fill_, copy_ or index_put_."""
    found, left = _apply_basic(self, key)
    if left:
        (given,) = as_tensors("aten::index_put_", value)
        given = given if given.array.dtype == self.array.dtype else given.to(self.array.dtype)
        _index_put_inplace(found, given, tuple(left), False)
    elif isinstance(value, Tensor):
        shape, want = value.array.shape, found.array.shape
        if len(shape) > len(want):  # leading ones may go
            value = reshape(value, shape[len(shape) - len(want) :])
        copy_(found, value)
    elif isinstance(value, np.ndarray):
        copy_(found, wrap(value))
    else:
        fill_(found, value)


def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """`src`'s elements, broadcast and converted, written to `self`."""
    del non_blocking
    return _copy_inplace(self, src)


# Along one dimension


def _put_along(self: Any, dim: int, index: Any, src: Any, add: bool) -> Any:
    found = self.copy()
    axis = dimension(dim, self.ndim)
    if not self.ndim:
        return found + src if add else np.broadcast_to(src, ()).copy()
    src = np.broadcast_to(src, index.shape) if np.ndim(src) == 0 else src
    src = src[tuple(slice(0, s) for s in index.shape)]
    place = list(np.indices(index.shape, sparse=True))
    if index.size and (index.min() < 0 or index.max() >= self.shape[axis]):
        raise ValueError(f"index out of bounds for dimension {dim} with size {self.shape[axis]}")
    place[axis] = index
    if add:
        np.add.at(found, tuple(place), src)
    else:
        found[tuple(place)] = src
    return found


def _gather(self: Any, dim: int, index: Any) -> Any:
    axis = dimension(dim, self.ndim)
    if not self.ndim:
        return np.broadcast_to(self, index.shape).copy()
    if index.size and (index.min() < 0 or index.max() >= self.shape[axis]):
        raise ValueError(f"index out of bounds for dimension {dim} with size {self.shape[axis]}")
    place = list(np.indices(index.shape, sparse=True))
    place[axis] = index
    return self[tuple(place)]


def _scattered_over(grad: Tensor, dim: int, index: Tensor) -> Tensor:
    return scatter(grad, dim, index, wrap(np.zeros(index.array.shape, grad.array.dtype)))


def _gather_back(grad: Tensor, self_shape: tuple[int, ...], dim: int, index: Tensor) -> Tensor:
    return scatter_add(wrap(np.zeros(self_shape, grad.array.dtype)), dim, index, grad)


def _first(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Zero-padded to a source larger than its index."""
    have = grad.array.shape
    if have == shape or not shape:
        return grad.sum() if have != shape else grad
    made = wrap(np.zeros(shape, grad.array.dtype))
    made[tuple(slice(0, s) for s in have)] = grad
    return made


gather = op(
    "aten::gather",
    _gather,
    "self",
    self=_gather_back,
)
scatter_op = op(
    "aten::scatter",
    lambda self, src, dim, index: _put_along(self, dim, index, src, False),
    "self",
    "src",
    self=lambda grad, dim, index: _scattered_over(grad, dim, index),
    src=lambda grad, dim, index, src_shape: _first(gather(grad, dim, index), src_shape),
)
scatter_add_op = op(
    "aten::scatter_add",
    lambda self, src, dim, index: _put_along(self, dim, index, src, True),
    "self",
    "src",
    self=lambda grad: grad,
    src=lambda grad, dim, index, src_shape: _first(gather(grad, dim, index), src_shape),
)


def scatter(input: Tensor, dim: int, index: Tensor, src: Any) -> Tensor:  # noqa: A002
    """A copy with `src` put at `index` along `dim`."""
    return scatter_op(input, src, dim, index)


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:  # noqa: A002
    """A copy with `src` added at `index` along `dim`."""
    return scatter_add_op(input, src, dim, index)


def scatter_(self: Tensor, dim: int, index: Tensor, src: Any) -> Tensor:
    """`scatter`, in place."""
    return _scatter_inplace(self, src, dim, index)


def scatter_add_(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """`scatter_add`, in place."""
    return _scatter_add_inplace(self, src, dim, index)


def _along(self: Any, dim: int, index: Any) -> tuple[Any, ...]:
    return (slice(None),) * dimension(dim, self.ndim) + (index,)


def _index_add(self: Any, source: Any, dim: int, index: Any, alpha: Any) -> Any:
    found = self.copy()
    np.add.at(found, _along(self, dim, index), source if alpha == 1 else source * alpha)
    return found


index_select = op(
    "aten::index_select",
    lambda self, dim, index: np.take(self, index, dimension(dim, self.ndim)),
    "self",
    self=lambda grad, self_shape, dim, index: index_add(
        wrap(np.zeros(self_shape, grad.array.dtype)), dim, index, grad
    ),
)
_index_add_op = op(
    "aten::index_add",
    _index_add,
    "self",
    "source",
    self=lambda grad: grad,
    source=lambda grad, dim, index, alpha: index_select(grad, dim, index) * alpha,
)


def index_add(
    input: Tensor,  # noqa: A002
    dim: int,
    index: Tensor,
    source: Tensor,
    *,
    alpha: Any = 1,
) -> Tensor:
    """A copy with the slices of `source` added to those at `index` along `dim`."""
    return _index_add_op(input, source, dim, index, alpha)


def masked_select(input: Tensor, mask: Tensor) -> Tensor:  # noqa: A002
    """The elements where `mask`, as one dimension."""
    shape = np.broadcast_shapes(input.array.shape, mask.array.shape)
    full = input if input.array.shape == shape else expand(input, shape)
    return getitem(full, wrap(np.broadcast_to(mask.array, shape)))


_copy_inplace = inplace("aten::copy_", copy_op)
_scatter_inplace = inplace("aten::scatter_", scatter_op)
_scatter_add_inplace = inplace("aten::scatter_add_", scatter_add_op)
