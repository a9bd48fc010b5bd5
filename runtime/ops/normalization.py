"""Normalization, embedding and attention.

Source: torch/nn/functional.py, aten/src/ATen/native/layer_norm.cpp, Normalization.cpp,
Embedding.cpp, transformers/attention.cpp.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..tensor import Tensor, bump_version, wrap
from .table import aten, composite, declare


def _normed(x: Any, weight: Any, bias: Any, dims: tuple[int, ...], eps: float) -> Any:
    found = x - x.mean(dims, keepdims=True)
    found *= 1 / np.sqrt((found * found).mean(dims, keepdims=True) + x.dtype.type(eps))
    if weight is not None:
        found *= weight
    if bias is not None:
        found += bias
    return found


def _mean(x: Any, dims: tuple[int, ...]) -> Any:
    return x.mean(dims, True) if isinstance(x, Tensor) else x.mean(dims, keepdims=True)


def _whitened(x: Any, dims: tuple[int, ...], eps: float) -> tuple[Any, Any]:
    """Of a tensor or an array: with mean 0 and variance 1, and what it was scaled by."""
    centred = x - _mean(x, dims)
    scale = (_mean(centred * centred, dims) + eps) ** -0.5
    return centred * scale, scale


def _norm_self(grad: Any, x: Any, weight: Any, dims: tuple[int, ...], eps: float) -> Any:
    hat, scale = _whitened(x, dims, eps)
    g = grad if weight is None else grad * weight
    return (g - _mean(g, dims) - hat * _mean(g * hat, dims)) * scale


def _norm_weight(grad: Any, x: Any, dims: tuple[int, ...], eps: float) -> Any:
    return grad * _whitened(x, dims, eps)[0]


def _embedding_back(
    grad: Tensor, indices: Tensor, shape: tuple[int, ...], padding_idx: int, sparse: bool
) -> Tensor:
    flat, rows = indices.reshape(-1), grad.reshape(-1, shape[1])
    if sparse:
        from ..sparse import SparseTensor

        keep = flat.array != padding_idx
        return SparseTensor(flat.array[None, keep], rows.array[keep], shape)
    if padding_idx >= 0:
        rows = rows * (flat != padding_idx).unsqueeze(1)
    return wrap(np.zeros(shape, grad.array.dtype)).index_add(0, flat, rows)


def _rows(weight: Any, indices: Any) -> Any:
    if indices.dtype.kind not in "iu":
        raise ValueError(
            "Expected tensor for argument #1 'indices' to have scalar type Long or Int"
        )
    if indices.size and (indices.min() < 0 or indices.max() >= weight.shape[0]):
        raise IndexError("index out of range in self")
    return weight[indices]


_ROW = """
{name}(self, weight: number, bias: number, dims: any, eps: float) = _normed(self, weight, bias, dims, eps)
    self: _norm_self(grad, self, weight, dims, eps) || _norm_self(grad, self, weight, dims, eps)
    weight: _norm_weight(grad, self, dims, eps) || _norm_weight(grad, self, dims, eps)
    bias: grad
"""
declare(
    globals(),
    "[]"
    + "".join(_ROW.format(name=f"native_{k}_norm").rstrip() for k in ("layer", "batch", "group"))
    + r"""
embedding.rows(weight, indices, padding_idx: int, sparse: bool) = _rows(weight, indices)
    weight: _embedding_back(grad, indices, weight_shape, padding_idx, sparse)
""",
)


@composite("torch nn")
def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 over the last dimensions, `normalized_shape`; then scaled and moved."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    n = len(shape)
    if input.array.shape[-n:] != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape "
            f"[*, {', '.join(map(str, shape))}], but got input of size{list(input.array.shape)}"
        )
    dims = tuple(range(input.array.ndim - n, input.array.ndim))
    return aten.native_layer_norm(input, weight, bias, dims, eps)


def _per_channel(x: Tensor | None, ndim: int) -> Tensor | None:
    return None if x is None else aten.reshape(x, (1, -1, *(1,) * (ndim - 2)))


@composite("torch nn")
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel (dimension 1) with mean 0 and variance 1: the batch's, or the running ones."""
    x, ndim = input.array, input.array.ndim
    dims = (0, *range(2, ndim))
    count = x.size // x.shape[1]
    weight, bias = _per_channel(weight, ndim), _per_channel(bias, ndim)
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined in evaluation")
        scale = (running_var.detach() + eps).rsqrt()
        apart = input - _per_channel(running_mean.detach(), ndim)
        found = apart * _per_channel(scale, ndim)
        found = found if weight is None else found * weight
        return found if bias is None else found + bias
    if count < 2:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {list(x.shape)}"
        )
    if running_mean is not None and running_var is not None:
        for running, now in (
            (running_mean, x.mean(dims)),
            (running_var, x.var(dims) * (count / (count - 1))),
        ):
            running.array[...] = (1 - momentum) * running.array + momentum * now
            bump_version(running)
    return aten.native_batch_norm(input, weight, bias, dims, eps)


@composite("torch nn")
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """As layer_norm, over groups of channels."""
    shape, ndim = input.array.shape, input.array.ndim
    if shape[1] % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(shape)} and num_groups={num_groups}"
        )
    grouped = aten.reshape(input, (shape[0], num_groups, -1))
    found = aten.reshape(aten.native_group_norm(grouped, None, None, (2,), eps), shape)
    found = found if weight is None else found * _per_channel(weight, ndim)
    return found if bias is None else found + _per_channel(bias, ndim)


@composite("torch nn")
def rms_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Divided by the root of the mean square over the last dimensions."""
    n = 1 if isinstance(normalized_shape, int) else len(normalized_shape)
    small = float(np.finfo(input.array.dtype).eps) if eps is None else eps
    found = input * ((input * input).mean(tuple(range(-n, 0)), True) + small).rsqrt()
    return found if weight is None else found * weight


@composite("nn")
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """Divided by its p-norm along `dim`."""
    return input / input.norm(p, dim, True).clamp(min=eps).expand_as(input)


@composite("torch nn")
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of `weight` (n, d) by index: (*) to (*, d). The row `padding_idx` gets no gradient."""
    if max_norm is not None or scale_grad_by_freq:
        raise NotImplementedError("embedding with max_norm or scale_grad_by_freq is not supported")
    n = weight.array.shape[0]
    skipped = -1 if padding_idx is None else padding_idx % n
    return aten.embedding_rows(weight, input, skipped, sparse)


@composite("nn")
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """softmax(query key^T * scale + mask) value; (..., L, d), (..., S, d), (..., S, v)."""
    rows, columns = query.array.shape[-2], key.array.shape[-2]
    scores = query @ key.transpose(-2, -1)
    scores = scores * (1 / math.sqrt(query.array.shape[-1]) if scale is None else scale)
    if is_causal:
        if attn_mask is not None:
            raise RuntimeError("Explicit attn_mask should not be set when is_causal=True")
        attn_mask = wrap(np.tri(rows, columns, dtype=bool))
    hidden = None
    if attn_mask is not None and attn_mask.array.dtype.kind == "b":
        hidden = attn_mask.logical_not()
        scores = scores.masked_fill(hidden, float(np.finfo(scores.array.dtype).min))
    elif attn_mask is not None:
        scores = scores + attn_mask
    weights = aten.softmax(scores, -1)
    if hidden is not None and hidden.array.all(-1).any():  # a row that may look nowhere is 0
        weights = weights.masked_fill(hidden, 0)
    return aten.dropout(weights, dropout_p) @ value if dropout_p else weights @ value
