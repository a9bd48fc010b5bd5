"""Views: operators whose result shares its input's memory.

Source: derivatives.yaml, aten/src/ATen/native/TensorShape.cpp.
"""

# ruff: noqa: ARG001, PLW0108  (a formula's lambda names what is defined further down)
# mypy: disable-error-code="no-any-return,has-type,call-overload"

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..tensor import Tensor, wrap
from .composite import composite
from .elementwise import clone
from .table import op_list, view


def dimension(dim: int, ndim: int) -> int:
    """`dim` counted from the front.

    Raises:
        IndexError: there is no such dimension.
    """
    size = ndim or 1
    if not -size <= dim < size:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], "
            f"but got {dim})"
        )
    return dim % size


def sizes(args: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes given as `f(2, 3)` or `f((2, 3))`."""
    if len(args) == 1 and not isinstance(args[0], (int, np.integer, Tensor)):
        args = tuple(args[0])
    return tuple(int(a) for a in args)


def _t(self: Any) -> Any:
    if self.ndim > 2:
        raise ValueError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return self.T


def _transpose(self: Any, dim0: int, dim1: int) -> Any:
    a, b = dimension(dim0, self.ndim), dimension(dim1, self.ndim)
    return self.swapaxes(a, b) if self.ndim else self[...]


def _permute(self: Any, dims: tuple[int, ...]) -> Any:
    if len(dims) != self.ndim:
        raise ValueError(f"permute: {len(dims)} dimensions given for {self.ndim}")
    return self.transpose(dims)


def _unpermute(grad: Tensor, dims: tuple[int, ...]) -> Tensor:
    back = [0] * len(dims)
    for place, dim in enumerate(dims):
        back[dim % len(dims)] = place
    return permute(grad, tuple(back))


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
    shape, strides = [], []
    for place, want in enumerate(size):
        have = self.shape[place - lead] if place >= lead else 1
        if want in (-1, have):
            if want == -1 and place < lead:
                raise ValueError("expand: -1 is not allowed in a leading, non-existing dimension")
            shape.append(have)
            strides.append(self.strides[place - lead] if place >= lead else 0)
        elif have == 1:
            shape.append(want)
            strides.append(0)
        else:
            raise ValueError(
                f"The expanded size of the tensor ({want}) must match the existing size ({have}) "
                f"at non-singleton dimension {place}."
            )
    if lead < 0:
        raise ValueError(f"expand: {len(size)} sizes given for {self.ndim} dimensions")
    return as_strided(self, tuple(shape), tuple(strides))


def _squeeze(self: Any, dim: Any = None) -> Any:
    if dim is None:
        return self.squeeze()
    dims = (dim,) if isinstance(dim, int) else dim
    dims = tuple(dimension(d, self.ndim) for d in dims)
    return self.squeeze(tuple(d for d in dims if self.ndim and self.shape[d] == 1))


def _unsqueeze(self: Any, dim: int) -> Any:
    return np.expand_dims(self, dimension(dim, self.ndim + 1))


def _unsqueeze_to(grad: Tensor, self_shape: tuple[int, ...], dim: Any) -> Tensor:
    return _view_op(grad, self_shape) if grad.array.shape != self_shape else grad


def _select(self: Any, dim: int, index: int) -> Any:
    if not self.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = dimension(dim, self.ndim)
    size = self.shape[dim]
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}")
    return self[(slice(None),) * dim + (index, ...)]


def _select_back(grad: Tensor, self_shape: tuple[int, ...], dim: int, index: int) -> Tensor:
    made = wrap(np.zeros(self_shape, grad.array.dtype))
    select(made, dim, index).copy_(grad)
    return made


def _slice(self: Any, dim: int, start: Any, end: Any, step: int) -> Any:
    if step <= 0:
        raise ValueError("slice step must be positive")
    return self[(slice(None),) * dimension(dim, self.ndim) + (slice(start, end, step),)]


def _slice_back(
    grad: Tensor, self_shape: tuple[int, ...], dim: int, start: Any, end: Any, step: int
) -> Tensor:
    made = wrap(np.zeros(self_shape, grad.array.dtype))
    slice_(made, dim, start, end, step).copy_(grad)
    return made


def _diagonal(self: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    found = np.diagonal(self, offset, dim1, dim2)
    return as_strided(self[_corner(self.ndim, offset, dim1, dim2)], found.shape, found.strides)


def _corner(ndim: int, offset: int, dim1: int, dim2: int) -> tuple[slice, ...]:
    cut = [slice(None)] * ndim
    cut[dim2 if offset >= 0 else dim1] = slice(builtin_abs(offset), None)
    return tuple(cut)


builtin_abs = abs


def _diagonal_back(
    grad: Tensor, self_shape: tuple[int, ...], offset: int, dim1: int, dim2: int
) -> Tensor:
    made = wrap(np.zeros(self_shape, grad.array.dtype))
    diagonal_op(made, offset, dim1, dim2).copy_(grad)
    return made


def _unfold(self: Any, dim: int, size: int, step: int) -> Any:
    dim = dimension(dim, self.ndim)
    if size > self.shape[dim]:
        raise ValueError(f"maximum size for tensor at dimension {dim} is {self.shape[dim]}")
    count = (self.shape[dim] - size) // step + 1
    shape = (*self.shape[:dim], count, *self.shape[dim + 1 :], size)
    stride = self.strides[dim]
    strides = (*self.strides[:dim], stride * step, *self.strides[dim + 1 :], stride)
    return as_strided(self, shape, strides)


def _unfold_back(
    grad: Tensor, self_shape: tuple[int, ...], dim: int, size: int, step: int
) -> Tensor:
    place = np.arange(int(np.prod(self_shape))).reshape(self_shape)
    flat = wrap(_unfold(place, dim, size, step).reshape(-1).copy())
    made = wrap(np.zeros(place.size, grad.array.dtype))
    return reshape(made.index_put((flat,), reshape(grad, (-1,)), accumulate=True), self_shape)


t = view("aten::t", _t, lambda grad: t(grad), lambda grad: grad.T)
transpose_op = view(
    "aten::transpose", _transpose, lambda grad, dim0, dim1: transpose_op(grad, dim0, dim1)
)
_permute_op = view("aten::permute", _permute, _unpermute)
_view_op = view("aten::view", _view, lambda grad, self_shape: reshape(grad, self_shape))
_expand_op = view("aten::expand", _expand, lambda grad, self_shape: grad.sum_to_size(self_shape))
squeeze_op = view("aten::squeeze", _squeeze, lambda grad, self_shape: reshape(grad, self_shape))
unsqueeze = view("aten::unsqueeze", _unsqueeze, lambda grad, self_shape: reshape(grad, self_shape))
select = view("aten::select", _select, _select_back)
slice_ = view("aten::slice", _slice, _slice_back)
diagonal_op = view("aten::diagonal", _diagonal, _diagonal_back)
unfold = view("aten::unfold", _unfold, _unfold_back)
alias = view("aten::alias", lambda self: self[...], lambda grad: grad)


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:  # noqa: A002
    """Two dimensions changed over."""
    return transpose_op(input, dim0, dim1)


def permute(input: Tensor, *dims: Any) -> Tensor:  # noqa: A002
    """The dimensions in another order."""
    return _permute_op(input, sizes(dims))


def tensor_view(self: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape, without copying; with a dtype, as that dtype's bytes."""
    if len(shape) == 1 and isinstance(shape[0], np.dtype):
        return wrap(self.array.view(shape[0]))
    return _view_op(self, sizes(shape))


@composite("aten::reshape")
def reshape(input: Tensor, *shape: Any) -> Tensor:  # noqa: A002
    """The same elements in another shape; copied only if there is no other way."""
    wanted = sizes(shape)
    if input.array.flags.c_contiguous:
        return _view_op(input, wanted)
    try:
        return _view_op(input, wanted)
    except RuntimeError as error:
        if "not compatible" not in str(error):
            raise
        return _view_op(
            clone(
                input,
            ),
            wanted,
        )


def expand(input: Tensor, *shape: Any) -> Tensor:  # noqa: A002
    """Dimensions of size 1 (and new leading ones) repeated without copying."""
    return _expand_op(input, sizes(shape))


def squeeze(input: Tensor, dim: Any = None) -> Tensor:  # noqa: A002
    """Without its dimensions of size 1, or without those of `dim`."""
    return squeeze_op(input, dim)


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:  # noqa: A002
    """The diagonal of two dimensions, as a new last one."""
    n = input.array.ndim
    return diagonal_op(input, offset, dimension(dim1, n), dimension(dim2, n))


@composite("aten::flatten")
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:  # noqa: A002
    """Dimensions `start_dim` to `end_dim` as one."""
    shape = input.array.shape
    first, last = dimension(start_dim, len(shape)), dimension(end_dim, len(shape))
    if not shape:
        return reshape(input, (1,))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    middle = int(np.prod(shape[first : last + 1]))
    return reshape(input, (*shape[:first], middle, *shape[last + 1 :]))


@composite("aten::narrow")
def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:  # noqa: A002
    """`length` elements of dimension `dim`, from `start`."""
    dim = dimension(dim, input.array.ndim)
    size = input.array.shape[dim]
    start += size if start < 0 else 0
    if length < 0 or start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return slice_(input, dim, start, start + length, 1)


def _split_back(grads: Any, self_shape: tuple[int, ...], lengths: Any, dim: int) -> Tensor:
    from .joining import cat

    shape = list(self_shape)
    parts = []
    for grad, length in zip(grads, lengths, strict=True):
        shape[dim] = length
        dtype = next(g for g in grads if g is not None).array.dtype
        parts.append(wrap(np.zeros(shape, dtype)) if grad is None else grad)
    return cat(parts, dim)


def _split(self: Any, lengths: Any, dim: int) -> list[Any]:
    found, start = [], 0
    for length in lengths:
        found.append(self[(slice(None),) * dim + (slice(start, start + length),)])
        start += length
    return found


split_op = op_list("aten::split", _split, _split_back, on_list=False, several=True)


def _unbind_back(grads: Any, dim: int) -> Tensor:
    from .joining import stack

    like = next(g for g in grads if g is not None)
    return stack([wrap(np.zeros_like(like.array)) if g is None else g for g in grads], dim)


unbind_op = op_list(
    "aten::unbind",
    lambda self, dim: [self[(slice(None),) * dim + (i, ...)] for i in range(self.shape[dim])],
    _unbind_back,
    on_list=False,
    several=True,
)


def _several_views(source: Tensor, outs: tuple[Tensor, ...], steps: Any) -> tuple[Tensor, ...]:
    """Views made at once: each knows its base, and must not be modified."""
    from ..grad_mode import is_grad_enabled
    from ..view import ViewInfo

    for out, (call, args) in zip(outs, steps, strict=True):
        out._counter = source._counter
        out._view = ViewInfo(source, call, args, is_grad_enabled())
        out._view.multi = out._node
    return outs


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of `split_size` elements each along `dim` (the last may be less), or of given sizes."""
    dim = dimension(dim, tensor.array.ndim)
    size = tensor.array.shape[dim]
    if isinstance(split_size_or_sections, int):
        step = split_size_or_sections
        lengths = tuple(min(step, size - at) for at in range(0, size, step)) or (0,)
    else:
        lengths = tuple(split_size_or_sections)
        if sum(lengths) != size:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's "
                f"size at dimension {dim}), but got split_sizes={list(lengths)}"
            )
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    steps = [(slice_, (dim, s, s + n, 1)) for s, n in zip(starts, lengths, strict=True)]
    return _several_views(tensor, split_op(tensor, lengths, dim), steps)


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:  # noqa: A002
    """At most `chunks` views of one size (the last may be shorter)."""
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = input.array.shape[dimension(dim, input.array.ndim)]
    return split(input, max(1, -(-size // chunks)), dim)


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:  # noqa: A002
    """A view per index of `dim`."""
    dim = dimension(dim, input.array.ndim)
    steps = [(select, (dim, i)) for i in range(input.array.shape[dim])]
    return _several_views(input, unbind_op(input, dim), steps)
