"""Views: operators whose result shares its input's memory.

Source: derivatives.yaml, aten/src/ATen/native/TensorShape.cpp.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided as strided_array

from ..core.aten import aten
from ..engine.grad_mode import is_grad_enabled
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap
from ..engine.view import ViewInfo
from .make import declare, dimension, function, memory_of, refused, sizes, zeros_beside

Ints = tuple[int, ...]


def _imag(self: Any) -> Any:
    check(self.dtype.kind == "c", "imag is not implemented for tensors with non-complex dtypes.")
    return self.imag


def _permute(self: Any, dims: Ints) -> Any:
    if len(dims) != self.ndim:
        raise ValueError(f"{len(dims)} dims given for {self.ndim} dimensions")
    return self.transpose([dimension(d, self.ndim) for d in dims])


def _unpermute(dims: Ints) -> Ints:
    return tuple(int(i) for i in np.argsort([d % len(dims) for d in dims]))


def _view(self: Any, size: Ints) -> Any:
    found = self.reshape(size)
    if found.base is None or (self.size and not np.may_share_memory(found, self)):
        raise ValueError("view size is not compatible with the strides; use reshape instead")
    return found


def _expand(self: Any, size: Ints) -> Any:
    lead = len(size) - self.ndim
    if lead < 0 or -1 in size[:lead]:
        raise ValueError(f"sizes {size} given for {self.ndim} dimensions")
    shape, strides = list(size), [0] * len(size)
    for place, have in enumerate(self.shape, lead):
        if size[place] in (-1, have):
            shape[place], strides[place] = have, self.strides[place - lead]
        elif have != 1:
            raise ValueError(f"dimension {place}, of size {have}, can't become {size[place]}")
    return strided_array(self, shape, strides)


def _squeeze(self: Any, dim: Any) -> Any:
    if dim is None:
        return self.squeeze()
    given = dim if isinstance(dim, (tuple, list)) else [dim]
    if not all(isinstance(d, (int, np.integer)) for d in given):
        raise refused(f"squeeze(): dim has to be of integers, not {dim!r}")
    dims = [dimension(d, self.ndim) for d in given]
    check(len({*dims}) == len(dims), "dim appears multiple times in the list of dims", ValueError)
    return self.squeeze(tuple(d for d in dims if self.ndim and self.shape[d] == 1))


def _at(self: Any, dim: int, index: int) -> tuple[Any, ...]:
    if not self.ndim or not -self.shape[dim] <= index < self.shape[dim]:
        raise IndexError(f"select(): index {index} out of range in {self.shape} at dim {dim}")
    return (slice(None),) * dim + (index, ...)


def _placed(grad: Tensor, shape: Ints, view: Any, *args: Any) -> Tensor:
    """Zeros of `shape`, with `grad` where `view(zeros, *args)` looks."""
    made = zeros_beside(shape, grad)
    view(made, *args).copy_(grad)
    return made


def _diagonal(self: Any, offset: int, dim1: int, dim2: int) -> Any:
    found = np.diagonal(self, offset, dim1, dim2)
    corner = [slice(None)] * self.ndim
    corner[dim2 if offset >= 0 else dim1] = slice(max(offset, -offset), None)
    return strided_array(self[tuple(corner)], found.shape, found.strides)  # writable


def _place_in(root: Any, array: Any) -> int:
    """Return which element of its memory a view begins with."""
    return int((array.ctypes.data - root.ctypes.data) // array.itemsize)


def _strided(self: Any, size: Ints, stride: Ints, start: int) -> Any:
    """Of all the memory that the tensor's view is of, as PyTorch's storage."""
    root, unit = memory_of(self, self.dtype), self.itemsize
    first = _place_in(root, self) + start
    last = first + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    inside = 0 in size or 0 <= first <= last < root.size
    check(inside, "setStorage: out of bounds", ValueError)
    flat = strided_array(root, (root.size,), (unit,))[first:]
    return strided_array(flat, size, [s * unit for s in stride])


def _strided_back(grad: Tensor, shape: Ints, steps: Ints, *how: Any) -> Tensor:
    """What each element gave; what lies in the memory beside the tensor has no gradient."""
    size, stride, start = how
    own = tuple([s // grad.array.itemsize for s in steps])
    last, end = (
        sum((n - 1) * s for n, s in zip(*each, strict=True))
        for each in ((shape, own), (size, stride))
    )
    low, high = min(0, start), max(last, start + end) + 1
    place = np.arange(high - low)
    flat, mine = _strided(place, size, stride, start - low), _strided(place, shape, own, -low)
    made = zeros_beside((high - low,), grad)
    made = made.index_put((wrap(flat.reshape(-1).copy()),), grad.reshape(-1), accumulate=True)
    if 0 in own:  # elements that share their memory share what it gave
        made = made / wrap(np.maximum(np.bincount(mine.reshape(-1), minlength=high - low), 1))
    return aten.as_strided_at(made, shape, own, -low)


def _unfold(self: Any, dim: int, size: int, step: int) -> Any:
    dim = dimension(dim, self.ndim)
    have, stride = (self.shape[dim], self.strides[dim]) if self.ndim else (1, self.itemsize)
    check(
        size >= 0 and step > 0, f"size is {size} and step {step}, but must be positive", ValueError
    )
    check(size <= have, f"maximum size for tensor at dimension {dim} is {have}", ValueError)
    if not self.ndim:
        return strided_array(self, (size,), (stride,))
    count = (have - size) // step + 1
    shape = (*self.shape[:dim], count, *self.shape[dim + 1 :], size)
    strides = (*self.strides[:dim], stride * step, *self.strides[dim + 1 :], stride)
    return strided_array(self, shape, strides)


def _unfold_back(grad: Tensor, shape: Ints, dim: int, size: int, step: int) -> Tensor:
    place = np.arange(math.prod(shape)).reshape(shape)
    flat = wrap(_unfold(place, dim, size, step).reshape(-1).copy())
    made = zeros_beside((place.size,), grad)
    return made.index_put((flat,), grad.reshape(-1), accumulate=True).reshape(shape)


def _joined(join: Any, grads: Any, shape: Ints, lengths: Any, dim: int) -> Any:
    """The gradients of parts, of which those that did not come are zeros."""
    like = next(g for g in grads if g is not None)
    shapes = [(*shape[:dim], *n, *shape[dim + 1 :]) for n in lengths]
    pairs = zip(grads, shapes, strict=True)
    return join([zeros_beside(s, like) if g is None else g for g, s in pairs], dim)


def _reshape(self: Tensor, size: Ints) -> Tensor:
    try:
        return aten.view_size(self, size)
    except RuntimeError as error:
        if "not compatible" not in str(error):
            message = f"shape '{list(size)}' is invalid for input of size {self.array.size}"
            raise RuntimeError(message) from None
        return aten.view_size(aten.clone(self, memory_format="contiguous_format"), size)


def _folded(shape: Ints, start: int, end: int, into: Any = None) -> Ints:
    """Dimensions `start` to `end` as one, or as `into`."""
    first, last = dimension(start, len(shape)), dimension(end, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    return (*shape[:first], *(into or (math.prod(shape[first : last + 1]),)), *shape[last + 1 :])


def _narrow(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    check(self.array.ndim > 0, "narrow() cannot be applied to a 0-dim tensor.")
    size = self.array.shape[dim]
    if isinstance(start, Tensor):
        whole = start.array.ndim == 0 and start.array.dtype.kind in "iu"
        check(whole, "start must be an 0-dim integral Tensor.")
        start = start.item()
    check(-size <= start <= size, f"start out of range: {start} of {size}", IndexError)
    start += size if start < 0 else 0
    if length < 0 or start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return aten.slice(self, dim, start, start + length, 1)


def _moved(n: int, source: Any, destination: Any) -> list[int]:
    pair = [(int(x),) if isinstance(x, (int, np.integer)) else x for x in (source, destination)]
    old, new = ([dimension(d, n) for d in dims] for dims in pair)
    check(len(old) == len(new), f"movedim: Invalid source or destination dims: {old}, {new}")
    once = len({*old}) == len(old) and len({*new}) == len(new)
    check(once, f"movedim: repeated dim in source ({old}) or destination ({new})")
    rest = iter([d for d in range(n) if d not in old])
    return [old[new.index(d)] if d in new else next(rest) for d in range(n)]


def _chunk_size(shape: Any, dim: int, chunks: int) -> Any:
    if chunks <= 0 or not shape:
        raise RuntimeError(f"chunk expects dimensions, and chunks greater than 0, got: {chunks}")
    size = shape[dimension(dim, len(shape))]
    return max(1, -(-size // chunks)) if size else [0] * chunks


def _at_most(self: Tensor, dims: int) -> Tensor:
    check(self.array.ndim >= dims, f"Input must be >= {dims}-d.")
    return self


_ROWS = r"""
[torch tensor view]
t(self) = self.T if self.ndim < 3 else _permute(self, (1, 0)) => t(grad) || grad.T
transpose(self, dim0: dim, dim1: dim) = self.swapaxes(dim0, dim1) if self.ndim else self[...]
    self: transpose(grad, dim0, dim1) || grad.swapaxes(dim0, dim1) if grad.ndim else grad
permute(self, *dims: sizes) = _permute(self, dims) => permute(grad, _unpermute(dims))
squeeze(self, dim: any = None) = _squeeze(self, dim)
    self: reshape(grad, self_shape) || grad.reshape(self_shape)
unsqueeze(self, dim: int) = np.expand_dims(self, dimension(dim, self.ndim + 1))
    self: reshape(grad, self_shape) || grad.reshape(self_shape)
select(self, dim: dim, index: int) = self[_at(self, dim, index)]
    self: _placed(grad, self_shape, select, dim, index)
unfold(self, dimension: int, size: int, step: int) = _unfold(self, dimension, size, step)
    self: _unfold_back(grad, self_shape, dimension, size, step)
diagonal(self, offset: int = 0, dim1: dim = 0, dim2: dim = 1) = _diagonal(self, offset, dim1, dim2)
    self: _placed(grad, self_shape, diagonal, offset, dim1, dim2)
real(self) = self.real => grad
imag(self) = _imag(self) => grad * 1j
[tensor view]
expand(self, *size: sizes) = _expand(self, size) => grad.sum_to_size(self_shape)
[view]
view.size(self, size: any) = _view(self, size)
    self: reshape(grad, self_shape) || grad.reshape(self_shape)
slice(self, dim: int, start: any, end: any, step: int)
    = self[(np.s_[:],) * dim + (np.s_[start:end:step],)]
    self: _placed(grad, self_shape, slice, dim, start, end, step)
alias(self) = self[...] => grad
as_strided.at(self, size: sizes, stride: sizes, start: int) = _strided(self, size, stride, start)
    self: _strided_back(grad, self_shape, self_strides, size, stride, start)
[]
split.sizes(self, lengths: any, dim: int) -> list = np.split(self, np.cumsum(lengths)[:-1], dim)
    self: _joined(cat, grads, self_shape, [(n,) for n in lengths], dim)
unbind.at(self, dim: int) -> list
    = [self[(np.s_[:],) * dim + (i, ...)] for i in range(self.shape[dim])]
    self: _joined(stack, grads, self_shape, [()] * len(grads), dim)
[torch tensor]
reshape(self, *shape: sizes) := _reshape(self, sizes(shape))
flatten(self, start_dim: int = 0, end_dim: int = -1)
    := _reshape(self, _folded(self.array.shape or (1,), start_dim, end_dim))
narrow(self, dim: int, start: int, length: int)
    := _narrow(self, dimension(dim, self.array.ndim), start, length)
movedim(self, source, destination) := permute(self, _moved(self.array.ndim, source, destination))
swapaxes(self, axis0: int, axis1: int) := transpose(self, axis0, axis1)
chunk(self, chunks: int, dim: int = 0)
    := split(self, _chunk_size(self.array.shape, dim, chunks), dim)
broadcast_to(self, *size: sizes) := self.expand(sizes(size))
ravel(self) := self.contiguous().view(-1)
fliplr(self) := flip(_at_most(self, 2), 1)
flipud(self) := flip(_at_most(self, 1), 0)
[tensor]
unflatten(self, dim: int, sizes) := reshape(self, _folded(self.array.shape, dim, dim, sizes))
view_as(self, other) := self.view(other.array.shape)
expand_as(self, other) := expand(self, other.array.shape)
reshape_as(self, other) := reshape(self, other.array.shape)
"""
declare(globals(), _ROWS)


@function("tensor")
def view(self: Tensor, *shape: Any) -> Tensor:
    """Return the same elements in another shape, not copied; or as another dtype's."""
    if len(shape) == 1 and isinstance(shape[0], np.dtype):
        return wrap(self.array.view(shape[0]))
    return aten.view_size(self, sizes(shape))


@function("torch tensor")
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: Any = None) -> Tensor:
    """Return a view of the memory from `storage_offset` on, or from where the tensor begins."""
    check(isinstance(input, Tensor), "argument 'input' must be Tensor", TypeError)
    root = memory_of(input.array, input.array.dtype)
    start = 0 if storage_offset is None else storage_offset - _place_in(root, input.array)
    found: Tensor = aten.as_strided_at(input, sizes(size), sizes(stride), start)
    return found


def _several(source: Tensor, outs: tuple[Tensor, ...], call: Any, each: Any) -> tuple[Tensor, ...]:
    """Views made at once: each knows its base, and must not be modified."""
    for out, args in zip(outs, each, strict=True):
        out._counter = source._counter
        if source._counter is not None:  # else an inference tensor: its views are no views
            out._view = ViewInfo(source, call, args, is_grad_enabled())
            out._view.multi = out._node
            out._rg = source._rg
    return outs


@function("torch tensor")
def split(
    tensor: Tensor, split_size_or_sections: Any = None, dim: int = 0, *, split_size: Any = None
) -> tuple[Tensor, ...]:
    """Views of `split_size` elements each along `dim` (the last may be less), or of given sizes."""
    if split_size is not None:
        split_size_or_sections = split_size
    dim = dimension(dim, tensor.array.ndim)
    if not tensor.array.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    size, lengths = tensor.array.shape[dim], split_size_or_sections
    if isinstance(lengths, (int, Tensor)):
        lengths = int(lengths)
        if lengths < 0 or (size and not lengths):
            raise RuntimeError(f"split expects split_size be non-negative, but got {lengths}")
        lengths = [min(lengths, size - at) for at in range(0, size, lengths or 1)] or [0]
    lengths = tuple(lengths)
    if sum(lengths) != size:
        raise RuntimeError(f"split_sizes must sum exactly to {size}, but got {list(lengths)}")
    each = [(dim, e - n, e, 1) for n, e in zip(lengths, itertools.accumulate(lengths), strict=True)]
    return _several(tensor, aten.split_sizes(tensor, lengths, dim), aten.slice, each)


@function("torch tensor")
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Return a view per index of `dim`."""
    dim = dimension(dim, input.array.ndim)
    each = [(dim, i) for i in range(input.array.shape[dim])]
    return _several(input, aten.unbind_at(input, dim), aten.select, each)
