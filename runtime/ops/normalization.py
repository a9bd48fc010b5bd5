"""Normalization and attention.

Source: torch/nn/functional.py, aten/src/ATen/native/layer_norm.cpp, Normalization.cpp,
transformers/attention.cpp.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.aten import aten
from ..core.dtypes import finfo
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap
from . import flash_attention
from .fused_operator import FusedOperator
from .make import composite, declare, dimension
from .norm_passes import (
    batch_norm,
    batch_norm_back,
    group_norm,
    group_norm_back,
    layer_norm,
    layer_norm_back,
)

Ints = tuple[int, ...]


def _whitened(x: Tensor, dims: Ints, eps: float) -> Any:
    """With mean 0 and variance 1."""
    hat = x - x.mean(dims, True)
    return hat * ((hat * hat).mean(dims, True) + eps) ** -0.5


def _last(x: Tensor, shape: Any) -> Ints:
    """The dimensions at the end that have `shape`."""
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if x.array.shape[-len(shape) :] != shape:
        raise RuntimeError(f"normalized_shape={list(shape)} is not how {x.shape} ends")
    return tuple(range(x.array.ndim - len(shape), x.array.ndim))


def _layer_norm(x: Tensor, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    dims = len(_last(x, shape))
    _of_shape(x.array.shape[-dims:], weight=weight, bias=bias)
    return native_layer_norm(x, weight, bias, dims, eps)


def _of_shape(shape: Ints, **given: Any) -> None:
    """They scale and move the result; they are not broadcast."""
    for name, t in given.items():
        if t is not None and t.array.shape != shape:
            found = list(t.array.shape)
            raise RuntimeError(f"Expected {name} to be of shape {list(shape)}, but got {found}")


def _rms_norm(x: Tensor, dims: Ints, weight: Any, eps: float | None) -> Any:
    _of_shape(x.array.shape[x.array.ndim - len(dims) :], weight=weight)
    wide = _wide(x)
    eps = float(finfo(wide.array.dtype).eps) if eps is None else eps
    wide = wide if wide.array.flags.c_contiguous else wide.contiguous()
    return _affine(wide * ((wide * wide).mean(dims, True) + eps).rsqrt(), weight).to(x.array.dtype)


def _wide(x: Tensor) -> Tensor:
    """16-bit floats as float32."""
    return x.to(np.dtype("f4")) if x.array.dtype.kind in "fV" and x.array.itemsize == 2 else x


def _channels(x: Any, like: Tensor) -> Any:
    """(C) as (1, C, 1...)."""
    shape = (1, -1, *(1,) * (like.array.ndim - 2)) if like.array.ndim > 1 else (-1,)
    return x if x is None else aten.reshape(x, shape)


def _affine(x: Any, weight: Any, bias: Any = None) -> Any:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _layer_by_steps(x: Tensor, weight: Any, bias: Any, dims: int, eps: float) -> Any:
    return _affine(_whitened(x, tuple(range(-dims, 0)), eps), weight, bias)


def _group_by_steps(x: Tensor, weight: Any, bias: Any, groups: int, eps: float) -> Any:
    rows = aten.reshape(x, (x.array.shape[0], groups, math.prod(x.array.shape[1:]) // groups))
    hat = _whitened(rows, (2,), eps).reshape(x.array.shape)
    return _affine(hat, _channels(weight, x), _channels(bias, x))


def _batch_by_steps(
    x: Tensor, weight: Any, bias: Any, mean: Any, var: Any, training: bool, _: float, eps: float
) -> Any:
    if training:
        hat = _whitened(x, (0, *range(2, x.array.ndim)), eps)
    else:
        hat = (x - _channels(mean.detach(), x)) * _channels((var.detach() + eps).rsqrt(), x)
    return _affine(hat, _channels(weight, x), _channels(bias, x))


def _move_running(
    work: Any, x: Tensor, _w: Any, _b: Any, mean: Any, var: Any, training: bool, momentum: float,
    _e: float,
) -> None:  # fmt: skip
    """Move the running statistics towards those of the batch, which is no change to backward."""
    if not training or mean is None or var is None:
        return
    count = x.array.size // x.array.shape[1]
    for running, now in ((mean, work[0]), (var, work[1] * (count / (count - 1)))):
        running.array[...] = (1 - momentum) * running.array + momentum * now


native_layer_norm = FusedOperator(
    "native_layer_norm", 3, layer_norm, layer_norm_back, _layer_by_steps, unsaved=[2]
)
native_group_norm = FusedOperator(
    "native_group_norm", 3, group_norm, group_norm_back, _group_by_steps, unsaved=[2],
    keeps_format=True,
)  # fmt: skip
native_batch_norm = FusedOperator(
    "native_batch_norm", 5, batch_norm, batch_norm_back, _batch_by_steps, after=_move_running,
    unsaved=[2], keeps_format=True,
)  # fmt: skip


@composite()
def _batch_norm_impl_index(*args: Any) -> Any:
    return native_batch_norm(*args)


def _batch_norm(
    x: Tensor, mean: Any, var: Any, weight: Any, bias: Any, training: bool, momentum: float,
    eps: float,
) -> Any:  # fmt: skip
    if not x.array.size:
        return _affine(x * 1, _channels(weight, x), _channels(bias, x))
    channels = x.array.shape[1] if x.array.ndim > 1 else 0
    given = {"running_mean": mean, "running_var": var, "weight": weight, "bias": bias}
    for name, t in given.items():
        n = channels if t is None else t.array.size
        check(n == channels, f"{name} should contain {channels} elements not {n}")
    if training and x.array.size == channels:
        raise ValueError(f"Expected more than 1 value per channel when training, got {x.shape}")
    if not training and (mean is None or var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined in evaluation")
    dimension(1, x.array.ndim)
    return aten._batch_norm_impl_index(x, weight, bias, mean, var, training, momentum, eps)


def _group_norm(x: Tensor, groups: int, weight: Any, bias: Any, eps: float) -> Any:
    if x.array.ndim < 2 or x.array.shape[1] % groups:
        raise RuntimeError(f"the channels of {x.shape} do not make {groups} groups")
    _of_shape(x.array.shape[1:2], weight=weight, bias=bias)
    return native_group_norm(x, weight, bias, groups, eps)


def _by_heads(query: Tensor, *given: Tensor) -> Any:
    """Keys and values with a head for each one of the queries: several share one."""
    for x in given:
        heads, own = query.array.shape[-3], x.array.shape[-3]
        told = "Number of heads in key and value must divide the number of heads in query"
        check(own and heads % own == 0, told)
        yield x if own == heads else x.repeat_interleave(heads // own, -3)


def _attention(
    query: Any, key: Any, value: Any, mask: Any, p: float, causal: bool, scale: float, shared: bool
) -> Any:
    kinds = [x.array.dtype for x in (query, key, value)]
    if not kinds[0] == kinds[1] == kinds[2]:
        raise RuntimeError(f"Expected query, key, and value of the same dtype, but got {kinds}")
    fits = mask is None or mask.array.dtype.kind == "b" or mask.array.dtype in ("f4", kinds[0])
    check(fits, "Expected attn_mask dtype to be bool or float or to match query dtype")
    if shared:
        key, value = _by_heads(query, key, value)
    if flash_attention.is_fit(query, key, value, mask, p, causal):
        if mask is not None and mask.array.dtype.kind == "b":
            mask = _added(mask, query)
        return _flash(query, key, value, mask, causal, scale, flash_attention.order_of(query))
    return aten._scaled_dot_product_attention_math(query, key, value, mask, p, causal, scale)


def _added(mask: Tensor, query: Tensor) -> Tensor:
    """What a mask of booleans adds to scores; it stays as it is whatever the mask becomes."""
    dtype = query.array.dtype if query.array.itemsize > 2 else np.dtype("f4")
    return wrap(np.where(mask.array, dtype.type(0), dtype.type(-np.inf)))


@composite()
def _scaled_dot_product_attention_math(
    query: Any, key: Any, value: Any, mask: Any, p: float, causal: bool, scale: float
) -> Any:
    """A row of the mask that may look nowhere gives 0."""
    if query.array.itemsize == 2:
        dtype, mask = query.array.dtype, mask if mask is None else _wide(mask)
        query, key, value = (_wide(x) for x in (query, key, value))
        found = aten._scaled_dot_product_attention_math(query, key, value, mask, p, causal, scale)
        return found.to(dtype)
    scores = (query * scale) @ key.transpose(-2, -1)
    if causal:
        if mask is not None:
            raise RuntimeError("Explicit attn_mask should not be set when is_causal=True")
        shape = scores.array.shape[-2:]
        mask = wrap(np.triu(np.full(shape, -np.inf, scores.array.dtype), 1))
    if mask is not None and mask.array.dtype.kind == "b":
        scores = scores.masked_fill(mask.logical_not(), -math.inf)
    elif mask is not None:
        scores = scores + mask
    weights = aten.softmax(scores, -1) if mask is None else aten._safe_softmax(scores, -1)
    return aten.dropout(weights, p) @ value if p else weights @ value


_flash = flash_attention.make_attention(
    lambda q, k, v, mask, causal, scale, _: aten._scaled_dot_product_attention_math(
        q, k, v, mask, 0.0, causal, scale
    )
)


_ROWS = r"""
[torch nn wide contiguous]
layer_norm(self, normalized_shape, weight = None, bias = None, eps: float = 1e-5)
    := _layer_norm(self, normalized_shape, weight, bias, eps)
rms_norm(self, normalized_shape, weight = None, eps = None)
    := _rms_norm(self, _last(self, normalized_shape), weight, eps)
group_norm(self, num_groups: int, weight = None, bias = None, eps: float = 1e-5)
    := _group_norm(self, num_groups, weight, bias, eps)
batch_norm(self, running_mean, running_var, weight = None, bias = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5)
    := _batch_norm(self, running_mean, running_var, weight, bias, training, momentum, eps)
[nn]
normalize(self, p: float = 2.0, dim: int = 1, eps: float = 1e-12)
    := self / self.norm(p, dim, True).clamp(min=eps).expand_as(self)
scaled_dot_product_attention(query, key, value, attn_mask = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale = None, enable_gqa: bool = False)
    := _attention(query, key, value, attn_mask, dropout_p, is_causal,
    query.array.shape[-1] ** -0.5 if scale is None else scale, enable_gqa)
"""
declare(globals(), _ROWS)
