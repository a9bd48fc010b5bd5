"""The passes of layer, group and batch norm over arrays.

Sums of many float32 are sums of partial sums, or numpy's pairwise ones, or of float64, so that what
is lost does not grow with their number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = Any
Wanted = Sequence[bool]
_BLOCK = 256


def _row_sums(x: Array) -> Array:
    """(R, D) to (R)."""
    if x.shape[1] <= _BLOCK and x.dtype.char in "fd":
        return x @ np.ones(x.shape[1], x.dtype)
    return np.add.reduce(x, 1)


def _row_dots(x: Array, y: Array) -> Array:
    """Sums of products: (R, D) and (R, D) to (R)."""
    block = math.gcd(x.shape[1], _BLOCK)
    if x.shape[1] <= _BLOCK:
        return np.einsum("ij,ij->i", x, y)
    if block < 32:
        return np.add.reduce(x * y, 1)
    parts = [a.reshape(len(a), -1, block) for a in (x, y)]
    return np.add.reduce(np.einsum("ijk,ijk->ij", *parts), 1)


def _column_sums(x: Array, y: Array | None = None) -> Array:
    """The sums of x, or of x * y: (R, D) to (D), float64."""
    found = np.zeros(x.shape[1])
    for start in range(0, len(x), _BLOCK):
        part = x[start : start + _BLOCK]
        if y is None:
            found += np.ones(len(part), x.dtype) @ part
        else:
            found += np.einsum("ij,ij->j", part, y[start : start + _BLOCK])
    return found


def _channel_sums(x: Array, y: Array | None = None) -> Array:
    """The sums of x, or of x * y: (N, C, L) to (C), float64."""
    n, channels, size = x.shape
    wide = size > 64  # else rows would be too short
    shape = (n * channels, size) if wide else (n, channels * size)
    each = [x.reshape(shape)] if y is None else [x.reshape(shape), y.reshape(shape)]
    if not wide:
        return _column_sums(*each).reshape(channels, size).sum(1)
    found = _row_sums(*each) if y is None else _row_dots(*each)
    return found.reshape(n, channels).sum(0, dtype=np.float64)


def _as_channels(x: Array) -> Array:
    """(N, C, ...) as (N, C, L)."""
    return x.reshape(x.shape[0], x.shape[1], math.prod(x.shape[2:]))


def _scaled(x: Array, weight: Any, bias: Any) -> Array:
    """`x * weight + bias`, in place."""
    if weight is not None:
        x *= weight
    if bias is not None:
        x += bias
    return x


def _whiten(x: Array, eps: float) -> tuple[Array, Any]:
    """Rows (R, D) with mean 0 and variance 1, their means (R, 1), and by what they are scaled."""
    share = x.dtype.type(1 / (x.shape[1] or 1))
    mean = (_row_sums(x) * share)[:, None]
    hat = x - mean
    scale = 1 / np.sqrt((_row_dots(hat, hat) * share)[:, None] + x.dtype.type(eps))
    hat *= scale
    return hat, (mean, scale)


def _rows_back(grad: Array, hat: Array, scale: Array) -> Array:
    """The gradient of what `_whiten` whitened. Writes to `hat`."""
    share = grad.dtype.type(1 / (grad.shape[1] or 1))
    found = grad - (_row_sums(grad) * share)[:, None]
    hat *= (_row_dots(grad, hat) * share)[:, None]
    found -= hat
    found *= scale
    return found


def layer_norm(x: Array, weight: Any, bias: Any, dims: int, eps: float) -> Any:
    """Normalize over the last `dims` dimensions; returns the result, and means and scales."""
    width = math.prod(x.shape[-dims:])
    hat, work = _whiten(x.reshape(math.prod(x.shape[:-dims]), width), eps)
    return (_scaled(hat.reshape(x.shape), weight, bias),), work


def layer_norm_back(
    work: Any,
    arrays: Sequence[Array],
    grads: Sequence[Array],
    wanted: Wanted,
    dims: int,
    eps: float,
) -> tuple[Any, ...]:
    """Return the gradients of the input, weight and bias, those that are wanted."""
    (x, weight, _), (grad,), (mean, scale) = arrays, grads, work
    shape, width = x.shape[-dims:], math.prod(x.shape[-dims:])
    rows, flat = (a.reshape(math.prod(x.shape[:-dims]), width) for a in (x, grad))
    hat = rows - mean
    hat *= scale
    d_x = d_weight = d_bias = None
    if wanted[1]:
        d_weight = _column_sums(flat, hat).astype(x.dtype).reshape(shape)
    if wanted[2]:
        d_bias = _column_sums(flat).astype(x.dtype).reshape(shape)
    if wanted[0]:
        flat = flat if weight is None else flat * weight.reshape(-1)
        d_x = _rows_back(flat, hat, scale).reshape(x.shape)
    return d_x, d_weight, d_bias


def group_norm(x: Array, weight: Any, bias: Any, groups: int, eps: float) -> Any:
    """Normalize over groups of channels; returns the result, and means and scales."""
    hat, work = _whiten(_in_groups(x, groups), eps)
    hat = _as_channels(hat.reshape(x.shape))
    each = [a if a is None else a[:, None] for a in (weight, bias)]
    return (_scaled(hat, *each).reshape(x.shape),), work


def group_norm_back(
    work: Any, arrays: Sequence[Array], grads: Sequence[Array], wanted: Wanted, groups: int,
    eps: float,
) -> tuple[Any, ...]:  # fmt: skip
    """Return the gradients of the input, weight and bias, those that are wanted."""
    (x, weight, _), (grad,), (mean, scale) = arrays, grads, work
    hat = _in_groups(x, groups) - mean
    hat *= scale
    each, d_x, d_weight, d_bias = _as_channels(grad), None, None, None
    if wanted[1]:
        d_weight = _channel_sums(each, hat.reshape(each.shape)).astype(x.dtype)
    if wanted[2]:
        d_bias = _channel_sums(each).astype(x.dtype)
    if wanted[0]:
        each = each if weight is None else each * weight[:, None]
        d_x = _rows_back(each.reshape(hat.shape), hat, scale).reshape(x.shape)
    return d_x, d_weight, d_bias


def _in_groups(x: Array, groups: int) -> Array:
    return x.reshape(x.shape[0] * groups, math.prod(x.shape[1:]) // groups)


def batch_norm(
    x: Array, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float,
    eps: float,
) -> Any:  # fmt: skip
    """Normalize each channel of (N, C, ...), in training by its own mean and variance.

    Returns the result, and means, variances and scales (C) in float64.
    """
    each = _as_channels(x)
    count = each.shape[0] * each.shape[2]
    if training:
        mean = _channel_sums(each) / count
        hat = each - mean.astype(x.dtype)[:, None]
        var = _channel_sums(hat, hat) / count
    else:
        mean, var = mean.astype("f8"), var.astype("f8")
        hat = each - mean.astype(x.dtype)[:, None]
    scale = 1 / np.sqrt(var + eps)
    factor = scale if weight is None else scale * weight
    hat *= factor.astype(x.dtype)[:, None]
    if bias is not None:
        hat += bias[:, None]
    return (hat.reshape(x.shape),), (mean, var, scale)


def batch_norm_back(
    work: Any, arrays: Sequence[Array], grads: Sequence[Array], wanted: Wanted, training: bool,
    momentum: float, eps: float,
) -> tuple[Any, ...]:  # fmt: skip
    """Return the gradients of the input, weight and bias, and None for running statistics."""
    (x, weight, *_), (grad,), (mean, _, scale) = arrays, grads, work
    each, given, kind = _as_channels(x), _as_channels(grad), x.dtype
    factor = scale if weight is None else scale * weight
    if not (training or wanted[1] or wanted[2]):
        return (given * factor.astype(kind)[:, None]).reshape(x.shape), *[None] * 4
    total, count = _channel_sums(given), each.shape[0] * each.shape[2]
    hat = each - mean.astype(kind)[:, None]
    dots, found = _channel_sums(given, hat), None
    if wanted[0] and training:
        hat *= (dots * scale * scale / -count).astype(kind)[:, None]
        hat += given
        hat -= (total / count).astype(kind)[:, None]
        hat *= factor.astype(kind)[:, None]
        found = hat.reshape(x.shape)
    elif wanted[0]:
        found = (given * factor.astype(kind)[:, None]).reshape(x.shape)
    return found, (dots * scale).astype(kind), total.astype(kind), None, None
