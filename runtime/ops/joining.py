"""cat, stack, repeat, roll, flip, padding and other ways to lay elements out anew.

Source: derivatives.yaml, aten/src/ATen/native/TensorShape.cpp, PadNd.cpp.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ..core.aten import aten
from ..core.dtypes import result_dtype
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap
from .make import declare, dimension, failed, filling, in_layout_of, laid_alike


def _cat(self: Any, dim: int) -> Any:
    arrays = [a for a in self if a.shape != (0,)] or self  # PyTorch skips these
    scalars = any(a.ndim == 0 for a in arrays)
    check(not scalars, "zero-dimensional tensor cannot be concatenated", ValueError)
    found = np.concatenate(arrays, dimension(dim, arrays[0].ndim), dtype=result_dtype(*self))
    return laid_alike(found, self)


def _cat_back(grad: Tensor, shapes: Any, dim: int) -> list[Tensor]:
    found, start = [], 0
    for shape in shapes:
        if shape == (0,):
            found.append(aten.zeros(0, dtype=grad.dtype))
        else:
            found.append(grad.narrow(dim, start, shape[dim]))
            start += shape[dim]
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
    check(self.ndim >= 2, "input tensor must have at least 2 dimensions", ValueError)
    return self


def _classes(self: Any, given: int) -> int:
    check(self.dtype.kind in "iu", "one_hot is only applicable to index tensor", ValueError)
    some = self.size or given >= 0
    check(some, "Can not infer total number of classes from empty tensor.", ValueError)
    most = int(self.max(initial=-1)) + 1
    if self.min(initial=0) < 0 or (most > given >= 0):
        raise ValueError("Class values must be non-negative and smaller than num_classes.")
    return most if given < 0 else given


def _rolled(self: Any, shifts: Any, dims: Any) -> Any:
    by, over = (
        (x,) if isinstance(x, (int, np.integer)) else tuple(x or ()) for x in (shifts, dims)
    )
    fits = len(by) == len(over) or (len(by) == 1 and not over)
    check(bool(by) and fits, f"shifts and dimensions must align: {by}, {over}", ValueError)
    if not self.ndim and not over:
        return self.copy()
    return (
        np.roll(self, by, [dimension(d, self.ndim) for d in over]) if over else np.roll(self, by[0])
    )


def _turned(shifts: Any) -> Any:
    return tuple(-s for s in shifts) if isinstance(shifts, (tuple, list)) else -shifts


def _padded(self: Any, pad: Any, value: float) -> Any:
    pairs = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    widths = [(0, 0)] * (self.ndim - len(pairs)) + pairs
    each = zip(widths, self.shape, strict=True)
    cut = tuple(slice(max(0, -a), s - max(0, -b)) for (a, b), s in each)
    more = [(max(0, a), max(0, b)) for a, b in widths]
    number = filling(value if isinstance(value, complex) else float(value), self.dtype)
    return laid_alike(np.pad(self[cut], more, constant_values=number), [self])


def _pad(self: Tensor, pad: Any, mode: str, value: float | None) -> Tensor:
    if mode != "constant":
        from ..observe.autocast import cast
        from .resampling import padded_by  # it is made of what is here

        if mode == "replicate" or (mode == "reflect" and len(pad) < 6):
            (self,) = cast("aten::reflection_pad", (self,))
        found = padded_by(self, list(pad), mode)
        return found if mode == "circular" else in_layout_of(self, found)
    return aten.constant_pad_nd(self, list(pad), value or 0.0)


def _interleave(self: Tensor, repeats: Any, dim: int) -> Tensor:
    dim = dimension(dim, self.array.ndim)
    times = repeats.array if isinstance(repeats, Tensor) else repeats
    return self.index_select(dim, wrap(np.repeat(np.arange(self.array.shape[dim]), times)))


def _diag(self: Tensor, offset: int) -> Tensor:
    check(self.array.ndim in (1, 2), "diag(): Supports 1D or 2D tensors")
    return aten.diag_embed(self, offset) if self.array.ndim == 1 else self.diagonal(offset).clone()


def _embedded(self: Any, offset: int, dim1: int, dim2: int) -> Any:
    *lead, n = self.shape
    size, dims = n + abs(offset), [dimension(d, len(lead) + 2) for d in (dim1, dim2)]
    check(dims[0] != dims[1], "diagonal dimensions cannot be identical", ValueError)
    found, place = np.zeros((*lead, size, size), self.dtype), np.arange(n)
    found[..., place + max(0, -offset), place + max(0, offset)] = self
    return np.moveaxis(found, (-2, -1), dims)


def _at_least(n: int, tensors: Any) -> Any:
    """With at least n dimensions, of size 1 in front."""
    given = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    found = [x.reshape(*(1,) * (n - x.dim()), *x.shape) if x.dim() < n else x for x in given]
    return found[0] if given is tensors and len(given) == 1 else tuple(found)


def _some(tensors: Any) -> Any:
    check(len(tensors) > 0, "expects a non-empty TensorList")
    return tensors


def _side_by_side(tensors: Any) -> Tensor:
    given = [tensors] if isinstance(tensors, Tensor) else tensors
    return aten.cat(given, int(given[0].array.ndim > 1))


def _broadcast(tensors: Any) -> tuple[Tensor, ...]:
    given = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    arrays = [x.array for x in given]
    try:
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
    except ValueError as error:
        raise failed("aten::broadcast_tensors", error, *arrays) from None
    return tuple(x.expand(shape) for x in given)


def _triangle(part: Any, row: int, col: int, offset: int, dtype: Any) -> Any:
    return np.stack(np.nonzero(part(np.ones((row, col)), offset))).astype(dtype or np.int64)


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


def _parts(self: Tensor, given: Any, dim: int) -> tuple[Tensor, ...]:
    check(self.array.ndim > 0, "tensor_split expected at least a 1-dimensional tensor")
    given = given.tolist() if isinstance(given, Tensor) else given
    size = self.array.shape[dimension(dim, self.array.ndim)]
    if isinstance(given, (int, np.integer)):
        given = int(given)
        check(given > 0, f"number of sections must be larger than 0, got {given}")
        short, more = divmod(size, given)
        given = [short * i + min(i, more) for i in range(1, given)]
    edges = [0, *(range(size)[slice(e, None)].start for e in given), size]
    spans = [(a, max(a, b) - a) for a, b in itertools.pairwise(edges)]
    return tuple(self.narrow(dim, start, length) for start, length in spans)


def _slices(self: Tensor, n: int, dim: int, ends: Any) -> Tensor:
    check(self.array.ndim > 0, "diff expects input to be at least one-dimensional")
    check(n >= 0, f"order must be non-negative but got {n}")
    if not n:
        return self.clone()
    x = aten.cat([e for e in (ends[0], self, ends[1]) if e is not None], dim)
    for _ in range(min(n, x.array.shape[dim])):
        size = x.array.shape[dim] - 1
        one, other = x.narrow(dim, 1, size), x.narrow(dim, 0, size)
        x = one != other if x.array.dtype.kind == "b" else one - other
    return x


_ROWS = r"""
[torch on_list]
cat(self, dim: int = 0) = _cat(self, dim) => _cat_back(grad, self_shapes, dim)
[torch on_list contiguous]
stack(self, dim: int = 0)
    = np.stack(self, dimension(dim, self[0].ndim + 1), dtype=result_dtype(*self))
    self: [select(grad, dim, i) for i in range(len(self_shapes))]
[tensor contiguous]
repeat(self, *repeats: sizes) = _repeat(self, repeats) => _repeat_back(grad, self_shape, repeats)
[torch tensor contiguous]
flip(self, *dims: sizes)
    = np.flip(self, tuple([dimension(d, self.ndim) for d in dims if self.ndim])).copy()
    self: flip(grad, dims)
roll(self, shifts: any, dims: any = None) = _rolled(self, shifts, dims)
    self: roll(grad, _turned(shifts), dims)
diag_embed(self, offset: int = 0, dim1: int = -2, dim2: int = -1)
    = _embedded(self, offset, dim1, dim2) => diagonal(grad, offset, dim1, dim2)
[torch tensor contiguous in_place]
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
repeat_interleave(self, repeats = None, dim = None, *, output_size = None)
    := _interleave(self.flatten() if dim is None else self, repeats, dim or 0)
    if repeats is not None else _interleave(arange(self.numel()), self, 0)
diag(self, diagonal: int = 0) := _diag(self, diagonal)
tile(self, *dims: sizes) := self.repeat((1,) * (self.array.ndim - len(sizes(dims))) + sizes(dims))
split_with_sizes(self, split_sizes, dim: int = 0) := split(self, split_sizes, dim)
tensor_split(self, indices_or_sections, dim: int = 0) := _parts(self, indices_or_sections, dim)
diff(self, n: int = 1, dim: int = -1, prepend = None, append = None)
    := _slices(self, n, dim, (prepend, append))
[torch]
vstack(tensors) := cat([atleast_2d(x) for x in _some(tensors)])
hstack(tensors) := _side_by_side(atleast_1d(*_some(tensors)))
atleast_1d(*tensors) := _at_least(1, tensors)
atleast_2d(*tensors) := _at_least(2, tensors)
broadcast_tensors(*tensors) := _broadcast(tensors)
meshgrid(*tensors, *, indexing: str = "ij") := _meshgrid(tensors, indexing)
column_stack(tensors) := hstack([x if x.array.ndim > 1 else x.reshape(-1, 1) for x in tensors])
[torch make]
tril_indices(row: int, col: int, offset: int = 0) = _triangle(np.tril, row, col, offset, dtype)
triu_indices(row: int, col: int, offset: int = 0) = _triangle(np.triu, row, col, offset, dtype)
"""
declare(globals(), _ROWS)
