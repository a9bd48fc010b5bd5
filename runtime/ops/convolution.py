"""Convolution and pooling over one, two or three dimensions.

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

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap
from .make import declare, in_layout_of, laid_as

Ints = tuple[int, ...]


def _lengths(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """How many windows fit along each dimension."""
    each = zip(size, kernel, stride, padding, dilation, strict=True)
    found = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in each)
    if min(found) < 1:
        raise ValueError(f"Kernel size {kernel} can't be greater than actual input size {size}")
    return found


def _padded(x: Any, padding: Ints, value: float = 0, more: Ints = (0, 0, 0)) -> Any:
    """Padded on both sides, and `more` behind."""
    if not any(padding) and not any(more):
        return x
    found, inner = _wide(x.shape, padding, x, more, value)
    inner[...] = x
    return found


def _columns(
    x: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int,
    out: Any = None, last: bool = False,
) -> Any:  # fmt: skip
    """im2col of all windows or of the first `out`: (N, groups, C / groups * kernel, windows).

    With the batch `last` it is (groups, C / groups * kernel, windows * N).
    """
    out = out or _lengths(x.shape[2:], kernel, stride, padding, dilation)
    if last:
        wide, inner = _wide(x.shape, padding, x, last=True)
        inner[...] = x
    else:
        wide = _padded(x, padding)
    n, *steps = wide.strides
    strides = [*steps[:1], *(a * d for a, d in zip(steps[1:], dilation, strict=True))]
    strides += [a * s for a, s in zip(steps[1:], stride, strict=True)]
    shape, rows = (x.shape[1], *kernel, *out), x.shape[1] // groups * math.prod(kernel)
    if last:
        windows = as_strided(wide, (*shape, len(x)), (*strides, n))
        return windows.reshape(groups, rows, len(x) * math.prod(out))
    windows = as_strided(wide, (len(x), *shape), (n, *strides))
    return windows.reshape(len(x), groups, rows, math.prod(out))


def _is_last(batch: int, weight: Ints, out: Ints) -> bool:
    """Whether products are of the whole batch at once, with the batch behind the windows.

    Columns are then copied in longer runs, for which inputs and outputs have to be turned. By
    measurement that pays where there are at most 14 x 14 windows, and few filters, or few outputs,
    beside what each window multiplies and adds.
    """
    filters, each, windows = weight[0], math.prod(weight[1:]), math.prod(out)
    fits = batch >= 8 and math.prod(weight[2:]) > 1 and windows <= 200
    return fits and (4 * filters <= each or filters * windows <= 12 * each)


def _batch_first(found: Any) -> Any:
    return found.transpose(-1, *range(found.ndim - 1))


def _by_groups(g: Any, groups: int, last: bool) -> Any:
    """An output (N, O, ...) as (N, groups, O / groups, windows), or with the batch `last`."""
    n, many, *out = g.shape
    if last:
        turned = np.ascontiguousarray(g.transpose(*range(1, g.ndim), 0))
        return turned.reshape(groups, many // groups, n * math.prod(out))
    return g.reshape(n, groups, many // groups, math.prod(out))


def _parts(kernel: Ints, out: Ints, stride: Ints, dilation: Ints) -> list[tuple[Any, ...]]:
    """For each place in the kernel, the elements of the padded input that it meets."""
    ends = [s * (o - 1) + 1 for s, o in zip(stride, out, strict=True)]
    each = zip(kernel, dilation, stride, ends, strict=True)
    met = [[slice(i * d, i * d + end, s) for i in range(k)] for k, d, s, end in each]
    return [(..., *place) for place in itertools.product(*met)]


def _wide(
    shape: Ints, padding: Ints, like: Any, more: Ints = (0, 0, 0), value: Any = 0,
    last: bool = False,
) -> Any:  # fmt: skip
    """An array of `shape`, padded and `more` behind, and the part of it that is in neither.

    It is full of `value`. With `last` the batch is its last dimension in memory.
    """
    each = list(zip(shape[2:], padding, more, strict=False))
    size = (shape[1], *(n + 2 * p + m for n, p, m in each))
    laid = (*size, shape[0]) if last else (shape[0], *size)
    found = np.full(laid, value, like.dtype) if value else np.zeros(laid, like.dtype)
    found = _batch_first(found) if last else found
    place: Any = (..., *(slice(p, p + n) for n, p, _ in each))
    return found, found[place]


def _conv(x: Any, w: Any, bias: Any, *how: Any) -> Any:
    groups = how[-1]
    if x.ndim != w.ndim or x.shape[1] != w.shape[1] * groups or w.shape[0] % groups:
        raise ValueError(f"a weight {w.shape} in {groups} groups does not fit an input {x.shape}")
    for what, t in (("weight", w), ("bias", bias)):
        if t is not None and x.dtype != t.dtype:
            raise ValueError(f"Input type ({x.dtype}) and {what} type should be the same")
    out = _lengths(x.shape[2:], w.shape[2:], *how[:3])
    last = _is_last(len(x), w.shape, out)
    where: Any = (*how, out, last)
    found = w.reshape(groups, w.shape[0] // groups, -1) @ _columns(x, w.shape[2:], *where)
    if last:
        found = np.ascontiguousarray(_batch_first(found.reshape(w.shape[0], *out, len(x))))
    found = found.reshape(len(x), w.shape[0], *out)
    if bias is not None:
        found += bias.reshape(-1, *(1,) * len(out))
    return laid_as(found, x, w)


def _conv_input(g: Any, w: Any, shape: Ints, *how: Any) -> Any:
    stride, padding, dilation, groups = how
    n, out, kernel = g.shape[0], g.shape[2:], w.shape[2:]
    per_group, last = w.reshape(groups, w.shape[0] // groups, -1), _is_last(n, w.shape, out)
    columns = per_group.swapaxes(1, 2) @ _by_groups(g, groups, last)
    size = (groups * w.shape[1], math.prod(kernel), *out)
    columns = _batch_first(columns.reshape(*size, n)) if last else columns.reshape(n, *size)
    wide, inner = _wide(shape, padding, g, last=last)
    for k, part in enumerate(_parts(kernel, out, stride, dilation)):
        wide[part] += columns[:, :, k]
    return laid_as(np.ascontiguousarray(inner), g, w)


def _conv_weight(g: Any, x: Any, shape: Ints, *how: Any) -> Any:
    last = _is_last(len(g), shape, g.shape[2:])
    where: Any = (*how, g.shape[2:], last)
    found = _by_groups(g, how[-1], last) @ _columns(x, shape[2:], *where).swapaxes(-1, -2)
    return (found if last else found.sum(0)).reshape(shape)


def _first(x: Tensor, shape: Ints) -> Tensor:
    """The first windows, where output padding made room for more."""
    for d in range(2, len(shape)):
        x = x if x.array.shape[d] == shape[d] else x.narrow(d, 0, shape[d])
    return x


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
    none = (0,) * len(size)
    more = _beyond(size, kernel, stride, padding, dilation) if ceil else none
    if x.dtype.kind in "bc":
        raise ValueError(f"max_pool is not implemented for {x.dtype}")
    if kernel == stride and set(dilation) == {1} and not any(padding) and not any(more):
        return _max_of_blocks(x, kernel)
    lowest = -np.inf if x.dtype.kind in "fV" else np.iinfo(x.dtype).min
    where = np.arange(math.prod(size)).reshape(1, 1, *size)
    x, where = _padded(x, padding, lowest, more), _padded(where, padding, 0, more)
    out = _lengths(x.shape[2:], kernel, stride, none, dilation)
    first, *rest = _parts(kernel, out, stride, dilation)
    best, index = x[first].copy(), np.zeros((), int)
    for n, o, s, p, d in zip(size, out, stride, padding, dilation, strict=True):
        begin = np.arange(o) * s - p  # each window's first element that is not padding
        index = index[..., None] * n + begin + d * -(np.minimum(begin, 0) // d)
    index = np.broadcast_to(index, best.shape).copy()
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
    if x.dtype.kind in "fV" and np.isnan(best).any():
        for k, part in enumerate(parts):  # the last NaN
            np.copyto(which, k, where=np.isnan(x[part]))
    where = np.arange(math.prod(size)).reshape(size)
    offsets = np.array([where[part].flat[0] for part in parts])
    return best, np.take(offsets, which) + where[parts[0]]


def _max_pool_back(grad: Any, indices: Any, shape: Ints, *how: Any) -> Any:
    """Each element's sum of the gradients of the windows in which it was the largest."""
    kernel, stride, _, dilation, _ = how
    planes, size = math.prod(shape[:2]), math.prod(shape[2:])
    within = indices.reshape(planes, math.prod(indices.shape[2:]))
    place = (within + np.arange(planes)[:, None] * size).reshape(-1)
    if set(dilation) == {1} and all(s >= k for s, k in zip(stride, kernel, strict=True)):
        found = np.zeros(planes * size, grad.dtype)
        found[place] = grad.reshape(-1)  # no two windows meet
    else:
        found = np.bincount(place, grad.reshape(-1), planes * size).astype(grad.dtype)
    return found.reshape(shape)


def _averaged(
    size: Ints, kernel: Ints, stride: Ints, padding: Ints, more: Ints, inside: bool, divisor: Any
) -> Any:
    """The parts that windows average, and how many elements that is (each, or for all).

    Args:
        more: how far windows reach over the padding behind, which never counts.
        inside: padding does not count either.
    """
    none, ones = (0,) * len(kernel), (1,) * len(kernel)
    whole = tuple(n + 2 * p + m for n, p, m in zip(size, padding, more, strict=True))
    parts = _parts(kernel, _lengths(whole, kernel, stride, none, ones), stride, ones)
    if divisor or not (any(more) or (inside and any(padding))):
        return parts, divisor or math.prod(kernel)
    full = _padded(np.ones((1, 1, *size)), padding, 0 if inside else 1)
    full = _padded(full, none, 0, more)
    return parts, sum(full[p] for p in parts)


def _avg_pool(x: Any, *how: Any) -> Any:
    parts, count = _averaged(x.shape[2:], *how)
    wide = _padded(x, how[2], 0, how[3])
    total: Any = sum(wide[p] for p in parts)
    if x.dtype.kind in "iu":
        return np.trunc(total / count).astype(x.dtype)
    return laid_as(np.ascontiguousarray(total * np.asarray(1 / count, x.dtype)), x)


def _avg_pool_back(g: Any, shape: Ints, *how: Any) -> Any:
    parts, count = _averaged(shape[2:], *how)
    wide, inner = _wide(shape, how[2], g, how[3])
    g = g * np.asarray(1 / count, g.dtype)
    for part in parts:
        wide[part] += g
    return np.ascontiguousarray(inner)


def _spread(x: Any, n: int) -> Ints:
    """One number for all dimensions, or one each."""
    return (int(x),) * n if hasattr(x, "__index__") else tuple(x) * (n if len(x) == 1 else 1)


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
    check(min(stride) > 0 and min(dilation) > 0, "stride and dilation should be greater than zero")
    if padding == "same":
        check(w.array.ndim == n + 2, f"weight should have {n + 2} dimensions, not {w.array.ndim}")
        check(max(stride) <= 1, "padding='same' is not supported for strided convolutions")
        both = [d * (k - 1) for d, k in zip(dilation, w.array.shape[2:], strict=True)]
        odd = [p for b in reversed(both) for p in (0, b % 2)]
        x = aten.constant_pad_nd(x, odd) if any(odd) else x
        padding = [b // 2 for b in both]
    padding = _spread(0 if padding == "valid" else padding, n)
    return _batched(aten.convolution, n, x, w, bias, stride, padding, dilation, how[2])


def _windows(n: int, x: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """Kernel, stride, padding and dilation of pooling: one each a dimension."""
    none = stride is None or (not isinstance(stride, (int, np.integer)) and not stride)
    given = kernel, kernel if none else stride, padding, dilation
    places = [_spread(value, n) for value in given]
    positive = min(places[0]) > 0 and min(places[1]) > 0 and min(places[3]) > 0
    check(positive, "kernel size, stride and dilation should be greater than zero")
    if any(places[2]):
        each = zip(places[0], places[2], places[3], strict=True)
        half = all(0 <= 2 * p <= d * (k - 1) + 1 for k, p, d in each)
        check(half, "pad should be non-negative, and at most half of effective kernel size")
    check(0 not in x.array.shape[-n - 1 :], "Expected a tensor that is empty in its batch alone")
    return places


def _max_pooled(n: int, x: Tensor, kernel: Any, stride: Any, *how: Any) -> Any:
    places = _windows(n, x, kernel, stride, *how[:2])
    found = _batched(aten.max_pool2d_with_indices, n, x, *places, how[2])
    if not x.array.flags.c_contiguous:
        found = tuple(in_layout_of(x, y) for y in found)
    return found if how[3] else found[0]


def _avg_pooled(n: int, x: Tensor, kernel: Any, stride: Any, pad: Any, *how: Any) -> Any:
    ceil, padded, divisor = how
    check(divisor != 0, "divisor must be not zero")
    places = _windows(n, x, kernel, stride, pad, 1)
    more = _beyond(x.array.shape[-n:], *places) if ceil else (0,) * n
    found = _batched(aten.avg_pool2d_nd, n, x, *places[:3], more, not padded, divisor)
    kept = found.array.flags.c_contiguous or (n == 2 and x.array.ndim == 4)
    return found if kept else found.contiguous()  # in PyTorch only batches of images stay so


def _adaptive(n: int, x: Tensor, output_size: Any) -> Tensor:
    """The means of `output_size` bins along each dimension."""
    given, sizes = x, _spread(output_size, n)
    check(x.array.ndim >= n + 1, f"Input dimension should be at least {n + 1}", ValueError)
    check(len(sizes) == n, f"output_size must have {n} numbers, not {sizes}")
    check(min(s or 0 for s in sizes) >= 0, "elements of output_size must not be negative")
    for d, out in zip(range(-n, 0), sizes, strict=True):
        size, i = x.array.shape[d], np.arange(out or 0)
        if out == 1:
            x = x.mean(d, keepdim=True)
        elif out is not None:
            place = np.arange(size)[:, None]
            inside = (place >= i * size // out) & (place < -((i + 1) * size // -out))
            bins = wrap((inside / inside.sum(0)).astype(x.array.dtype))
            x = (x.movedim(d, -1) @ bins).movedim(-1, d) if d != -1 else x @ bins
    return in_layout_of(given, x.contiguous()) if n == 2 else x.contiguous()


_WINDOWS = """
conv{n}d(self, weight, bias = None, stride = 1, padding = 0, dilation = 1, groups: int = 1)
    := _convolve({n}, self, weight, bias, padding, stride, dilation, groups)
max_pool{n}d(self, kernel_size, stride = None, padding = 0, dilation = 1, ceil_mode: bool = False,
    return_indices: bool = False)
    := _max_pooled({n}, self, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
avg_pool{n}d(self, kernel_size, stride = None, padding = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override = None)
    := _avg_pooled({n}, self, kernel_size, stride, padding, ceil_mode, count_include_pad,
    divisor_override)
adaptive_avg_pool{n}d(self, output_size)
    := _adaptive({n}, self, output_size)"""
_ROWS = r"""
[wide]
convolution(self, weight, bias: number, *how: any) = _conv(self, weight, bias, *how)
    self: convolution_backward_input(grad, conj(weight), self_shape, *how)
        || _conv_input(grad, conj(weight), self_shape, *how)
    weight: convolution_backward_weight(grad, conj(self), weight_shape, *how)
        || _conv_weight(grad, conj(self), weight_shape, *how)
    bias: sum(grad, (0, *range(2, grad.ndim))) || grad.sum((0, *range(2, grad.ndim)))
convolution_backward.input(grad_output, weight, shape: any, *how: any)
    = _conv_input(grad_output, weight, shape, *how)
    grad_output: _first(convolution(grad, conj(weight), None, *how), grad_output_shape)
    weight: convolution_backward_weight(conj(grad_output), grad, weight_shape, *how)
[wide contiguous]
convolution_backward.weight(grad_output, self, shape: any, *how: any)
    = _conv_weight(grad_output, self, shape, *how)
    grad_output: _first(convolution(conj(self), grad, None, *how), grad_output_shape)
    self: convolution_backward_input(conj(grad_output), grad, self_shape, *how)
[]
max_pool2d_with_indices(self, *how: any) -> (values, indices) = _max_pool(self, *how)
    self: max_pool2d_with_indices_backward(grads[0], indices, self_shape, *how)
[wide]
max_pool2d_with_indices_backward(grad_output, indices, shape: any, *how: any)
    = _max_pool_back(grad_output, indices, shape, *how)
    grad_output: reshape(gather(flatten(grad, 2), 2, flatten(indices, 2)), indices_shape)
avg_pool2d.nd(self, *how: any) = _avg_pool(self, *how)
    self: avg_pool2d_backward(grad, self_shape, *how) || _avg_pool_back(grad, self_shape, *how)
[wide contiguous]
avg_pool2d_backward(grad_output, shape: any, *how: any) = _avg_pool_back(grad_output, shape, *how)
    grad_output: avg_pool2d_nd(grad, *how)
"""
declare(globals(), "[torch nn]" + "".join(_WINDOWS.format(n=n) for n in (1, 2, 3)) + _ROWS)
