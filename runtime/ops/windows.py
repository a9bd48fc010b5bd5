"""Windows of images as columns and back; pools that follow the size of the result; their inverse.

Source: aten/src/ATen/native/Im2Col.cpp, Col2Im.cpp, AdaptiveMaxPooling2d.cpp, MaxUnpooling.cpp.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap
from .convolution import _batched, _columns, _lengths, _parts, _spread, _wide
from .make import declare, in_layout_of, zeros_beside
from .make.table import publish

Ints = tuple[int, ...]


def _im2col(x: Any, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Any:
    check(x.dtype.kind not in "iu", f"im2col is not implemented for {x.dtype}", ValueError)
    return np.ascontiguousarray(_columns(x, kernel, stride, padding, dilation, 1)[:, 0])


def _col2im(x: Any, size: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Any:
    out, places = _lengths(size, kernel, stride, padding, dilation), math.prod(kernel)
    check(x.dtype.kind not in "iu", f"col2im is not implemented for {x.dtype}", ValueError)
    fits = x.shape[1] % places == 0 and x.shape[2] == math.prod(out)
    check(fits, f"columns {x.shape} do not fit the {math.prod(out)} windows of {size}")
    columns = x.reshape(len(x), x.shape[1] // places, places, *out)
    wide, inner = _wide((*columns.shape[:2], *size), padding, x)
    for k, part in enumerate(_parts(kernel, out, stride, dilation)):
        wide[part] += columns[:, :, k]
    return np.ascontiguousarray(inner)


def _of_planes(run: Any, ndim: int, x: Tensor, *how: Any) -> Any:
    return _batched(run, ndim, x, *(_spread(value, 2) for value in how))


def _bins(have: Ints, sizes: Ints) -> Any:
    """A row of flat places for each bin of an adaptive pool; short bins repeat what they have."""
    places = np.zeros((1, 1), np.int64)
    for size, out in zip(have, sizes, strict=True):
        start, end = (np.arange(out) + np.array([[0], [1]])) * size
        start, end = start // out, -(end // -out)
        each = start[:, None] + np.arange((end - start).max(initial=1))
        each = np.minimum(each, end[:, None] - 1)
        places = places[:, None, :, None] * size + each[:, None]
        places = places.reshape(places.shape[0] * out, -1)
    return places


def _largest(x: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    have = x.array.shape[2:]
    sizes = _spread(output_size, len(have))
    told = f"output_size must have {len(have)} numbers, none negative, not {sizes}"
    check(len(sizes) == len(have) and min(s or 0 for s in sizes) >= 0, told)
    sizes = tuple(h if o is None else o for h, o in zip(have, sizes, strict=True))
    places, flat = _bins(have, sizes), x.flatten(2)
    best = flat.array[:, :, places].argmax(-1)
    index = wrap(np.ascontiguousarray(places[np.arange(len(places)), best]))
    shape = (*x.array.shape[:2], *sizes)
    return flat.gather(2, index).reshape(shape), index.reshape(shape)


def _adaptive_max(n: int, x: Tensor, output_size: Any, with_indices: bool) -> Any:
    found = _batched(_largest, n, x, output_size)
    found = tuple(in_layout_of(x, y) for y in found) if n == 2 else found
    return found if with_indices else found[0]


def _unpooled(
    n: int, x: Tensor, index: Tensor, kernel: Any, stride: Any, pad: Any, size: Any
) -> Tensor:
    check(x.array.shape == index.array.shape, "input and indices should have one shape")
    each = [_spread(value, n) for value in (kernel, stride or kernel, pad)]
    lead, inner = x.array.shape[:-n], x.array.shape[-n:]
    usual = tuple((i - 1) * s - 2 * p + k for i, k, s, p in zip(inner, *each, strict=True))
    size = usual if size is None else tuple(size)[-n:]
    near = all(abs(a - b) < s for a, b, s in zip(size, usual, each[1], strict=True))
    check(near, f"invalid output_size {size} (dim should be near {usual})", ValueError)
    flat = zeros_beside((*lead, math.prod(size)), x)
    inside = not index.array.size or index.array.max() < flat.array.shape[-1]
    check(bool(inside), "found an invalid max index")
    put = flat.scatter(len(lead), index.flatten(len(lead)), x.flatten(len(lead)))
    return in_layout_of(x, put.reshape((*lead, *size)))


def _response(x: Tensor, size: int, alpha: float, beta: float, k: float) -> Tensor:
    """Each channel over what it and its neighbours have."""
    check(x.array.ndim > 2, f"Expected 3D or higher dimensionality, got {x.shape}", ValueError)
    if not x.array.size:
        return x
    squares = (x * x).reshape((x.array.shape[0], 1, x.array.shape[1], -1))
    squares = aten.constant_pad_nd(squares, (0, 0, size // 2, (size - 1) // 2))
    near = aten.avg_pool2d(squares, (size, 1), 1).reshape(x.array.shape)
    return x / (near * alpha + k) ** beta


_OF_N = """
adaptive_max_pool{n}d(self, output_size, return_indices: bool = False)
    := _adaptive_max({n}, self, output_size, return_indices)
max_unpool{n}d(self, indices, kernel_size, stride = None, padding = 0, output_size = None)
    := _unpooled({n}, self, indices, kernel_size, stride, padding, output_size)"""
_ROWS = r"""
local_response_norm(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0)
    := _response(self, size, alpha, beta, k)
unfold.columns(self, kernel_size, dilation = 1, padding = 0, stride = 1)
    := _of_planes(im2col, 2, self, kernel_size, dilation, padding, stride)
fold(self, output_size, kernel_size, dilation = 1, padding = 0, stride = 1)
    := _of_planes(col2im, 1, self, output_size, kernel_size, dilation, padding, stride)
[wide]
im2col(self, *how: any) = _im2col(self, *how) => col2im(grad, self_shape[2:], *how)
col2im(self, size: any, *how: any) = _col2im(self, size, *how) => im2col(grad, *how)
"""
declare(globals(), "[nn]" + "".join(_OF_N.format(n=n) for n in (1, 2, 3)) + _ROWS)
publish(aten.unfold_columns, "unfold", ["nn"])  # Tensor.unfold is another
