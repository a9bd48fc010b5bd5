"""cat, stack, repeat, roll, flip, padding and other ways to lay elements out anew.

Source: derivatives.yaml, aten/src/ATen/native/TensorShape.cpp, PadNd.cpp.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import result_dtype
from ..tensor import Tensor, wrap
from .arguments import dimension
from .table import aten, declare


def _cat(self: Any, dim: int) -> Any:
    arrays = [a for a in self if a.shape != (0,)] or self  # PyTorch skips these
    if any(a.ndim == 0 for a in arrays):
        raise ValueError("zero-dimensional tensor cannot be concatenated")
    return np.concatenate(arrays, dimension(dim, arrays[0].ndim), dtype=result_dtype(*self))


def _cat_back(grad: Tensor, shapes: Any, dim: int) -> list[Tensor]:
    found, start = [], 0
    for shape in shapes:
        none = shape == (0,)
        found.append(
            aten.zeros(0, dtype=grad.dtype) if none else grad.narrow(dim, start, shape[dim])
        )
        start += 0 if none else shape[dim]
    return found


def _repeat(self: Any, times: tuple[int, ...]) -> Any:
    if len(times) < self.ndim:
        raise ValueError(f"{len(times)} repeats given for {self.ndim} dimensions")
    return np.tile(self, times)


def _repeat_back(grad: Tensor, shape: tuple[int, ...], repeats: tuple[int, ...]) -> Tensor:
    whole = (1,) * (len(repeats) - len(shape)) + shape
    pairs = [n for pair in zip(repeats, whole, strict=True) for n in pair]
    return grad.reshape(pairs).sum(tuple(range(0, len(pairs), 2))).reshape(shape)


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


def _padded(self: Any, pad: Any, value: float) -> Any:
    pairs = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    widths = [(0, 0)] * (self.ndim - len(pairs)) + pairs
    each = zip(widths, self.shape, strict=True)
    cut = tuple(slice(max(0, -a), s - max(0, -b)) for (a, b), s in each)
    more = [(max(0, a), max(0, b)) for a, b in widths]
    return np.pad(self[cut], more, constant_values=self.dtype.type(value))


def _pad(self: Tensor, pad: Any, mode: str, value: float | None) -> Tensor:
    if mode != "constant":
        raise NotImplementedError(f"pad: mode {mode!r} is not supported, only 'constant'")
    return aten.constant_pad_nd(self, list(pad), value or 0.0)


def _interleave(self: Tensor, repeats: Any, dim: int) -> Tensor:
    dim = dimension(dim, self.array.ndim)
    times = repeats.array if isinstance(repeats, Tensor) else repeats
    return self.index_select(dim, wrap(np.repeat(np.arange(self.array.shape[dim]), times)))


def _meshgrid(given: Any, indexing: str) -> tuple[Tensor, ...]:
    """Each 1-D tensor expanded over the grid of all."""
    given = given[0] if isinstance(given[0], (list, tuple)) else given
    if any(x.array.ndim > 1 for x in given):
        raise RuntimeError("torch.meshgrid: Expected 0D or 1D tensor in the tensor list")
    order = list(range(len(given)))
    order[:2] = order[:2][::-1] if indexing == "xy" else order[:2]
    shape = tuple(given[i].array.size for i in order)
    shapes = [[-1 if i == at else 1 for i in order] for at in range(len(given))]
    return tuple(x.reshape(s).expand(shape) for x, s in zip(given, shapes, strict=True))


declare(
    globals(),
    r"""
[torch on_list]
cat(self, dim: int = 0) = _cat(self, dim) => _cat_back(grad, self_shapes, dim)
stack(self, dim: int = 0)
    = np.stack(self, dimension(dim, self[0].ndim + 1), dtype=result_dtype(*self))
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
pad(self, pad, mode: str = "constant", value = 0.0) := _pad(self, pad, mode, value)
[torch tensor]
repeat_interleave(self, repeats, dim = None)
    := _interleave(self.flatten() if dim is None else self, repeats, dim or 0)
tile(self, *dims) := self.repeat((1,) * (self.array.ndim - len(sizes(dims))) + sizes(dims))
[torch]
meshgrid(*tensors, *, indexing: str = "ij") := _meshgrid(tensors, indexing)
""",
)
