"""Convolution and pooling over one or two dimensions.

Convolution is bilinear, and so are its two adjoints; each one's derivatives are the other two:

    convolution(x, w)                  windows of x, times the weight
    convolution_backward_input(g, w)   what x contributed to, weighted
    convolution_backward_weight(g, x)  how windows of x agree with g

Source: aten/src/ATen/native/Convolution.cpp, ConvolutionMM2d.cpp, derivatives.yaml.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..tensor import Tensor, wrap
from .table import aten, composite, declare

Ints = tuple[int, ...]


def _lengths(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """How many windows fit along each dimension."""
    found = tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True)
    )
    if min(found) < 1:
        raise ValueError(
            f"Calculated output size: {list(found)}. Kernel size {list(kernel)} can't be greater "
            f"than actual input size {list(size)}"
        )
    return found


def _padded(x: Any, padding: Ints, value: float = 0, more: Ints = (0, 0)) -> Any:
    """Padded on both sides, and `more` behind."""
    if not any(padding) and not any(more):
        return x
    widths = [(0, 0), (0, 0), *((p, p + q) for p, q in zip(padding, more, strict=False))]
    return np.pad(x, widths, constant_values=value)


def _columns(x: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Any:
    """im2col: (N, groups, C / groups * kernel, windows)."""
    out = _lengths(x.shape[2:], kernel, stride, padding, dilation)
    x = _padded(x, padding)
    n, c, *steps = x.strides
    strides = (n, c, *(a * d for a, d in zip(steps, dilation, strict=True)))
    strides += tuple(a * s for a, s in zip(steps, stride, strict=True))
    windows = as_strided(x, (*x.shape[:2], *kernel, *out), strides)
    return windows.reshape(x.shape[0], groups, -1, int(np.prod(out)))


def _parts(
    shape: Ints, kernel: Ints, out: Ints, stride: Ints, dilation: Ints
) -> list[tuple[Any, ...]]:
    """For each place in the kernel, the elements of the padded input that it meets."""
    return [
        (
            ...,
            *(
                slice(i * d, i * d + s * (o - 1) + 1, s)
                for i, d, s, o in zip(place, dilation, stride, out, strict=True)
            ),
        )
        for place in itertools.product(*map(range, kernel))
    ]


def _cut(x: Any, padding: Ints) -> Any:
    inner = tuple(slice(p, n - p) for p, n in zip(padding, x.shape[2:], strict=True))
    return np.ascontiguousarray(x[(..., *inner)]) if any(padding) else x


def _conv(
    x: Any, w: Any, bias: Any, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    if x.ndim != w.ndim or x.shape[1] != w.shape[1] * groups or w.shape[0] % groups:
        raise ValueError(
            f"Given groups={groups}, weight of size {list(w.shape)}, expected input{list(x.shape)} "
            f"to have {w.shape[1] * groups} channels, but got {x.shape[1]} channels instead"
        )
    if x.dtype != w.dtype:
        raise ValueError(f"Input type ({x.dtype}) and weight type ({w.dtype}) should be the same")
    out = _lengths(x.shape[2:], w.shape[2:], stride, padding, dilation)
    columns = _columns(x, w.shape[2:], stride, padding, dilation, groups)
    found = (w.reshape(groups, w.shape[0] // groups, -1) @ columns).reshape(-1, w.shape[0], *out)
    if bias is not None:
        found += bias.reshape(-1, *(1,) * len(out))
    return found


def _conv_input(
    g: Any, w: Any, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    n, out, kernel = g.shape[0], g.shape[2:], w.shape[2:]
    per_group = w.reshape(groups, w.shape[0] // groups, -1)
    columns = per_group.swapaxes(1, 2) @ g.reshape(n, groups, w.shape[0] // groups, -1)
    columns = columns.reshape(n, groups * w.shape[1], int(np.prod(kernel)), *out)
    wide = tuple(s + 2 * p for s, p in zip(size[2:], padding, strict=True))
    found = np.zeros((n, size[1], *wide), g.dtype)
    for k, part in enumerate(_parts(wide, kernel, out, stride, dilation)):
        found[part] += columns[:, :, k]
    return _cut(found, padding)


def _conv_weight(
    g: Any, x: Any, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    columns = _columns(x, shape[2:], stride, padding, dilation, groups)
    per_group = g.reshape(g.shape[0], groups, shape[0] // groups, -1)
    return (per_group @ columns.swapaxes(2, 3)).sum(0).reshape(shape)


def _beyond(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """With ceil_mode, how far the last window reaches over the edge; it must begin within."""
    found = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True):
        last = -((n + 2 * p - d * (k - 1) - 1) // -s) * s
        last -= s if last >= n + p else 0
        found.append(max(0, last + d * (k - 1) + 1 - n - 2 * p))
    return tuple(found)


def _max_pool(
    x: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> Any:
    """The largest of each window, and where it is in the flattened plane."""
    size = x.shape[2:]
    if any(p > k // 2 for p, k in zip(padding, kernel, strict=True)):
        raise ValueError("pad should be at most half of effective kernel size")
    more = _beyond(size, kernel, stride, padding, dilation) if ceil_mode else (0,) * len(size)
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    where = np.arange(int(np.prod(size))).reshape(1, 1, *size)
    x, where = _padded(x, padding, lowest, more), _padded(where, padding, 0, more)
    out = _lengths(x.shape[2:], kernel, stride, (0,) * len(size), dilation)
    first, *rest = _parts(x.shape[2:], kernel, out, stride, dilation)
    best = x[first].copy()
    index = np.broadcast_to(where[first], best.shape).copy()
    for part in rest:
        larger = (x[part] > best) | np.isnan(x[part])
        np.copyto(best, x[part], where=larger)
        np.copyto(index, where[part], where=larger)
    return best, index


def _max_pool_back(grad: Tensor, shape: Ints, indices: Tensor) -> Tensor:
    plane = (*shape[:2], int(np.prod(shape[2:])))
    flat = wrap(np.zeros(plane, grad.array.dtype))
    return flat.scatter_add(2, indices.flatten(2), grad.flatten(2)).reshape(shape)


def _shares(size: Ints, kernel: Ints, stride: Ints, padding: Ints, inside: bool, dtype: Any) -> Any:
    """One over the number of elements that each window averages."""
    if not inside or not any(padding):
        return dtype.type(1 / np.prod(kernel))
    ones = _padded(np.ones((1, 1, *size), dtype), padding)
    out = _lengths(size, kernel, stride, padding, (1,) * len(size))
    return 1 / sum(ones[p] for p in _parts(size, kernel, out, stride, (1,) * len(size)))


def _avg_pool(x: Any, kernel: Ints, stride: Ints, padding: Ints, inside: bool) -> Any:
    ones = (1,) * len(kernel)
    out = _lengths(x.shape[2:], kernel, stride, padding, ones)
    wide = _padded(x, padding)
    total = sum(wide[p] for p in _parts(wide.shape[2:], kernel, out, stride, ones))
    return total * _shares(x.shape[2:], kernel, stride, padding, inside, x.dtype)


def _avg_pool_back(
    g: Any, shape: Ints, kernel: Ints, stride: Ints, padding: Ints, inside: bool
) -> Any:
    wide = tuple(s + 2 * p for s, p in zip(shape[2:], padding, strict=True))
    found = np.zeros((*shape[:2], *wide), g.dtype)
    each = g * _shares(shape[2:], kernel, stride, padding, inside, g.dtype)
    for part in _parts(wide, kernel, g.shape[2:], stride, (1,) * len(kernel)):
        found[part] += each
    return _cut(found, padding)


declare(
    globals(),
    r"""
[]
convolution(self, weight, bias: number, stride: any, padding: any, dilation: any, groups: int)
    = _conv(self, weight, bias, stride, padding, dilation, groups)
    self: convolution_backward_input(grad, conj(weight), self_shape, stride, padding, dilation,
        groups)
        || _conv_input(grad, conj(weight), self_shape, stride, padding, dilation, groups)
    weight: convolution_backward_weight(grad, conj(self), weight_shape, stride, padding,
        dilation, groups)
        || _conv_weight(grad, conj(self), weight_shape, stride, padding, dilation, groups)
    bias: sum(grad, (0, *range(2, grad.ndim))) || grad.sum((0, *range(2, grad.ndim)))
convolution_backward.input(grad_output, weight, size: any, stride: any, padding: any, dilation: any,
    groups: int)
    = _conv_input(grad_output, weight, size, stride, padding, dilation, groups)
    grad_output: convolution(grad, conj(weight), None, stride, padding, dilation, groups)
    weight: convolution_backward_weight(conj(grad_output), grad, weight_shape, stride, padding,
        dilation, groups)
convolution_backward.weight(grad_output, self, shape: any, stride: any, padding: any, dilation: any,
    groups: int)
    = _conv_weight(grad_output, self, shape, stride, padding, dilation, groups)
    grad_output: convolution(conj(self), grad, None, stride, padding, dilation, groups)
    self: convolution_backward_input(conj(grad_output), grad, self_shape, stride, padding,
        dilation, groups)
max_pool2d_with_indices(self, kernel: any, stride: any, padding: any, dilation: any, ceil: bool)
    -> (values, indices) = _max_pool(self, kernel, stride, padding, dilation, ceil)
    self: _max_pool_back(grads[0], self_shape, indices)
avg_pool2d.nd(self, kernel: any, stride: any, padding: any, inside: bool)
    = _avg_pool(self, kernel, stride, padding, inside)
    self: avg_pool2d_backward(grad, self_shape, kernel, stride, padding, inside)
        || _avg_pool_back(grad, self_shape, kernel, stride, padding, inside)
avg_pool2d_backward(grad_output, shape: any, kernel: any, stride: any, padding: any, inside: bool)
    = _avg_pool_back(grad_output, shape, kernel, stride, padding, inside)
    grad_output: avg_pool2d_nd(grad, kernel, stride, padding, inside)
""",
)


def _spread(value: Any, n: int) -> Ints:
    """One number for all dimensions, or one each."""
    return (value,) * n if isinstance(value, int) else tuple(value) * (n if len(value) == 1 else 1)


def _batched(input: Tensor, n: int, run: Any) -> Any:
    """`run` on a batch; one sample alone is a batch of one."""
    if input.array.ndim == n + 2:
        return run(input)
    if input.array.ndim != n + 1:
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input, but got input of size: "
            f"{list(input.array.shape)}"
        )
    found = run(input.unsqueeze(0))
    return tuple(x.squeeze(0) for x in found) if isinstance(found, tuple) else found.squeeze(0)


def _make(n: int) -> None:
    def conv(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        """Cross-correlation: (N, C, *size), (O, C / groups, *kernel), (O,) to (N, O, *out)."""
        stride, dilation = _spread(stride, n), _spread(dilation, n)
        if padding == "same":
            if max(stride) > 1:
                raise RuntimeError("padding='same' is not supported for strided convolutions")
            both = [d * (k - 1) for d, k in zip(dilation, weight.array.shape[2:], strict=True)]
            odd = [p for b in reversed(both) for p in (0, b % 2)]
            input = aten.constant_pad_nd(input, odd) if any(odd) else input
            padding = tuple(b // 2 for b in both)
        padding = _spread(0 if padding == "valid" else padding, n)
        run = aten.convolution
        return _batched(input, n, lambda x: run(x, weight, bias, stride, padding, dilation, groups))

    def max_pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        """The largest element of each window."""
        kernel, step = _spread(kernel_size, n), _spread(stride or kernel_size, n)
        more = (_spread(padding, n), _spread(dilation, n), ceil_mode)
        found = _batched(input, n, lambda x: aten.max_pool2d_with_indices(x, kernel, step, *more))
        return found if return_indices else found[0]

    def avg_pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        """The mean of each window; padding counts unless `count_include_pad` is False."""
        if ceil_mode:
            raise NotImplementedError("avg_pool with ceil_mode=True is not supported")
        kernel, step = _spread(kernel_size, n), _spread(stride or kernel_size, n)
        pad = _spread(padding, n)
        inside = not count_include_pad and divisor_override is None
        found = _batched(input, n, lambda x: aten.avg_pool2d_nd(x, kernel, step, pad, inside))
        return found * (int(np.prod(kernel)) / divisor_override) if divisor_override else found

    def adaptive_avg_pool(input: Tensor, output_size: Any) -> Tensor:
        """The means of `output_size` bins along each dimension."""
        wanted = _spread(output_size, n)
        for d, out in zip(range(-n, 0), wanted, strict=True):
            if out == 1:
                input = input.mean(d, keepdim=True)
            elif out is not None:
                bins = wrap(_bins(input.array.shape[d], out, input.array.dtype))
                moved = input.movedim(d, -1) if d != -1 else input
                input = (moved @ bins).movedim(-1, d) if d != -1 else moved @ bins
        return input

    for made in (conv, max_pool, avg_pool, adaptive_avg_pool):
        made.__name__ += f"{n}d"
        composite("torch nn", f"aten::{made.__name__}")(made)


def _bins(size: int, out: int, dtype: Any) -> Any:
    """(size, out): how much each element counts in each bin."""
    place, i = np.arange(size)[:, None], np.arange(out)
    inside = (place >= i * size // out) & (place < -((i + 1) * size // -out))
    return (inside / inside.sum(0)).astype(dtype)


_make(1)
_make(2)
