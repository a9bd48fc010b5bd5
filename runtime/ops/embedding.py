"""Rows of a table, one for each index, and bags of them.

Source: aten/src/ATen/native/Embedding.cpp, EmbeddingBag.cpp.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor, bump_version, wrap
from .add_at import add_at
from .make import composite, declare, zeros_beside


def _rows(weight: Any, indices: Any) -> Any:
    if weight.ndim != 2:
        raise ValueError("'weight' must be 2-D")
    if indices.dtype.kind not in "iu":
        raise ValueError("Expected 'indices' to have scalar type Long or Int")
    if indices.size and (indices.min() < 0 or indices.max() >= weight.shape[0]):
        raise IndexError("index out of range in self")
    return weight[indices]


@composite()
def embedding_backward(
    grad: Tensor, indices: Tensor, count: int, skipped: int, by_freq: bool, sparse: bool
) -> Any:
    if not sparse:
        return aten.embedding_dense_backward(grad, indices, count, skipped, by_freq)
    from .sparse import SparseTensor

    flat, width = indices.reshape(-1), grad.array.shape[-1]
    keep = flat.array != skipped
    rows = grad.reshape(-1, width).array[keep]
    return SparseTensor(flat.array[None, keep], rows, (count, width))


def _dense_gradient(grad: Any, indices: Any, count: int, skipped: int) -> Any:
    flat, rows = indices.reshape(-1), grad.reshape(indices.size, grad.shape[-1])
    if skipped >= 0:
        flat, rows = flat[flat != skipped], rows[flat != skipped]
    found = np.zeros((count, grad.shape[-1]), grad.dtype)
    add_at(found, (flat,), rows)
    return found


def _rows_of_gradient(grad: Tensor, indices: Tensor, skipped: int) -> Tensor:
    rows: Tensor = aten.embedding_rows(grad, indices, skipped, False)
    return rows.masked_fill(indices.eq(skipped).unsqueeze(-1), 0) if skipped >= 0 else rows


def _beside(array: Any, other: Tensor) -> Tensor:
    """A tensor of these values where another one is."""
    return wrap(array).to(other.device)


def _embedded(
    indices: Tensor, weight: Tensor, padding: int | None, longest: Any, norm: float,
    by_freq: bool, sparse: bool,
) -> Tensor:  # fmt: skip
    count = (weight.array.shape or (1,))[0]
    skipped = -1 if padding is None else padding % count
    if longest is not None:
        _renormed(weight, np.unique(indices.array), longest, norm)
    found: Tensor = aten.embedding_rows(weight, indices, skipped, sparse)
    if by_freq:
        often = np.bincount(indices.array.reshape(-1), minlength=count)[indices.array]
        found = aten.grad_scaled(
            found, _beside((1 / often)[..., None].astype(found.array.dtype), found)
        )
    return found


def _renormed(weight: Tensor, used: Any, longest: float, norm: float) -> None:
    """Rows that are used become at most so long."""
    rows = _rows(weight.array, used)
    lengths = np.linalg.norm(rows, norm, axis=1, keepdims=True)
    scale = np.where(lengths > longest, longest / (lengths + 1e-7), 1.0)
    weight.array[used] = rows * scale.astype(rows.dtype)
    bump_version(weight)


def _bags(indices: Any, offsets: Any, whole: bool) -> tuple[Any, int]:
    """To which bag each index belongs, and how many bags there are."""
    if indices.ndim == 2:
        check(offsets is None, "if input is 2D, then offsets has to be None", ValueError)
        return np.repeat(np.arange(len(indices)), indices.shape[1]), len(indices)
    check(indices.ndim == 1, "input has to be 1D or 2D Tensor", ValueError)
    check(offsets is not None, "offsets has to be a 1D Tensor but got None", ValueError)
    check(offsets.array.size or not whole, "include_last_offset: there has to be an offset")
    starts = offsets.array[:-1] if whole else offsets.array
    check(offsets.array.ndim == 1, "offsets has to be a 1D Tensor", ValueError)
    first = not starts.size or starts[0] == 0
    check(bool(first), f"offsets[0] has to be 0, got {starts[:1]}")
    if whole and starts.size:  # PyTorch's result is of more than the bag, its gradient of anything
        told = "the last offset has to be the size of the input with include_last_offset"
        check(offsets.array[-1] == len(indices), told)
    ends = np.append(starts[1:], offsets.array[-1] if whole else len(indices))
    check(not starts.size or starts.max() <= len(indices), "offsets[-1] is beyond the input")
    return np.repeat(np.arange(len(starts)), np.maximum(ends - starts, 0)), len(starts)


def _bagged(
    indices: Tensor, weight: Tensor, offsets: Any, *options: Any, mode: str, weights: Any,
    whole: bool, padding: int | None,
) -> Tensor:  # fmt: skip
    check(mode != "max", "embedding_bag: mode='max' is not supported here", NotImplementedError)
    check(mode in {"sum", "mean"}, "mode has to be one of sum or mean", ValueError)
    scaled = weights is not None
    if weights is not None:
        told = "embedding_bag: per_sample_weights was not None; it is only for mode='sum'"
        check(mode == "sum", told, NotImplementedError)
        fits = weights.array.shape == indices.array.shape
        check(fits, "per_sample_weights must have the shape of the input", ValueError)
    bags, count = _bags(indices.array, offsets, whole)
    flat = indices.array.reshape(-1)[: len(bags)]
    skipped = -1 if padding is None else padding % weight.array.shape[0]
    kept = flat != skipped
    bags, chosen = bags[kept], _beside(np.nonzero(kept)[0], weight)
    rows = _embedded(_beside(flat[kept], weight), weight, None, *options)
    sizes = np.bincount(bags, minlength=count)
    if scaled:
        rows = rows * weights.reshape(-1).index_select(0, chosen).unsqueeze(1)
    total = zeros_beside((count, rows.array.shape[1]), rows).index_add(0, _beside(bags, rows), rows)
    share = (1 / np.maximum(sizes, 1))[:, None].astype(rows.array.dtype)
    return total * _beside(share, rows) if mode == "mean" else total


_ROWS = r"""
[wide]
grad_scaled(self, factor) = self.copy() => grad * factor
[contiguous]
embedding.rows(weight, indices, padding_idx: int, sparse: bool) = _rows(weight, indices)
    weight: embedding_backward(grad, indices, weight_shape[0], padding_idx, False, sparse)
[wide]
embedding_dense_backward(grad_output, indices, num_weights: int, padding_idx: int,
    scale_grad_by_freq: bool) = _dense_gradient(grad_output, indices, num_weights, padding_idx)
    grad_output: _rows_of_gradient(grad, indices, padding_idx)
[torch nn]
embedding(input, weight, padding_idx = None, max_norm = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False)
    := _embedded(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
[nn]
embedding_bag(input, weight, offsets = None, max_norm = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
    per_sample_weights = None, include_last_offset: bool = False, padding_idx = None)
    := _bagged(input, weight, offsets, max_norm, norm_type, scale_grad_by_freq, sparse, mode=mode,
    weights=per_sample_weights, whole=include_last_offset, padding=padding_idx)
"""
declare(globals(), _ROWS)
