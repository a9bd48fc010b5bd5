"""cat, stack, repeat, roll, flip, padding and other ways to lay elements out anew.

Source: derivatives.yaml, aten/src/ATen/native/TensorShape.cpp, PadNd.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import result_dtype
from ..tensor import Tensor, wrap
from .arguments import dimension, sizes
from .table import aten, declare, function


def _cat(self: Any, dim: int) -> Any:
    arrays = [a for a in self if a.shape != (0,)] or self  # PyTorch skips these
    if any(a.ndim == 0 for a in arrays):
        raise ValueError("zero-dimensional tensor cannot be concatenated")
    return np.concatenate(arrays, dimension(dim, arrays[0].ndim), dtype=result_dtype(*self))


def _cat_back(grad: Tensor, shapes: Any, dim: int) -> list[Tensor]:
    found, start = [], 0
    for shape in shapes:
        if shape == (0,):
            found.append(wrap(np.zeros(0, grad.array.dtype)))
            continue
        found.append(grad.narrow(dim, start, shape[dim]))
        start += shape[dim]
    return found


def _repeat(self: Any, times: tuple[int, ...]) -> Any:
    if len(times) < self.ndim:
        raise ValueError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions "
            "of tensor"
        )
    return np.tile(self, times)


def _repeat_back(grad: Tensor, shape: tuple[int, ...], repeats: tuple[int, ...]) -> Tensor:
    whole = (1,) * (len(repeats) - len(shape)) + shape
    pairs = [n for pair in zip(repeats, whole, strict=True) for n in pair]
    return aten.reshape(aten.reshape(grad, tuple(pairs)).sum(tuple(range(0, len(pairs), 2))), shape)


def _matrices(self: Any) -> Any:
    if self.ndim < 2:
        raise ValueError("input tensor must have at least 2 dimensions")
    return self


def _classes(self: Any, given: int) -> int:
    if self.dtype.kind not in "iu":
        raise ValueError("one_hot is only applicable to index tensor")
    most = int(self.max(initial=-1)) + 1
    if self.min(initial=0) < 0 or (most > given >= 0):
        raise ValueError("Class values must be non-negative and smaller than num_classes.")
    return most if given < 0 else given


def _turned(shifts: Any) -> Any:
    return tuple(-s for s in shifts) if isinstance(shifts, (tuple, list)) else -shifts


def _widths(pad: Any, ndim: int) -> list[tuple[int, int]]:
    pairs = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    return [(0, 0)] * (ndim - len(pairs)) + pairs


def _padded(self: Any, pad: Any, value: float) -> Any:
    widths = _widths(pad, self.ndim)
    cut = tuple(
        slice(max(0, -a), s - max(0, -b)) for (a, b), s in zip(widths, self.shape, strict=True)
    )
    more = [(max(0, a), max(0, b)) for a, b in widths]
    return np.pad(self[cut], more, constant_values=self.dtype.type(value))


declare(
    globals(),
    r"""
[torch on_list]
cat(self, dim: int = 0) = _cat(self, dim) => _cat_back(grad, self_shapes, dim)
stack(self, dim: int = 0) = np.stack(self, dimension(dim, self[0].ndim + 1), dtype=result_dtype(*self))
    self: [select(grad, dim, i) for i in range(len(self_shapes))]
[tensor]
repeat(self, *repeats: sizes) = _repeat(self, repeats) => _repeat_back(grad, self_shape, repeats)
[torch tensor]
flip(self, *dims: sizes)
    = np.flip(self, tuple([dimension(d, self.ndim) for d in dims if self.ndim])).copy()
    self: flip(grad, dims)
roll(self, shifts: any, dims: any = None) = np.roll(self, shifts, dims)
    self: roll(grad, _turned(shifts), dims)
[torch tensor in_place]
tril(self, diagonal: int = 0) = np.tril(_matrices(self), diagonal) => tril(grad, diagonal)
triu(self, diagonal: int = 0) = np.triu(_matrices(self), diagonal) => triu(grad, diagonal)
[]
constant_pad_nd(self, pad: any, value: any = 0) = _padded(self, pad, value)
    self: constant_pad_nd(grad, [-p for p in pad])
[nn]
one_hot(self, num_classes: int = -1)
    = np.eye(_classes(self, num_classes), dtype=np.int64)[self]
""",
)


@function("torch tensor")
def repeat_interleave(input: Tensor, repeats: Any, dim: int | None = None) -> Tensor:
    """Each element (or slice of `dim`) `repeats` times."""
    source = input.flatten() if dim is None else input
    dim = dimension(dim or 0, source.array.ndim)
    times = repeats.array if isinstance(repeats, Tensor) else repeats
    return source.index_select(dim, wrap(np.repeat(np.arange(source.array.shape[dim]), times)))


@function("nn")
def pad(input: Tensor, pad: Any, mode: str = "constant", value: float = 0.0) -> Tensor:
    """Wider by `pad` (pairs, the last dimension first), with a constant."""
    if mode != "constant":
        raise NotImplementedError(f"pad: mode {mode!r} is not supported, only 'constant'")
    return aten.constant_pad_nd(input, list(pad), value or 0.0)


@function("torch tensor")
def tile(input: Tensor, *dims: Any) -> Tensor:
    """As `repeat`, for any number of dimensions."""
    times = sizes(dims)
    return input.repeat((1,) * (input.array.ndim - len(times)) + times)


@function("torch")
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Each 1-D tensor expanded over the grid of all."""
    given: Sequence[Tensor] = tensors[0] if isinstance(tensors[0], (list, tuple)) else tensors
    if any(x.array.ndim > 1 for x in given):
        raise RuntimeError("torch.meshgrid: Expected 0D or 1D tensor in the tensor list")
    order = [1, 0, *range(2, len(given))][: len(given)] if indexing == "xy" else range(len(given))
    shape = tuple(given[i].array.size for i in order)
    places = list(order)
    return tuple(
        x.reshape([-1 if places[d] == i else 1 for d in range(len(given))]).expand(shape)
        for i, x in enumerate(given)
    )
