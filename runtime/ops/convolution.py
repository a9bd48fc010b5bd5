"""Convolution and pooling over one or two dimensions.

Convolution is bilinear, and so are its two adjoints; each one's derivatives are the other two:

    convolution(x, w)                  windows of x, times the weight
    convolution_backward_input(g, w)   what x contributed to, weighted
    convolution_backward_weight(g, x)  how windows of x agree with g

`how` is where windows lie: stride, padding, dilation (one each a dimension), then more.

Source: aten/src/ATen/native/Convolution.cpp, ConvolutionMM2d.cpp, derivatives.yaml.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..tensor import Tensor, wrap
from .arguments import zeros_beside
from .table import aten, declare

Ints = tuple[int, ...]


def _lengths(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """How many windows fit along each dimension."""
    each = zip(size, kernel, stride, padding, dilation, strict=True)
    found = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in each)
    if min(found) < 1:
        raise ValueError(f"Kernel size {kernel} can't be greater than actual input size {size}")
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
    return windows.reshape(x.shape[0], groups, -1, math.prod(out))


def _parts(kernel: Ints, out: Ints, stride: Ints, dilation: Ints) -> list[tuple[Any, ...]]:
    """For each place in the kernel, the elements of the padded input that it meets."""
    ends = [s * (o - 1) + 1 for s, o in zip(stride, out, strict=True)]
    each = zip(kernel, dilation, stride, ends, strict=True)
    met = [[slice(i * d, i * d + end, s) for i in range(k)] for k, d, s, end in each]
    return [(..., *place) for place in itertools.product(*met)]


def _wide(shape: Ints, padding: Ints, like: Any) -> Any:
    """Zeros of `shape`, padded, and the part of them without padding."""
    size = [n + 2 * p for n, p in zip(shape[2:], padding, strict=True)]
    found = np.zeros((*shape[:2], *size), like.dtype)
    inner = [slice(p, p + n) for p, n in zip(padding, shape[2:], strict=True)]
    place: Any = (..., *inner)
    return found, found[place]


def _conv(x: Any, w: Any, bias: Any, *how: Any) -> Any:
    groups = how[-1]
    if x.ndim != w.ndim or x.shape[1] != w.shape[1] * groups or w.shape[0] % groups:
        raise ValueError(f"a weight {w.shape} in {groups} groups does not fit an input {x.shape}")
    if x.dtype != w.dtype:
        raise ValueError(f"Input type ({x.dtype}) and weight type ({w.dtype}) should be the same")
    columns, out = _columns(x, w.shape[2:], *how), _lengths(x.shape[2:], w.shape[2:], *how[:3])
    found = (w.reshape(groups, w.shape[0] // groups, -1) @ columns).reshape(-1, w.shape[0], *out)
    found = found.astype(x.dtype, copy=False)  # bfloat16 comes back as float32
    if bias is not None:
        found += bias.reshape(-1, *(1,) * len(out))
    return found


def _conv_input(g: Any, w: Any, shape: Ints, *how: Any) -> Any:
    stride, padding, dilation, groups = how
    n, out, kernel = g.shape[0], g.shape[2:], w.shape[2:]
    per_group = w.reshape(groups, w.shape[0] // groups, -1)
    columns = per_group.swapaxes(1, 2) @ g.reshape(n, groups, w.shape[0] // groups, -1)
    columns = columns.reshape(n, groups * w.shape[1], math.prod(kernel), *out)
    wide, inner = _wide(shape, padding, g)
    for k, part in enumerate(_parts(kernel, out, stride, dilation)):
        wide[part] += columns[:, :, k]
    return np.ascontiguousarray(inner)


def _conv_weight(g: Any, x: Any, shape: Ints, *how: Any) -> Any:
    per_group = g.reshape(g.shape[0], how[-1], shape[0] // how[-1], -1)
    return (per_group @ _columns(x, shape[2:], *how).swapaxes(2, 3)).sum(0).reshape(shape)


def _beyond(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """With ceil_mode, how far the last window reaches over the edge; it must begin within."""
    found = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True):
        last = -((n + 2 * p - d * (k - 1) - 1) // -s) * s
        last -= s if last >= n + p else 0
        found.append(max(0, last + d * (k - 1) + 1 - n - 2 * p))
    return tuple(found)


def _max_pool(x: Any, kernel: Ints, *how: Any) -> Any:
    """The largest of each window, and where it is in the flattened plane."""
    (stride, padding, dilation, ceil), size = how, x.shape[2:]
    if any(p > k // 2 for p, k in zip(padding, kernel, strict=True)):
        raise ValueError("pad should be at most half of effective kernel size")
    none = (0,) * len(size)
    more = _beyond(size, kernel, stride, padding, dilation) if ceil else none
    if x.dtype.kind in "bc":
        raise ValueError(f"max_pool is not implemented for {x.dtype}")
    if kernel == stride and set(dilation) == {1} and not any(padding) and not any(more):
        return _max_of_blocks(x, kernel)
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    where = np.arange(math.prod(size)).reshape(1, 1, *size)
    x, where = _padded(x, padding, lowest, more), _padded(where, padding, 0, more)
    out = _lengths(x.shape[2:], kernel, stride, none, dilation)
    first, *rest = _parts(kernel, out, stride, dilation)
    best = x[first].copy()
    index = np.broadcast_to(where[first], best.shape).copy()
    for part in rest:
        larger = (x[part] > best) | np.isnan(x[part])
        np.copyto(best, x[part], where=larger)
        np.copyto(index, where[part], where=larger)
    return best, index


def _max_of_blocks(x: Any, kernel: Ints) -> Any:
    """The same for windows that stand side by side."""
    size, ones = x.shape[2:], (1,) * len(kernel)
    out = _lengths(size, kernel, kernel, (0,) * len(kernel), ones)
    parts = _parts(kernel, out, kernel, ones)
    best = x[parts[0]].copy()
    for part in parts[1:]:
        np.maximum(best, x[part], out=best)
    later = x[parts[0]] != best  # the first place that has it is further on
    which = later.astype(np.uint8 if len(parts) < 256 else np.int64)
    for part in parts[1:-1]:
        later &= x[part] != best
        which += later
    if x.dtype.kind == "f" and np.isnan(best).any():
        for k, part in enumerate(parts):  # the last NaN
            np.copyto(which, k, where=np.isnan(x[part]))
    where = np.arange(math.prod(size)).reshape(size)
    offsets = np.array([where[part].flat[0] for part in parts])
    return best, np.take(offsets, which) + where[parts[0]]


def _max_pool_back(grad: Tensor, shape: Ints, indices: Tensor, *how: Any) -> Tensor:
    kernel, stride, _, dilation, _ = how
    flat = zeros_beside((*shape[:2], math.prod(shape[2:])), grad)
    apart = set(dilation) == {1} and all(s >= k for s, k in zip(stride, kernel, strict=True))
    put = flat.scatter if apart else flat.scatter_add
    return put(2, indices.flatten(2), grad.flatten(2)).reshape(shape)


def _averaged(size: Ints, kernel: Ints, stride: Ints, padding: Ints, inside: bool) -> Any:
    """The parts that windows average, and one over how many elements that is (each, or for all)."""
    ones = (1,) * len(kernel)
    parts = _parts(kernel, _lengths(size, kernel, stride, padding, ones), stride, ones)
    if not inside or not any(padding):
        return parts, 1 / math.prod(kernel)
    full = _padded(np.ones((1, 1, *size)), padding)
    return parts, 1 / sum(full[p] for p in parts)


def _avg_pool(x: Any, *how: Any) -> Any:
    parts, share = _averaged(x.shape[2:], *how)
    wide = _padded(x, how[2])
    return sum(wide[p] for p in parts) * np.asarray(share, x.dtype)


def _avg_pool_back(g: Any, shape: Ints, *how: Any) -> Any:
    parts, share = _averaged(shape[2:], *how)
    wide, inner = _wide(shape, how[2], g)
    g = g * np.asarray(share, g.dtype)
    for part in parts:
        wide[part] += g
    return np.ascontiguousarray(inner)


def _spread(value: Any, n: int) -> Ints:
    """One number for all dimensions, or one each."""
    return (value,) * n if isinstance(value, int) else tuple(value) * (n if len(value) == 1 else 1)


def _batched(run: Any, n: int, x: Tensor, *args: Any) -> Any:
    """`run` on a batch; one sample alone is a batch of one."""
    if x.array.ndim == n + 2:
        return run(x, *args)
    if x.array.ndim != n + 1:
        raise RuntimeError(f"Expected {n + 1}D (unbatched) or {n + 2}D input, got {x.shape}")
    found = run(x.unsqueeze(0), *args)
    return tuple(y.squeeze(0) for y in found) if isinstance(found, tuple) else found.squeeze(0)


def _convolve(n: int, x: Tensor, w: Tensor, bias: Any, padding: Any, *how: Any) -> Any:
    stride, dilation = (_spread(value, n) for value in how[:2])
    if padding == "same":
        if max(stride) > 1:
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        both = [d * (k - 1) for d, k in zip(dilation, w.array.shape[2:], strict=True)]
        odd = [p for b in reversed(both) for p in (0, b % 2)]
        x = aten.constant_pad_nd(x, odd) if any(odd) else x
        padding = [b // 2 for b in both]
    padding = _spread(0 if padding == "valid" else padding, n)
    return _batched(aten.convolution, n, x, w, bias, stride, padding, dilation, how[2])


def _max_pooled(n: int, x: Tensor, kernel: Any, stride: Any, *how: Any) -> Any:
    places = [_spread(value, n) for value in (kernel, stride or kernel, *how[:2])]
    found = _batched(aten.max_pool2d_with_indices, n, x, *places, how[2])
    return found if how[3] else found[0]


def _avg_pooled(n: int, x: Tensor, kernel: Any, stride: Any, pad: Any, *how: Any) -> Any:
    ceil, padded, divisor = how
    if ceil:
        raise NotImplementedError("avg_pool with ceil_mode=True is not supported")
    places = [_spread(value, n) for value in (kernel, stride or kernel, pad)]
    found = _batched(aten.avg_pool2d_nd, n, x, *places, not padded and divisor is None)
    return found * (math.prod(places[0]) / divisor) if divisor else found


def _adaptive(n: int, x: Tensor, output_size: Any) -> Tensor:
    """The means of `output_size` bins along each dimension."""
    for d, out in zip(range(-n, 0), _spread(output_size, n), strict=True):
        size, i = x.array.shape[d], np.arange(out or 0)
        if out == 1:
            x = x.mean(d, keepdim=True)
        elif out is not None:
            place = np.arange(size)[:, None]
            inside = (place >= i * size // out) & (place < -((i + 1) * size // -out))
            bins = wrap((inside / inside.sum(0)).astype(x.array.dtype))
            x = (x.movedim(d, -1) @ bins).movedim(-1, d) if d != -1 else x @ bins
    return x


_ROWS = """
conv{n}d(self, weight, bias = None, stride = 1, padding = 0, dilation = 1, groups: int = 1)
    := _convolve({n}, self, weight, bias, padding, stride, dilation, groups)
max_pool{n}d(self, kernel_size, stride = None, padding = 0, dilation = 1, ceil_mode: bool = False,
    return_indices: bool = False)
    := _max_pooled({n}, self, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
avg_pool{n}d(self, kernel_size, stride = None, padding = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override = None)
    := _avg_pooled({n}, self, kernel_size, stride, padding, ceil_mode, count_include_pad,
    divisor_override)
adaptive_avg_pool{n}d(self, output_size) := _adaptive({n}, self, output_size)"""
declare(globals(), "[torch nn]" + _ROWS.format(n=1) + _ROWS.format(n=2))
declare(
    globals(),
    r"""
[]
convolution(self, weight, bias: number, *how: any) = _conv(self, weight, bias, *how)
    self: convolution_backward_input(grad, conj(weight), self_shape, *how)
        || _conv_input(grad, conj(weight), self_shape, *how)
    weight: convolution_backward_weight(grad, conj(self), weight_shape, *how)
        || _conv_weight(grad, conj(self), weight_shape, *how)
    bias: sum(grad, (0, *range(2, grad.ndim))) || grad.sum((0, *range(2, grad.ndim)))
convolution_backward.input(grad_output, weight, shape: any, *how: any)
    = _conv_input(grad_output, weight, shape, *how)
    grad_output: convolution(grad, conj(weight), None, *how)
    weight: convolution_backward_weight(conj(grad_output), grad, weight_shape, *how)
convolution_backward.weight(grad_output, self, shape: any, *how: any)
    = _conv_weight(grad_output, self, shape, *how)
    grad_output: convolution(conj(self), grad, None, *how)
    self: convolution_backward_input(conj(grad_output), grad, self_shape, *how)
max_pool2d_with_indices(self, *how: any) -> (values, indices) = _max_pool(self, *how)
    self: _max_pool_back(grads[0], self_shape, indices, *how)
avg_pool2d.nd(self, *how: any) = _avg_pool(self, *how)
    self: avg_pool2d_backward(grad, self_shape, *how) || _avg_pool_back(grad, self_shape, *how)
avg_pool2d_backward(grad_output, shape: any, *how: any) = _avg_pool_back(grad_output, shape, *how)
    grad_output: avg_pool2d_nd(grad, *how)
""",
)
