"""Losses. `reduction` is "mean", "sum" or "none".

Source: torch/nn/functional.py, aten/src/ATen/native/Loss.cpp, LossNLL.cpp.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import Tensor, wrap
from .table import aten, composite, declare


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    """The mean, the sum, or the losses themselves.

    Raises:
        ValueError: another word.
    """
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction")


def _mse(self: Any, target: Any, reduction: str) -> Any:
    apart = self - target
    if reduction == "none":
        return apart * apart
    flat = apart.reshape(-1)
    total = flat.dot(flat)
    if reduction == "sum":
        return total
    if reduction != "mean":
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return total / total.dtype.type(flat.size)


def _mse_back(grad: Any, input: Any, target: Any, reduction: str) -> Any:
    apart = input - target
    scale = 2.0 / apart.size if reduction == "mean" else 2.0
    apart *= grad * grad.dtype.type(scale)
    return apart


def _slope(grad: Tensor, given: Tensor, input: Tensor, reduction: str) -> Tensor:
    n = np.broadcast_shapes(input.array.shape, grad.array.shape)
    return grad * given * (2.0 / int(np.prod(n)) if reduction == "mean" else 2.0)


def _nll_weights(target: Any, weight: Any, ignore_index: int, like: Any, classes: int) -> Any:
    """The targets with ignored ones at 0, and how much each counts."""
    counted = target != ignore_index
    safe = np.where(counted, target, 0)
    if safe.size and (safe.min() < 0 or safe.max() >= classes):
        wrong = safe.min() if safe.min() < 0 else safe.max()
        raise IndexError(f"Target {wrong} is out of bounds.")
    share = counted.astype(like.dtype)
    return safe, (share if weight is None else share * weight[safe])


def _nll(self: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    dim = 0 if self.ndim == 1 else 1
    if target.shape != self.shape[:dim] + self.shape[dim + 1 :]:
        raise ValueError(
            f"Expected target size {list(self.shape[:dim] + self.shape[dim + 1 :])}, "
            f"got {list(target.shape)}"
        )
    if target.dtype.kind not in "iu":
        raise ValueError(f"expected scalar type Long but found {target.dtype}")
    safe, share = _nll_weights(target, weight, ignore_index, self, self.shape[dim])
    picked = np.take_along_axis(self, np.expand_dims(safe, dim), dim).squeeze(dim)
    loss = -picked * share
    if reduction == "none":
        return loss
    total = loss.sum(dtype=self.dtype)
    return total / share.sum(dtype=self.dtype) if reduction == "mean" else total


def _nll_back(
    grad: Any, self: Any, target: Any, weight: Any, reduction: str, ignore_index: int
) -> Any:
    dim = 0 if self.ndim == 1 else 1
    safe, share = _nll_weights(target, weight, ignore_index, self, self.shape[dim])
    each = -grad * share
    if reduction == "mean":
        each = each / share.sum(dtype=self.dtype)
    found = np.zeros_like(self)
    np.put_along_axis(found, np.expand_dims(safe, dim), np.expand_dims(each, dim), dim)
    return found


declare(
    globals(),
    r"""
[nn]
mse_loss(self, target, reduction: str = "mean") = _mse(self, target, reduction)
    self: mse_loss_backward(grad, self, target, reduction) || _mse_back(grad, self, target, reduction)
    target: -mse_loss_backward(grad, self, target, reduction) || -_mse_back(grad, self, target, reduction)
[]
mse_loss_backward(grad_output, input, target, reduction: str)
    = _mse_back(grad_output, input, target, reduction)
    grad_output: grad * (input - target) * (2.0 / grad.numel() if reduction == "mean" else 2.0)
    input: _slope(grad, grad_output, input, reduction)
    target: -_slope(grad, grad_output, input, reduction)
nll_loss.forward(self, target, weight: number, reduction: str, ignore_index: int)
    = _nll(self, target, weight, reduction, ignore_index)
    self: nll_loss_backward(grad, self, target, weight, reduction, ignore_index)
        || _nll_back(grad, self, target, weight, reduction, ignore_index)
nll_loss_backward(grad_output, self, target, weight: number, reduction: str, ignore_index: int)
    = _nll_back(grad_output, self, target, weight, reduction, ignore_index)
    grad_output: nll_loss_forward(grad, target, weight, reduction, ignore_index)
[nn]
l1_loss(self, target, reduction: str = "mean") := _reduced((self - target).abs(), reduction)
""",
)


@composite("nn")
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squared / (2 beta) below `beta`, absolute - beta / 2 above."""
    if beta == 0:
        return aten.l1_loss(input, target, reduction)
    apart = (input - target).abs()
    loss = aten.where(apart < beta, apart * apart * (0.5 / beta), apart - 0.5 * beta)
    return _reduced(loss, reduction)


@composite("nn")
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
) -> Tensor:
    """Half the square below `delta`, delta * (absolute - delta / 2) above."""
    apart = (input - target).abs()
    loss = aten.where(apart <= delta, apart * apart * 0.5, (apart - 0.5 * delta) * delta)
    return _reduced(loss, reduction)


@composite("nn", "aten::nll_loss_nd")
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log-probability of the target class.

    Args:
        input: log-probabilities (N, C) or (N, C, ...), or (C,).
        target: classes (N), (N, ...) or ().
        weight: one per class; the mean is then weighted.
        ignore_index: targets that do not count.
    """
    if reduction not in {"mean", "sum", "none"}:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if input.array.ndim > 1 and input.array.shape[:1] != target.array.shape[:1]:
        raise ValueError(
            f"Expected input batch_size ({input.array.shape[0]}) to match target batch_size "
            f"({list(target.array.shape[:1])})."
        )
    return aten.nll_loss_forward(input, target, weight, reduction, ignore_index)


@composite("nn", "aten::cross_entropy_loss")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """nll_loss of log_softmax; targets are classes, or probabilities of `input`'s shape."""
    dim = 0 if input.array.ndim == 1 else 1
    logs = aten.log_softmax(input, dim)
    classes = input.array.shape[dim]
    shape = [classes if d == dim else 1 for d in range(input.array.ndim)]
    weighted = logs if weight is None else logs * weight.reshape(shape)
    if target.array.dtype.kind == "f":
        if label_smoothing:
            target = target * (1 - label_smoothing) + label_smoothing / classes
        loss = -(weighted * target).sum(dim)
        return (
            loss.sum() / max(loss.numel(), 1) if reduction == "mean" else _reduced(loss, reduction)
        )
    loss = nll_loss(logs, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return loss
    given = None if weight is None else weight.array
    _, share = _nll_weights(target.array, given, ignore_index, input.array, classes)
    smooth = -weighted.sum(dim) * wrap((target.array != ignore_index).astype(input.array.dtype))
    smooth = (
        smooth.sum() / wrap(share.sum()) if reduction == "mean" else _reduced(smooth, reduction)
    )
    return loss * (1 - label_smoothing) + smooth * (label_smoothing / classes)


@composite("nn")
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Of probabilities; logarithms are kept above -100."""
    if input.array.shape != target.array.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size."
        )
    if input.array.size and (input.array.min() < 0 or input.array.max() > 1):
        raise RuntimeError("all elements of input should be between 0 and 1")
    hit, miss = input.log().clamp(min=-100), (1 - input).log().clamp(min=-100)
    loss = -(target * hit + (1 - target) * miss)
    return _reduced(loss if weight is None else loss * weight, reduction)


@composite("nn")
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Of logits, without overflow."""
    if input.array.shape != target.array.shape:
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        )
    soft = aten.logsigmoid(input)
    scaled = soft if pos_weight is None else ((pos_weight - 1) * target + 1) * soft
    loss = (1 - target) * input - scaled
    return _reduced(loss if weight is None else loss * weight, reduction)


@composite("nn")
def kl_div(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Target * (log target - input); "batchmean" divides the sum by the batch."""
    if log_target:
        loss = target.exp() * (target - input)
    else:
        positive = target > 0
        safe = aten.where(positive, target, wrap(np.ones((), target.array.dtype)))
        loss = aten.where(positive, target * (safe.log() - input), -input * target)
    if reduction == "batchmean":
        return loss.sum() / input.array.shape[0]
    return _reduced(loss, reduction)


@composite("torch nn")
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 . x2 / (|x1| |x2|) along `dim`."""
    return (x1 * x2).sum(dim) / (x1.norm(2, dim).clamp(min=eps) * x2.norm(2, dim).clamp(min=eps))
