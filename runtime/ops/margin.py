"""Losses of pairs, triplets and margins, and the distances they are made of; CTC.

Source: torch/nn/functional.py, aten/src/ATen/native/Loss.cpp, LossMultiMargin.cpp, LossCTC.cpp.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap
from .loss import _per_class, _reduced
from .make import declare, device_like


def _of_one_ndim(name: str, *tensors: Tensor) -> None:
    shapes = [t.array.shape for t in tensors]
    told = f"{name}: the inputs must have the same number of dimensions, but have sizes {shapes}"
    check(len({len(shape) for shape in shapes}) == 1, told)


def _ranking(x: Any, other: Any, target: Any, margin: float) -> Any:
    _of_one_ndim("margin_ranking_loss", x, other, target)
    return (-target * (x - other) + margin).clamp(min=0)


def _cosine(x: Tensor, other: Tensor, target: Tensor, margin: float) -> Tensor:
    ndim = target.array.ndim
    fits = ndim < 2 and x.array.ndim == other.array.ndim == ndim + 1
    check(fits, f"{ndim}D target tensor expects {ndim + 1}D input tensors")
    squares = ((t * t).sum(ndim) + 1e-12 for t in (x, other))
    cosine = (x * other).sum(ndim) / math.prod(squares, start=1).sqrt()
    alike = aten.where(target == 1, 1 - cosine, 0.0)
    return alike + aten.where(target == -1, (cosine - margin).clamp(min=0), 0.0)


def _triplet(margin: float, swap: bool, of: Any, *triplet: Tensor) -> Tensor:
    check(margin > 0, f"margin must be greater than 0, got {margin}", ValueError)
    _of_one_ndim("triplet_margin_loss", *triplet)
    anchor, positive, negative = triplet
    near, far = of(anchor, positive), of(anchor, negative)
    far = aten.minimum(far, of(positive, negative)) if swap else far
    return (near - far + margin).clamp(min=0)


def _many_margins(x: Tensor, target: Tensor, p: int, margin: float, weight: Any) -> Tensor:
    check(p in (1, 2), "only p == 1 and p == 2 supported", ValueError)
    check(weight is None or weight.array.ndim == 1, "weight must be one-dimensional", ValueError)
    fits = x.array.ndim in (1, 2) and x.array.shape[:-1] == target.array.shape
    check(fits or target.array.size == 1, f"inconsistent target size: {target.shape}")
    check(target.array.dtype == np.int64, f"expected scalar type Long but found {target.dtype}")
    if weight is not None:
        _per_class(weight, x.array.shape[-1])
    column = target.reshape((*x.array.shape[:-1], 1))
    apart = (margin - x.gather(-1, column) + x).clamp(min=0) ** p
    apart = apart if weight is None else apart * weight[column]
    others = aten.ones_like(x).scatter(-1, column, 0.0)
    return (apart * others).mean(-1)


def _poisson(x: Any, target: Any, log_input: bool, full: bool, eps: float) -> Tensor:
    loss = x.exp() - target * x if log_input else x - target * (x + eps).log()
    if not full:
        return loss
    stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
    return loss + stirling.masked_fill(target <= 1, 0)


def _gaussian(x: Tensor, target: Tensor, var: Any, full: bool, eps: float) -> Tensor:
    var = var if isinstance(var, Tensor) else aten.full_like(x, var)
    check(not (var.array < 0).any(), "var has negative entry/entries", ValueError)
    shape = x.array.shape
    if var.array.shape != shape and var.array.shape == shape[:-1]:
        var = var.unsqueeze(-1)
    check(var.array.shape in (shape, (*shape[:-1], 1)), "var is of incorrect size", ValueError)
    var = var + (var.detach().clamp(min=eps) - var.detach())  # its gradient knows of no bound
    return 0.5 * (var.log() + (x - target) ** 2 / var) + (0.5 * math.log(2 * math.pi) * full)


def _ctc(
    logs: Tensor, targets: Tensor, inputs: Any, lengths: Any, blank: int, zero: bool
) -> Tensor:
    """What the labels of each sample cost, over all paths that are these labels between blanks."""
    count, batch, classes = logs.array.shape
    sized = len(inputs) == len(lengths) == batch
    check(sized, "input_lengths and target_lengths must be of size batch_size")
    check(0 <= blank < classes, "blank must be in label range")
    longest = int(inputs.max(initial=0))
    check(longest <= count, f"Expected input_lengths to have value at most {count}")
    inside = np.arange(lengths.max(initial=0)) < lengths[:, None]
    labels = np.full((batch, 2 * inside.shape[1] + 1), blank)
    given = targets.array.reshape(-1 if targets.array.ndim == 1 and batch > 1 else (batch, -1))
    given = given if given.ndim == 1 else given[:, : inside.shape[1]][inside]
    labels[:, 1::2][inside] = given
    near = logs.gather(2, wrap(np.broadcast_to(labels, (count, *labels.shape)).copy()))
    none = float(np.finfo(logs.array.dtype).min) / 4  # of differences of -inf nothing is known
    stays = np.ones(labels.shape, bool)  # a blank, or the label before again: no way around it
    stays[:, 2:] = (labels[:, 2:] == labels[:, :-2]) | (labels[:, 2:] == blank)
    paths = near[0].masked_fill(wrap(np.arange(labels.shape[1]) > 1), none)
    every = [paths]
    for t in range(1, count):
        one, two = (aten.constant_pad_nd(paths, (n, 0), none)[:, : labels.shape[1]] for n in (1, 2))
        met = aten.stack([paths, one, two.masked_fill(wrap(stays), none)])
        every.append(paths := met.logsumexp(0) + near[t])
    last = aten.stack(every)[wrap(np.maximum(inputs - 1, 0)), wrap(np.arange(batch))]
    ends = np.stack([2 * lengths, np.maximum(2 * lengths - 1, 0)], 1)
    empty = wrap(np.stack([lengths < 0, lengths < 1], 1))
    loss = -last.gather(1, wrap(ends)).masked_fill(empty, none).logsumexp(1)
    # PyTorch's gradient is that of the logits, whose softmax `logs` has to be.
    counted = (np.arange(count)[:, None] < inputs)[..., None].astype(logs.array.dtype)
    share = (logs.exp() * wrap(counted)).sum((0, 2))
    loss, never = loss + (share - share.detach()), loss.array > -none / 2
    if zero or not never.any():
        return loss.masked_fill(wrap(never), 0)
    factor, more = np.where(never, [[math.nan], [math.inf]], [[1], [0]]).astype(loss.array.dtype)
    return aten.grad_scaled(loss, wrap(factor)) + wrap(more)


def _ctc_reduced(
    logs: Tensor, targets: Tensor, inputs: Any, lengths: Any, *how: Any, reduction: str
) -> Tensor:
    told = "Expected all tensors to be on the same device, but found at least two devices, "
    together = device_like(logs) is not None or device_like(targets) is None  # or on the CPU
    check(together, f"{told}{targets.device} and cpu!")
    inputs, lengths = (np.asarray(getattr(n, "array", n)).reshape(-1) for n in (inputs, lengths))
    alone = logs.array.ndim == 2
    loss = _ctc(logs.unsqueeze(1) if alone else logs, targets, inputs, lengths, *how)
    if reduction == "mean":
        loss = loss / wrap(np.maximum(lengths, 1).astype(loss.array.dtype))
    loss = _reduced(loss, reduction)
    return loss.squeeze(0) if alone and reduction == "none" else loss


_LEGACY = "size_average = None, reduce = None, reduction: str = 'mean'"
_ROWS = f"""
[torch nn]
pairwise_distance(x1, x2, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False)
    := (x1 - x2 + eps).norm(p, -1, keepdim)
[nn]
margin_ranking_loss(input1, input2, target, margin: float = 0, {_LEGACY})
    := _reduced(_ranking(input1, input2, target, margin), reduction)
cosine_embedding_loss(input1, input2, target, margin: float = 0, {_LEGACY})
    := _reduced(_cosine(input1, input2, target, margin), reduction)
triplet_margin_loss(anchor, positive, negative, margin: float = 1.0, p: float = 2,
    eps: float = 1e-6, swap: bool = False, {_LEGACY})
    := _reduced(_triplet(margin, swap, lambda x, y: pairwise_distance(x, y, p, eps), anchor,
    positive, negative), reduction)
multi_margin_loss(self, target, p: int = 1, margin: float = 1.0, weight = None, {_LEGACY})
    := _reduced(_many_margins(self, target, p, margin, weight), reduction)
poisson_nll_loss(self, target, log_input: bool = True, full: bool = False, size_average = None,
    eps: float = 1e-8, reduce = None, reduction: str = "mean")
    := _reduced(_poisson(self, target, log_input, full, eps), reduction)
gaussian_nll_loss(self, target, var, full: bool = False, eps: float = 1e-6,
    reduction: str = "mean")
    := _reduced(_gaussian(self, target, var, full, eps), reduction)
ctc_loss(log_probs, targets, input_lengths, target_lengths, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False)
    := _ctc_reduced(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity,
    reduction=reduction)
"""
declare(globals(), _ROWS)
