"""Operators that few scripts name, each composed of others.

Source: aten/src/ATen/native/TensorShape.cpp, TensorConversions.cpp, FractionalMaxPool2d.cpp.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aten import aten
from ..core.dtypes import promote_types
from ..engine.hooks import check
from ..engine.tensor import Size, Tensor, wrap
from .creation import _draws
from .make import as_tensors, composite, declare, dimension  # noqa: F401  (rows use them)
from .make.table import PUBLIC, publish

Ints = tuple[int, ...]


def _divided(self: Tensor, how: Any, dim: int, least: int, name: str) -> Any:
    n = self.array.ndim
    told = f"torch.{name} requires a tensor with at least {least} dimensions, but got {n}"
    check(n >= least, told)
    return aten.tensor_split(self, how, 0 if name == "hsplit" and n == 1 else dim)


def _written(self: Tensor, src: Tensor, view: Any) -> Tensor:
    """A copy of `self` in which the part that `view` takes is `src`."""
    made = self.clone()
    part = view(made)
    told = f"expected src to have a size equal to the slice, {tuple(part.shape)}"
    check(part.shape == src.shape, told)
    part.copy_(src)
    return made


def _part(self: Tensor, dim: int, start: Any, end: Any, step: int) -> Tensor:
    check(step > 0, "slice step must be positive")
    at = (slice(None),) * dimension(dim, self.array.ndim) + (slice(start, end, step),)
    return self[at]


def _binomial(count: Tensor, prob: Tensor, generator: Any) -> Tensor:
    floats = count.array.dtype.kind == prob.array.dtype.kind == "f"
    check(floats, "binomial only supports floating-point dtypes", ValueError)
    check(count.dtype == prob.dtype, "binomial: expected counts and chances of one dtype")
    drawn = _draws(generator).binomial(count.array.astype(np.int64), prob.array)
    return wrap(np.asarray(drawn, count.array.dtype))


def _unraveled(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    whole = indices.array.dtype.kind in "iu"
    check(whole, f"expected indices to be integer dtype, but got {indices.dtype}", TypeError)
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    fits = all(isinstance(size, (int, np.integer)) and size >= 0 for size in sizes)
    check(fits, f"shape should hold non-negative ints, but got {shape}", ValueError)
    rest, found = indices.long(), list[Tensor]()
    for size in reversed(sizes):
        found.append(aten.remainder(rest, size))
        rest = aten.floor_divide(rest, size)
    return aten.stack(found[::-1], -1).unbind(-1)


def _broadcast_sizes(shapes: tuple[Any, ...]) -> Size:
    sizes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    negative = any(size < 0 for shape in sizes for size in shape)
    check(not negative, "Trying to create tensor with negative dimension")
    try:
        return Size(np.broadcast_shapes(*sizes))
    except ValueError as error:
        raise RuntimeError(f"Shape mismatch: {error}") from None


def _result_type(one: Any, other: Any) -> Any:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        kinds = [one.array, other.array]
        if (not kinds[0].ndim) == (not kinds[1].ndim):
            return promote_types(one.dtype, other.dtype)
    return aten.add(*(x[:0] if isinstance(x, Tensor) and x.array.ndim else x for x in (one, other))
                    ).dtype if not _truths(one, other) else np.dtype(bool)  # fmt: skip


def _truths(*values: Any) -> bool:
    return all(
        x.array.dtype.kind == "b" if isinstance(x, Tensor) else isinstance(x, bool) for x in values
    )


def _starts(sample: Any, have: int, out: int, window: int) -> Any:
    """Where each window of a fractional pool begins, for samples in [0, 1)."""
    if out == 1:
        return np.full((*sample.shape, 1), have - window)
    pace = ((have - window) / (out - 1)).__float__()
    pace = sample.dtype.type(pace)
    steps = np.arange(out - 1, dtype=sample.dtype)
    places = ((steps + sample[..., None]) * pace).astype(np.int64)
    places -= (sample[..., None] * pace).astype(np.int64)
    return np.concatenate((places, np.full((*sample.shape, 1), have - window)), -1)


def _fractional(
    n: int, self: Tensor, kernel: Any, size: Any, ratio: Any, samples: Any, indices: bool
) -> Any:
    """Windows at random places, of which there are as many as the result has numbers."""
    one = (size is None) != (ratio is None)
    check(one, "fractional_max_pool requires specifying either an output_size or ratio", ValueError)
    check(not isinstance(ratio, (int, float)), "output_ratio must be a tuple of floats", TypeError)
    ndim = self.array.ndim
    told = f"fractional_max_pool{n}d: Expected {n + 1}D or {n + 2}D tensor, but got {ndim}D"
    check(ndim in (n + 1, n + 2), told)
    x = self if ndim == n + 2 else self.unsqueeze(0)
    have = x.array.shape[2:]
    kernels = (kernel,) * n if isinstance(kernel, int) else tuple(kernel)
    if size is None:
        ratios = tuple(ratio)
        inside = all(0 < r < 1 for r in ratios)
        check(inside, f"output_ratio must be between 0 and 1 (got {ratio})", ValueError)
        size = tuple(int(h * r) for h, r in zip(have, ratios, strict=True))
    sizes = (size,) * n if isinstance(size, int) else tuple(size)
    fits = all(o + k - 1 <= h - (n == 3) for o, k, h in zip(sizes, kernels, have, strict=True))
    check(fits, f"fractional_max_pool{n}d: kernels {kernels} too large for input {tuple(have)}")
    if samples is None:
        samples = PUBLIC["torch"]["rand"](*x.array.shape[:2], n, dtype=x.dtype)
    places = np.zeros((*x.array.shape[:2], 1, 1), np.int64)
    for d, (h, out, k) in enumerate(zip(have, sizes, kernels, strict=True)):
        which = {2: (1, 0), 3: (0, 1, 2)}[n][d]  # the first sample of two is that of the width
        start = _starts(samples.array[..., which], h, out, k)
        each = (start[..., None] + np.arange(k))[:, :, None, :, None, :]
        places = places[:, :, :, None, :, None] * h + each
        shape = (*places.shape[:2], places.shape[2] * out, -1)
        places = places.reshape(shape)
    flat = x.flatten(2)
    shape = places.shape
    values = np.take_along_axis(flat.array, places.reshape(*shape[:2], -1), 2).reshape(shape)
    best = values.argmax(-1)[..., None]
    index = wrap(np.take_along_axis(places, best, -1)[..., 0])
    lead = x.array.shape[:2] if ndim == n + 2 else x.array.shape[1:2]
    found = flat.gather(2, index).reshape((*lead, *sizes))
    return (found, index.reshape((*lead, *sizes))) if indices else found


_POOL = "kernel_size, output_size = None, output_ratio = None, return_indices: bool = False, "
_POOL += "_random_samples = None"
_GIVEN = "self, kernel_size, output_size, output_ratio, _random_samples"
_ROWS = rf"""
[torch tensor]
hsplit(self, indices_or_sections) := _divided(self, indices_or_sections, 1, 1, "hsplit")
vsplit(self, indices_or_sections) := _divided(self, indices_or_sections, 0, 2, "vsplit")
dsplit(self, indices_or_sections) := _divided(self, indices_or_sections, 2, 3, "dsplit")
msort(self) := self.sort(0).values
select_scatter(self, src, dim: int, index: int)
    := _written(self, src, lambda x: x.select(dim, index))
slice_scatter(self, src, dim: int = 0, start = None, end = None, step: int = 1)
    := _written(self, src, lambda x: _part(x, dim, start, end, step))
diagonal_scatter(self, src, offset: int = 0, dim1: int = 0, dim2: int = 1)
    := _written(self, src, lambda x: x.diagonal(offset, dim1, dim2))
[torch]
rsub(self, other, alpha = 1) := sub(*as_tensors("aten::rsub", other, self), alpha=alpha)
binomial(count, prob, generator = None) := _binomial(count, prob, generator)
broadcast_shapes(*shapes) := _broadcast_sizes(shapes)
result_type(tensor1, tensor2) := _result_type(tensor1, tensor2)
unravel_index(indices, shape) := _unraveled(indices, shape)
[nn]
fractional_max_pool2d(self, {_POOL}) := _fractional(2, {_GIVEN}, return_indices)
fractional_max_pool3d(self, {_POOL}) := _fractional(3, {_GIVEN}, return_indices)
"""
declare(globals(), _ROWS)


@composite(name="aten::fill")
def filled(input: Tensor, value: Any) -> Tensor:
    """A tensor of that shape, full of a number."""
    return input.clone().fill_(value)


publish(filled, "fill", ["torch"])
