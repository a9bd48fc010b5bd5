"""Attention as one operator, with a backward of its own.

As in PyTorch it takes (N, heads, length, width) on the CPU, without dropout and with a mask that
needs no gradient. Source: aten/src/ATen/native/transformers/cpu/FlashAttentionKernel.cpp.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.storage import storage_of, storages
from .fused_operator import FusedOperator, has_rows

Array = Any
_SAFE = 50.0  # powers of e up to this one, and sums of them, are far from the ends of float32


def _forward(
    q: Array, k: Array, v: Array, mask: Any, causal: bool, scale: float, order: Sequence[int]
) -> Any:
    """The mean of the values by their weights; the weights are kept for backward."""
    weights = (q * q.dtype.type(scale)) @ k.swapaxes(-1, -2)
    masked = not causal and mask is not None
    safe = not masked and max(weights.max(), -weights.min()) < _SAFE
    if causal:
        weights += np.triu(np.full(weights.shape[-2:], -np.inf, q.dtype), 1)
    elif masked:
        weights += mask
    if not safe:
        top = weights.max(-1, keepdims=True)
        if masked:
            top[np.isneginf(top)] = 0
        weights -= top
    np.exp(weights, out=weights)
    total = (weights @ np.ones(weights.shape[-1], q.dtype))[..., None]
    if masked:
        total[total == 0] = 1  # a query that may look nowhere gives 0
    weights /= total
    found = np.empty([q.shape[d] for d in order], q.dtype).transpose(np.argsort(order))
    np.matmul(weights, v, out=found)
    return (found,), weights


def _backward(
    weights: Array, arrays: Sequence[Array], grads: Sequence[Array], wanted: Sequence[bool],
    _: bool, scale: float, _order: Sequence[int],
) -> tuple[Any, ...]:  # fmt: skip
    (q, k, v, _mask), (grad,) = arrays, grads
    d_q = d_k = d_v = None
    if wanted[2]:
        d_v = weights.swapaxes(-1, -2) @ grad
    if wanted[0] or wanted[1]:
        scores = grad @ v.swapaxes(-1, -2)
        scores -= np.einsum("...i,...i->...", scores, weights)[..., None]
        scores *= weights
        scores *= q.dtype.type(scale)
        d_q = scores @ k if wanted[0] else None
        d_k = scores.swapaxes(-1, -2) @ q if wanted[1] else None
    return d_q, d_k, d_v, None


def is_fit(q: Any, k: Any, v: Any, mask: Any, p: float, causal: bool) -> bool:
    """Tell whether the operator takes these inputs."""
    shapes = [x.array.shape for x in (q, k, v)]
    if p or any(len(s) != 4 or s[:2] != shapes[0][:2] or s[3] != shapes[0][3] for s in shapes):
        return False
    if mask is not None and (causal or mask.requires_grad or mask.array.dtype.kind not in "bfV"):
        return False
    kinds = {x.array.dtype for x in (q, k, v)}
    plain = len(kinds) == 1 and q.array.dtype.kind in "fV" and shapes[1][2] == shapes[2][2]
    here = not storages or all(storage_of(x) is None for x in (q, k, v))
    return plain and here and 0 not in (*map(math.prod, shapes),)


def order_of(q: Any) -> tuple[int, ...]:
    """Return the dimensions by their strides: results lie as dense queries do."""
    strides, shape = q.array.strides, q.array.shape
    expanded = any(s == 0 and n > 1 for s, n in zip(strides, shape, strict=True))
    if expanded or strides[-1] != q.array.itemsize:
        return (0, 1, 2, 3)
    return tuple(sorted(range(4), key=lambda d: -strides[d]))


def make_attention(by_steps: Callable[..., Any]) -> FusedOperator:
    """Make the operator; `by_steps` takes the same arguments and is made of other operators.

    It takes queries, keys and values, a mask or None, whether it is causal, the scale,
    and the order of the result's dimensions in memory.
    """
    name = "_scaled_dot_product_flash_attention_for_cpu"
    return FusedOperator(name, 4, _forward, _backward, by_steps, guards_output=True, takes=has_rows)
