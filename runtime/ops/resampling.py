"""Transposed convolution, padding by what is there, images of another size or between pixels.

Source: torch/nn/functional.py, aten/src/ATen/native/NaiveConvolutionTranspose2d.cpp, UpSample.h,
GridSampler.cpp.
"""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap
from .convolution import _batched, _spread
from .make import declare, in_layout_of

_UNTOLD = "Default {}behavior has changed to align_corners=False since 1.3.0."


def _transposed(n: int, x: Tensor, w: Tensor, bias: Any, *how: Any) -> Any:
    stride, padding, more, dilation = (_spread(value, n) for value in (*how[:3], how[4]))
    wanted = "output padding must be smaller than either stride or dilation"
    check(all(o < max(s, d) for o, s, d in zip(more, stride, dilation, strict=True)), wanted)
    return _batched(_transposed_batch, n, x, w, bias, stride, padding, more, how[3], dilation)


def _transposed_batch(x: Tensor, w: Tensor, bias: Any, *how: Any) -> Tensor:
    stride, padding, _, groups, dilation = how
    told = f"expected input to have {w.array.shape[0]} channels, got {list(x.array.shape)}"
    check(x.array.shape[1] == w.array.shape[0], told)
    each = zip(x.array.shape[2:], w.array.shape[2:], *how[:3], dilation, strict=True)
    size = [(i - 1) * s - 2 * p + d * (k - 1) + o + 1 for i, k, s, p, o, d in each]
    shape = (x.array.shape[0], w.array.shape[1] * groups, *size)
    found = aten.convolution_backward_input(x, w, shape, stride, padding, dilation, groups)
    return found if bias is None else found + bias.reshape((1, -1, *(1,) * len(size)))


_PLACES: dict[str, Any] = {  # which element stands at a place before, in, or behind a tensor
    "reflect": lambda at, size: size - 1 - np.abs(size - 1 - np.abs(at)),
    "replicate": lambda at, size: np.clip(at, 0, size - 1),
    "circular": lambda at, size: at % size,
}


def padded_by(x: Tensor, pad: Any, mode: str) -> Tensor:
    """Padded by what is in the tensor: its edge, or what is beside it."""
    check(mode in _PLACES, f"Unrecognised padding mode {mode}", NotImplementedError)
    at = _PLACES[mode]
    pairs, ndim = list(zip(pad[::2], pad[1::2], strict=True)), x.array.ndim
    told = f"padding {list(pad)} with mode {mode!r} does not fit {ndim} dimensions"
    check(ndim - len(pairs) in (1, 2), told, NotImplementedError)
    for number, (before, after) in enumerate(pairs, 1):
        size = x.array.shape[-number]
        most = size - 1 if mode == "reflect" else size if mode == "circular" else math.inf
        check(max(before, after) <= most, f"Padding size should be at most {most}: {before, after}")
        place, cut = np.arange(-before, size + after), 0
        if mode == "circular":  # by what is left of a tensor that negative padding cuts
            cut = max(0, -before)
            size -= cut + max(0, -after)
        x = x.index_select(ndim - number, wrap(at(place - cut, size) + cut))
    return x


def _shuffled(x: Tensor, r: int, up: bool) -> Tensor:
    *lead, c, h, w = x.array.shape
    n = len(lead)
    if up:
        check(c % (r * r) == 0, "pixel_shuffle expects channels that the factor squared divides")
        parts = x.reshape(*lead, c // r**2, r, r, h, w)
        order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
        return parts.permute(order).reshape(*lead, c // r**2, h * r, w * r)
    check(h % r == w % r == 0, "pixel_unshuffle expects sizes that the factor divides")
    parts = x.reshape(*lead, c, h // r, r, w // r, r)
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return parts.permute(order).reshape(*lead, c * r * r, h // r, w // r)


def _interpolated(
    x: Tensor, size: Any, scale: Any, mode: str, corners: Any, keep: Any, smooth: bool
) -> Tensor:
    check(not smooth, "interpolate: antialias is not supported here", NotImplementedError)
    n = x.array.ndim - 2
    check((size is None) != (scale is None), "only one of size or scale_factor", ValueError)
    check(0 < n < 4, "Only 3D, 4D and 5D input Tensors supported", NotImplementedError)
    have = x.array.shape[2:]
    if scale is None:
        factors, sizes = None, _spread(size, n)
    else:
        factors = tuple(scale) if isinstance(scale, (tuple, list)) else (float(scale),) * n
        sizes = tuple(math.floor(h * f) for h, f in zip(have, factors, strict=True))
    linear = {1: "linear", 2: "bilinear", 3: "trilinear"}.get(n)
    cubic = "bicubic" if n == 2 else None
    known = mode in ("nearest", "nearest-exact", "area", linear, cubic)
    check(known, f"interpolate: mode {mode!r} is not supported here", NotImplementedError)
    fits = corners is None or mode in (linear, cubic)
    check(fits, f"align_corners cannot be set with mode {mode}", ValueError)
    if mode == "area":
        found: Tensor = getattr(aten, f"adaptive_avg_pool{n}d")(x, sizes)
        return found
    given = x
    if x.array.dtype == np.uint8 and mode in (linear, cubic):
        x = x.to(np.dtype("f4"))
    for d in range(n):
        ratio = have[d] / sizes[d] if factors is None or keep else 1 / factors[d]
        places = np.arange(sizes[d])
        if mode not in (linear, cubic):
            offset = 0.5 if mode == "nearest-exact" else 0.0
            index = np.minimum(((places + offset) * ratio).astype(np.int64), have[d] - 1)
            x = x.index_select(d + 2, wrap(index))
            continue
        if corners:
            at = places * ((have[d] - 1) / max(sizes[d] - 1, 1))
        else:
            at = (places + 0.5) * ratio - 0.5
            at = at if mode == cubic else np.maximum(at, 0)
        low = np.floor(at).astype(np.int64)
        weights, ones = _weights(at - low, mode == cubic), (1,) * (n - 1 - d)
        first, whole = low - (len(weights) // 2 - 1), x
        for tap, weight in enumerate(weights):
            index = np.clip(first + tap, 0, have[d] - 1)
            share = wrap(weight.astype(x.array.dtype).reshape(-1, *ones))
            each = whole.index_select(d + 2, wrap(index)) * share
            x = x + each if tap else each
    if x.array.dtype != given.array.dtype:
        x = x.round().clamp(0, 255).to(np.dtype("u1"))
    return x if given.array.flags.c_contiguous else in_layout_of(given, x)


def _weights(t: Any, cubic: bool) -> list[Any]:
    """The weights of the elements around a place that lies `t` behind one of them."""
    if not cubic:
        return [1 - t, t]
    a = -0.75
    near = [((a + 2) * s - (a + 3)) * s * s + 1 for s in (t, 1 - t)]
    far = [((a * s - 5 * a) * s + 8 * a) * s - 4 * a for s in (t + 1, 2 - t)]
    return [far[0], near[0], near[1], far[1]]


def _instance_norm(
    x: Tensor, mean: Any, var: Any, weight: Any, bias: Any, learns: bool, *how: float
) -> Tensor:
    told = f"Expected more than 1 spatial element when training, got input size {x.shape}"
    check(not learns or math.prod(x.array.shape[2:]) > 1, told, ValueError)
    batch, channels, *rest = x.array.shape
    running, each = (mean, var), (mean, var, weight, bias)
    wide: list[Any] = [t if t is None else t.repeat(batch) for t in each]
    found = aten.batch_norm(x.reshape((1, batch * channels, *rest)), *wide, learns, *how)
    for held, moved in zip(running, wide, strict=False) if learns else ():
        if held is not None:
            held.copy_(moved.detach().reshape((batch, channels)).mean(0))
    return found.reshape(x.array.shape)


def _by_channel(x: Tensor, p: float, training: bool, n: int) -> Tensor:
    check(0 <= p <= 1, f"dropout probability has to be between 0 and 1, but got {p}", ValueError)
    dims, told = x.array.ndim, f"dropout{n}d: received a {x.array.ndim}-D input"
    check(n > 1 or dims in (2, 3), told)
    if dims not in (n + 1, n + 2):
        warnings.warn(f"{told}, which is deprecated. Use dropout instead.", stacklevel=5)
    if n == 2 and dims == 3:
        warnings.warn(f"{told}, and takes its sizes for (N, C, L)", stacklevel=5)
    alone = n != 2 and dims != n + 2  # channels without a batch
    return x * _channels_kept(x, p, 1 if alone else 2) if training and p else x


def _channels_kept(x: Tensor, p: float, apart: int) -> Tensor:
    """A mask that is dropped out, in which the first `apart` dimensions have their own chances."""
    told = "Feature dropout requires at least 2 dimensions in the input"
    check(x.array.ndim >= min(apart, 2) or p == 1, told)
    shape = (n if d < apart else 1 for d, n in enumerate(x.array.shape))
    return aten.dropout(aten.ones(*shape, dtype=x.array.dtype), p)


def _older(x: Tensor, size: Any, scale: Any, mode: str, corners: Any) -> Tensor:
    told = "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead."
    warnings.warn(told, stacklevel=5)
    return _interpolated(x, size, scale, mode, corners, None, False)


def _spaced(length: int, kind: Any, corners: Any) -> Any:
    """From -1 to 1, to the last bit as PyTorch does: where pixels are met exactly it decides."""
    if length < 2:
        return np.zeros(1, kind)
    half = np.arange((length + 1) // 2) * kind(2 / (length - 1))
    found = np.concatenate([half[: length // 2] - 1, (1 - half)[::-1]]).astype(kind)
    return found if corners else found * kind(length - 1) / kind(length)


def _affine(theta: Tensor, size: Any, corners: Any) -> Tensor:
    if corners is None:
        warnings.warn(_UNTOLD.format("grid_sample and affine_grid "), stacklevel=5)
    n = len(size) - 2
    fits = n in (2, 3) and theta.array.shape == (size[0], n, n + 1)
    told = f"Expected a batch of {n}D affine matrices for size {size}, got {theta.shape}"
    check(fits, told, ValueError)
    each = [_spaced(length, theta.array.dtype.type, corners) for length in size[:1:-1]]
    places = np.stack([*np.meshgrid(*each[::-1], indexing="ij")[::-1], np.ones(size[2:])], -1)
    flat = wrap(places.reshape(1, -1, n + 1).astype(theta.array.dtype))
    return (flat @ theta.transpose(1, 2)).reshape((size[0], *size[2:], n))


def _reflected(at: Any, low: float, span: float) -> Any:
    """Thrown back at `low` and at `low + span`."""
    if not span:
        return at * 0
    away = (at - low).abs()
    turns = np.floor(away.array / span)
    away = away - wrap((turns * span).astype(at.array.dtype))
    return aten.where(wrap(turns % 2 == 0), away + low, span + low - away)


def _pixels(at: Any, size: int, border: str, corners: Any) -> Any:
    """From [-1, 1] to numbers of pixels."""
    at = (at + 1) * ((size - 1) / 2) if corners else (at + 1) * (size / 2) - 0.5
    if border == "reflection":
        at = _reflected(at, *((0.0, size - 1.0) if corners else (-0.5, float(size))))
    return at if border == "zeros" else at.clamp(0, size - 1)


def _read(x: Tensor, places: list[Any]) -> Tensor:
    """The pixels (N, C, *grid) at places (N, *grid) for each dimension; zeros outside."""
    have = x.array.shape[2:]
    inside = np.logical_and.reduce([(p >= 0) & (p < s) for p, s in zip(places, have, strict=True)])
    flat = np.ravel_multi_index(
        [np.clip(p, 0, s - 1).astype(np.int64) for p, s in zip(places, have, strict=True)], have
    )
    index = np.broadcast_to(flat.reshape(len(flat), 1, -1), (*x.array.shape[:2], flat[0].size))
    found = (
        x.flatten(2).gather(2, wrap(index.copy())).reshape((*x.array.shape[:2], *flat.shape[1:]))
    )
    return found if inside.all() else found * wrap(inside[:, None].astype(x.array.dtype))


def _sampled(x: Tensor, grid: Tensor, mode: str, border: str, corners: Any) -> Tensor:
    if corners is None:
        warnings.warn(_UNTOLD.format("grid_sample and affine_grid "), stacklevel=5)
    n = x.array.ndim - 2
    check(mode in {"bilinear", "nearest"}, f"grid_sample: mode {mode!r} is not supported here",
          ValueError if mode != "bicubic" else NotImplementedError)  # fmt: skip
    known = border in {"zeros", "border", "reflection"}
    check(known, f"padding_mode {border!r} is not zeros, border or reflection", ValueError)
    fits = grid.array.ndim == n + 2 and grid.array.shape[0] == x.array.shape[0]
    check(fits and grid.array.shape[-1] == n in (2, 3), f"{grid.shape} is no grid for {x.shape}")
    each = [
        _pixels(at, size, border, corners)
        for at, size in zip(grid.unbind(-1)[::-1], x.array.shape[2:], strict=True)
    ]
    if mode == "nearest":
        return _read(x, [np.rint(at.array) for at in each])
    low = [np.floor(at.array) for at in each]
    found: Any = 0
    for corner in itertools.product((0, 1), repeat=n):
        near = (
            at - wrap(below) if up else wrap(below + 1) - at
            for at, below, up in zip(each, low, corner, strict=True)
        )
        pixels = _read(x, [below + up for below, up in zip(low, corner, strict=True)])
        found = pixels * math.prod(near).unsqueeze(1) + found
    return found


_TRANSPOSED = """
conv_transpose{n}d(self, weight, bias = None, stride = 1, padding = 0, output_padding = 0,
    groups: int = 1, dilation = 1)
    := _transposed({n}, self, weight, bias, stride, padding, output_padding, groups, dilation)"""
_ROWS = r"""
[torch nn]
pixel_shuffle(self, upscale_factor: int) := _shuffled(self, upscale_factor, True)
pixel_unshuffle(self, downscale_factor: int) := _shuffled(self, downscale_factor, False)
[nn]
affine_grid(theta, size, align_corners = None) := _affine(theta, size, align_corners)
grid_sample(self, grid, mode: str = "bilinear", padding_mode: str = "zeros", align_corners = None)
    := _sampled(self, grid, mode, padding_mode, align_corners)
interpolate(self, size = None, scale_factor = None, mode: str = "nearest", align_corners = None,
    recompute_scale_factor = None, antialias: bool = False)
    := _interpolated(self, size, scale_factor, mode, align_corners, recompute_scale_factor,
    antialias)
upsample(self, size = None, scale_factor = None, mode: str = "nearest", align_corners = None)
    := _older(self, size, scale_factor, mode, align_corners)
instance_norm(self, running_mean = None, running_var = None, weight = None, bias = None,
    use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5)
    := _instance_norm(self, running_mean, running_var, weight, bias, use_input_stats, momentum,
    eps)
[nn inplace]
dropout1d(self, p: float = 0.5, training: bool = True) := _by_channel(self, p, training, 1)
dropout2d(self, p: float = 0.5, training: bool = True) := _by_channel(self, p, training, 2)
dropout3d(self, p: float = 0.5, training: bool = True) := _by_channel(self, p, training, 3)
"""
declare(globals(), "[torch nn]" + "".join(_TRANSPOSED.format(n=n) for n in (1, 2, 3)) + _ROWS)
