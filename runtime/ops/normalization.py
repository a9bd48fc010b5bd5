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
from ..engine.tensor import Tensor, bump_version, wrap
from .make import declare

Ints = tuple[int, ...]


def _mean(x: Any, dims: Ints, y: Any = None) -> Any:
    """The mean of x, or of x * y; of arrays over the last dimension, as a product."""
    if isinstance(x, Tensor):
        return (x if y is None else x * y).mean(dims, True)
    if dims != (x.ndim - 1,) or x.dtype.char not in "fd":
        return (x if y is None else x * y).mean(dims, keepdims=True)
    share = x.dtype.type(1 / (x.shape[-1] or 1))
    if y is None:
        return x @ np.full((x.shape[-1], 1), share)
    return np.einsum("...i,...i->...", x, y)[..., None] * share


def _whitened(x: Any, dims: Ints, eps: float) -> tuple[Any, Any]:
    """Of a tensor or an array: with mean 0 and variance 1, and what it was scaled by."""
    hat = x - _mean(x, dims)
    if isinstance(x, Tensor):
        scale = (_mean(hat, dims, hat) + eps) ** -0.5
        return hat * scale, scale
    scale = 1 / np.sqrt(_mean(hat, dims, hat) + x.dtype.type(eps))
    hat *= scale
    return hat, scale


def _norm_self(grad: Any, x: Any, weight: Any, dims: Ints, eps: float) -> Any:
    hat, scale = _whitened(x, dims, eps)
    g = grad if weight is None else grad * weight
    return (g - _mean(g, dims) - hat * _mean(g, dims, hat)) * scale


def _norm_weight(grad: Any, x: Any, dims: Ints, eps: float) -> Any:
    hat = _whitened(x, dims, eps)[0]
    if isinstance(x, Tensor) or dims != (x.ndim - 1,):
        return grad * hat
    return np.einsum("ij,ij->j", grad.reshape(-1, x.shape[-1]), hat.reshape(-1, x.shape[-1]))


def _last(x: Tensor, shape: Any) -> Ints:
    """The dimensions at the end that have `shape`."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if x.array.shape[-len(shape) :] != shape:
        raise RuntimeError(f"normalized_shape={list(shape)} is not how {x.shape} ends")
    return tuple(range(x.array.ndim - len(shape), x.array.ndim))


def _rms_norm(x: Tensor, dims: Ints, weight: Any, eps: float | None) -> Tensor:
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


def _batch_stats(input: Tensor, mean: Any, var: Any, momentum: float) -> Ints:
    """Move the running statistics; the dimensions that are averaged."""
    x, dims = input.array, (0, *range(2, input.array.ndim))
    count = x.size // (x.shape[1] or 1)
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got {x.shape}")
    if mean is not None and var is not None:
        for running, now in (
            (mean, x.mean(dims)),
            (var, x.var(dims) * (count / max(count - 1, 1))),
        ):
            running.array[...] = (1 - momentum) * running.array + momentum * now
            bump_version(running)
    return dims


def _frozen_norm(x: Tensor, mean: Any, var: Any, eps: float) -> Tensor:
    if mean is None or var is None:
        raise RuntimeError("Expected running_mean and running_var to be defined in evaluation")
    scale = (var.detach() + eps).rsqrt()
    return (x.contiguous() - _channels(mean.detach(), x)) * _channels(scale, x)


def _grouped(x: Tensor, groups: int) -> Tensor:
    if x.array.ndim < 2 or x.array.shape[1] % groups:
        raise RuntimeError(f"the channels of {x.shape} do not make {groups} groups")
    return aten.reshape(x, (x.array.shape[0], groups, math.prod(x.array.shape[1:]) // groups))


def _attention(
    query: Any, key: Any, value: Any, mask: Any, p: float, causal: bool, scale: float
) -> Tensor:
    """A row of the mask that may look nowhere gives 0."""
    if query.array.itemsize == 2:
        dtype, mask = query.array.dtype, mask if mask is None else _wide(mask)
        query, key, value = (_wide(x) for x in (query, key, value))
        return _attention(query, key, value, mask, p, causal, scale).to(dtype)
    scores, hidden = (query * scale) @ key.transpose(-2, -1), None
    if causal:
        if mask is not None:
            raise RuntimeError("Explicit attn_mask should not be set when is_causal=True")
        shape = scores.array.shape[-2:]
        mask = wrap(np.triu(np.full(shape, -np.inf, scores.array.dtype), 1))
    if mask is not None and mask.array.dtype.kind == "b":
        hidden = mask.logical_not()
        scores = scores.masked_fill(hidden, float(finfo(scores.array.dtype).min))
    elif mask is not None:
        scores = scores + mask
    weights = aten.softmax(scores, -1)
    if hidden is not None and hidden.array.all(-1).any():
        weights = weights.masked_fill(hidden, 0)
    return aten.dropout(weights, p) @ value if p else weights @ value


_NATIVE = """
native_{}_norm(self, weight: number, bias: number, dims: any, eps: float)
    = _affine(_whitened(self, dims, eps)[0], weight, bias)
    self: _norm_self(grad, self, weight, dims, eps) || _norm_self(grad, self, weight, dims, eps)
    weight: _norm_weight(grad, self, dims, eps) || _norm_weight(grad, self, dims, eps)
    bias: grad"""
_ROWS = r"""
[torch nn]
layer_norm(self, normalized_shape, weight = None, bias = None, eps: float = 1e-5)
    := native_layer_norm(self, weight, bias, _last(self, normalized_shape), eps)
rms_norm(self, normalized_shape, weight = None, eps = None)
    := _rms_norm(self, _last(self, normalized_shape), weight, eps)
group_norm(self, num_groups: int, weight = None, bias = None, eps: float = 1e-5)
    := _affine(native_group_norm(_grouped(self, num_groups), None, None, (2,), eps)
    .reshape(self.array.shape), _channels(weight, self), _channels(bias, self))
batch_norm(self, running_mean, running_var, weight = None, bias = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5)
    := _affine(self * 1, _channels(weight, self), _channels(bias, self)) if not self.array.size
    else native_batch_norm(self, _channels(weight, self), _channels(bias, self),
    _batch_stats(self, running_mean, running_var, momentum), eps) if training
    else _affine(_frozen_norm(self, running_mean, running_var, eps), _channels(weight, self),
    _channels(bias, self))
[nn]
normalize(self, p: float = 2.0, dim: int = 1, eps: float = 1e-12)
    := self / self.norm(p, dim, True).clamp(min=eps).expand_as(self)
scaled_dot_product_attention(query, key, value, attn_mask = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale = None)
    := _attention(query, key, value, attn_mask, dropout_p, is_causal,
    query.array.shape[-1] ** -0.5 if scale is None else scale)
"""
declare(
    globals(),
    "[wide contiguous]" + "".join(map(_NATIVE.format, ("layer", "batch", "group"))) + _ROWS,
)
