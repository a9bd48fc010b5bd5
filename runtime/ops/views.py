"""Views: operators whose result shares its input's memory.

Source: derivatives.yaml, aten/src/ATen/native/TensorShape.cpp.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..grad_mode import is_grad_enabled
from ..tensor import Tensor, wrap
from ..view import ViewInfo
from .arguments import dimension, sizes
from .table import aten, composite, declare, function


def _t(self: Any) -> Any:
    if self.ndim > 2:
        raise ValueError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return self.T


def _permute(self: Any, dims: tuple[int, ...]) -> Any:
    if len(dims) != self.ndim:
        raise ValueError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {self.ndim} is not "
            f"equal to len(dims) = {len(dims)}"
        )
    return self.transpose([dimension(d, self.ndim) for d in dims])


def _unpermute(dims: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argsort([d % len(dims) for d in dims]))


def _view(self: Any, size: tuple[int, ...]) -> Any:
    found = self.reshape(size)
    if found.base is None or (self.size and not np.may_share_memory(found, self)):
        raise ValueError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return found


def _expand(self: Any, size: tuple[int, ...]) -> Any:
    lead = len(size) - self.ndim
    if lead < 0:
        raise ValueError(f"expand: {len(size)} sizes given for {self.ndim} dimensions")
    if -1 in size[:lead]:
        raise ValueError("expand: -1 is not allowed in a leading, non-existing dimension")
    shape = list(size)
    for place, have in enumerate(self.shape, lead):
        if size[place] == -1:
            shape[place] = have
        elif have not in (1, size[place]):
            raise ValueError(
                f"The expanded size of the tensor ({size[place]}) must match the existing size "
                f"({have}) at non-singleton dimension {place}."
            )
    strides = [0] * lead + [
        stride if have == want else 0
        for stride, have, want in zip(self.strides, self.shape, shape[lead:], strict=True)
    ]
    return as_strided(self, shape, strides)


def _squeeze(self: Any, dim: Any) -> Any:
    if dim is None:
        return self.squeeze()
    dims = (dim,) if isinstance(dim, int) else dim
    return self.squeeze(tuple(d for d in dims if self.ndim and self.shape[d] == 1))


def _at(self: Any, dim: int, index: int) -> tuple[Any, ...]:
    if not self.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    size = self.shape[dim]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at "
            f"dimension {dim}"
        )
    return (slice(None),) * dim + (index, ...)


def _within(dim: int, start: Any, end: Any, step: int) -> tuple[slice, ...]:
    return (slice(None),) * dim + (slice(start, end, step),)


def _placed(grad: Tensor, shape: tuple[int, ...], view: Any, *args: Any) -> Tensor:
    """Zeros of `shape`, with `grad` where `view(zeros, *args)` looks."""
    made = wrap(np.zeros(shape, grad.array.dtype))
    view(made, *args).copy_(grad)
    return made


def _diagonal(self: Any, offset: int, dim1: int, dim2: int) -> Any:
    found = np.diagonal(self, offset, dim1, dim2)
    corner = [slice(None)] * self.ndim
    corner[dim2 if offset >= 0 else dim1] = slice(max(offset, -offset), None)
    return as_strided(self[tuple(corner)], found.shape, found.strides)  # writable


def _unfold(self: Any, dim: int, size: int, step: int) -> Any:
    if size > self.shape[dim]:
        raise ValueError(f"maximum size for tensor at dimension {dim} is {self.shape[dim]}")
    count = (self.shape[dim] - size) // step + 1
    shape = (*self.shape[:dim], count, *self.shape[dim + 1 :], size)
    stride = self.strides[dim]
    strides = (*self.strides[:dim], stride * step, *self.strides[dim + 1 :], stride)
    return as_strided(self, shape, strides)


def _unfold_back(grad: Tensor, shape: tuple[int, ...], dim: int, size: int, step: int) -> Tensor:
    place = np.arange(int(np.prod(shape))).reshape(shape)
    flat = wrap(_unfold(place, dim, size, step).reshape(-1).copy())
    made = wrap(np.zeros(place.size, grad.array.dtype))
    summed = made.index_put((flat,), aten.reshape(grad, (-1,)), accumulate=True)
    return aten.reshape(summed, shape)


def _parts(self: Any, lengths: Any, dim: int) -> list[Any]:
    ends = np.cumsum(lengths).tolist()
    lead = (slice(None),) * dim
    return [self[(*lead, slice(e - n, e))] for n, e in zip(lengths, ends, strict=True)]


def _rows(self: Any, dim: int) -> list[Any]:
    return [self[(slice(None),) * dim + (i, ...)] for i in range(self.shape[dim])]


def _filled(grads: Any, shapes: Any) -> list[Tensor]:
    """Zeros where no gradient came."""
    like = next(g for g in grads if g is not None).array.dtype
    return [wrap(np.zeros(s, like)) if g is None else g for g, s in zip(grads, shapes, strict=True)]


def _split_back(grads: Any, shape: tuple[int, ...], lengths: Any, dim: int) -> Tensor:
    return aten.cat(_filled(grads, [(*shape[:dim], n, *shape[dim + 1 :]) for n in lengths]), dim)


def _unbind_back(grads: Any, shape: tuple[int, ...], dim: int) -> Tensor:
    return aten.stack(_filled(grads, [(*shape[:dim], *shape[dim + 1 :])] * len(grads)), dim)


declare(
    globals(),
    r"""
[torch tensor view]
t(self) = _t(self) => t(grad) || grad.T
transpose(self, dim0: dim, dim1: dim) = self.swapaxes(dim0, dim1) if self.ndim else self[...]
    self: transpose(grad, dim0, dim1) || grad.swapaxes(dim0, dim1)
permute(self, *dims: sizes) = _permute(self, dims) => permute(grad, _unpermute(dims))
squeeze(self, dim: dims = None) = _squeeze(self, dim) => reshape(grad, self_shape) || grad.reshape(self_shape)
select(self, dim: dim, index: int) = self[_at(self, dim, index)]
    self: _placed(grad, self_shape, select, dim, index)
unfold(self, dimension: int, size: int, step: int) = _unfold(self, dimension % self.ndim, size, step)
    self: _unfold_back(grad, self_shape, dimension % len(self_shape), size, step)
diagonal(self, offset: int = 0, dim1: dim = 0, dim2: dim = 1) = _diagonal(self, offset, dim1, dim2)
    self: _placed(grad, self_shape, diagonal, offset, dim1, dim2)
real(self) = self.real => grad
imag(self) = self.imag => grad * 1j
[tensor view]
expand(self, *size: sizes) = _expand(self, size) => grad.sum_to_size(self_shape)
[view]
view.size(self, size: any) = _view(self, size) => reshape(grad, self_shape) || grad.reshape(self_shape)
unsqueeze.at(self, dim: int) = np.expand_dims(self, dim)
    self: reshape(grad, self_shape) || grad.reshape(self_shape)
slice(self, dim: int, start: any, end: any, step: int)
    = self[_within(dim, start, end, step)]
    self: _placed(grad, self_shape, aten.slice, dim, start, end, step)
alias(self) = self[...] => grad
[]
split.sizes(self, lengths: any, dim: int) -> list = _parts(self, lengths, dim)
    self: _split_back(grads, self_shape, lengths, dim)
unbind.at(self, dim: int) -> list = _rows(self, dim)
    self: _unbind_back(grads, self_shape, dim)
[torch tensor]
swapaxes(self, axis0: int, axis1: int) := transpose(self, axis0, axis1)
atleast_1d(self) := self if self.array.ndim else self.reshape(1)
[tensor]
view_as(self, other) := self.view(other.array.shape)
expand_as(self, other) := expand(self, other.array.shape)
reshape_as(self, other) := reshape(self, other.array.shape)
""",
)


@function("torch tensor")
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """With a dimension of size 1 at `dim`."""
    return aten.unsqueeze_at(input, dimension(dim, input.array.ndim + 1))


@function("tensor")
def view(self: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape, without copying; with a dtype, as that dtype's bytes."""
    if len(shape) == 1 and isinstance(shape[0], np.dtype):
        return wrap(self.array.view(shape[0]))
    return aten.view_size(self, sizes(shape))


@composite("torch tensor")
def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape; copied only if there is no other way."""
    wanted = sizes(shape)
    try:
        return aten.view_size(input, wanted)
    except RuntimeError as error:
        if "not compatible" not in str(error):
            raise RuntimeError(
                f"shape '{list(wanted)}' is invalid for input of size {input.array.size}"
            ) from None
        return aten.view_size(aten.clone(input, memory_format="contiguous_format"), wanted)


@composite("torch tensor")
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions `start_dim` to `end_dim` as one."""
    shape = input.array.shape
    first, last = dimension(start_dim, len(shape)), dimension(end_dim, len(shape))
    if not shape:
        return aten.reshape(input, (1,))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    middle = int(np.prod(shape[first : last + 1]))
    return aten.reshape(input, (*shape[:first], middle, *shape[last + 1 :]))


@composite("tensor")
def unflatten(self: Tensor, dim: int, sizes: Any) -> Tensor:
    """Dimension `dim` as several."""
    shape = self.array.shape
    dim = dimension(dim, len(shape))
    return aten.reshape(self, (*shape[:dim], *sizes, *shape[dim + 1 :]))


@composite("torch tensor")
def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`length` elements of dimension `dim`, from `start`."""
    dim = dimension(dim, input.array.ndim)
    size = input.array.shape[dim]
    start += size if start < 0 else 0
    if length < 0 or start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return aten.slice(input, dim, start, start + length, 1)


@composite("torch tensor")
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """The dimensions `source` put where `destination` says."""
    n = input.array.ndim
    old, new = (
        [dimension(d, n) for d in ((x,) if isinstance(x, int) else x)]
        for x in (source, destination)
    )
    rest = iter([d for d in range(n) if d not in old])
    return input.permute([old[new.index(d)] if d in new else next(rest) for d in range(n)])


def _several(source: Tensor, outs: tuple[Tensor, ...], steps: Any) -> tuple[Tensor, ...]:
    """Views made at once: each knows its base, and must not be modified."""
    for out, (call, args) in zip(outs, steps, strict=True):
        out._counter = source._counter
        out._view = ViewInfo(source, call, args, is_grad_enabled())
        out._view.multi = out._node
    return outs


@function("torch tensor")
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of `split_size` elements each along `dim` (the last may be less), or of given sizes."""
    dim = dimension(dim, tensor.array.ndim)
    if not tensor.array.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    size = tensor.array.shape[dim]
    if isinstance(split_size_or_sections, int):
        step = split_size_or_sections
        if step < 0 or (size and not step):
            raise RuntimeError(f"split expects split_size be non-negative, but got {step}")
        lengths = tuple(min(step, size - at) for at in range(0, size, step or 1)) or (0,)
    else:
        lengths = tuple(split_size_or_sections)
        if sum(lengths) != size:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's "
                f"size at dimension {dim}), but got split_sizes={list(lengths)}"
            )
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    steps = [(aten.slice, (dim, s, s + n, 1)) for s, n in zip(starts, lengths, strict=True)]
    return _several(tensor, aten.split_sizes(tensor, lengths, dim), steps)


@function("torch tensor")
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` views of one size (the last may be shorter)."""
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    if not input.array.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    size = input.array.shape[dimension(dim, input.array.ndim)]
    if not size:
        return split(input, [0] * chunks, dim)
    return split(input, max(1, -(-size // chunks)), dim)


@function("torch tensor")
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """A view per index of `dim`."""
    dim = dimension(dim, input.array.ndim)
    steps = [(aten.select, (dim, i)) for i in range(input.array.shape[dim])]
    return _several(input, aten.unbind_at(input, dim), steps)
