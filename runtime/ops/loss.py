"""Losses. `reduction` is "mean", "sum" or "none".

Source: torch/nn/functional.py, aten/src/ATen/native/Loss.cpp.
"""

# ruff: noqa: A006, PLW0108  (a formula's lambda names what is defined further down)
# mypy: disable-error-code="no-any-return,has-type,call-overload"

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import Tensor, wrap
from .activation import log_softmax, sigmoid
from .composite import composite
from .elementwise import where
from .indexing import gather
from .table import op


def reduce(loss: Tensor, reduction: str) -> Tensor:
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
    return total / total.dtype.type(flat.size) if reduction == "mean" else total


def _mse_back(grad: Tensor, self: Tensor, target: Tensor, reduction: str) -> Tensor:
    return mse_loss_backward(grad, self, target, reduction)


def _mse_backward(self: Any, input: Any, target: Any, reduction: str) -> Any:  # noqa: A002
    apart = input - target
    scale = 2.0 / apart.size if reduction == "mean" else 2.0
    apart *= self * self.dtype.type(scale)
    return apart


mse_op = op(
    "aten::mse_loss",
    _mse,
    "self",
    "target",
    self=_mse_back,
    target=lambda grad, self, target, reduction: -_mse_back(grad, self, target, reduction),
    arrays={
        "self": lambda grad, self, target, reduction: _mse_backward(grad, self, target, reduction),
        "target": lambda grad, self, target, reduction: (
            -_mse_backward(grad, self, target, reduction)
        ),
    },
)


def _slope(grad: Tensor, self: Tensor, input: Tensor, reduction: str) -> Tensor:  # noqa: A002
    n = np.broadcast_shapes(input.array.shape, grad.array.shape)
    scale = 2.0 / int(np.prod(n)) if reduction == "mean" else 2.0
    return grad * self * scale


mse_loss_backward = op(
    "aten::mse_loss_backward",
    _mse_backward,
    "self",
    "input",
    "target",
    self=lambda grad, input, target, reduction: (
        grad * (input - target) * (2.0 / grad.numel() if reduction == "mean" else 2.0)
    ),
    input=lambda grad, self, input, reduction: _slope(grad, self, input, reduction),
    target=lambda grad, self, input, reduction: -_slope(grad, self, input, reduction),
)


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:  # noqa: A002
    """The squared difference."""
    if reduction not in {"mean", "sum", "none"}:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return mse_op(input, target, reduction)


@composite("aten::l1_loss")
def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:  # noqa: A002
    """The absolute difference."""
    return reduce((input - target).abs(), reduction)


@composite("aten::smooth_l1_loss")
def smooth_l1_loss(
    input: Tensor,  # noqa: A002
    target: Tensor,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squared / (2 beta) below `beta`, absolute - beta / 2 above."""
    if beta == 0:
        return l1_loss(input, target, reduction)
    apart = (input - target).abs()
    return reduce(where(apart < beta, apart * apart * (0.5 / beta), apart - 0.5 * beta), reduction)


@composite("aten::huber_loss")
def huber_loss(
    input: Tensor,  # noqa: A002
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
) -> Tensor:
    """Half the square below `delta`, delta * (absolute - delta / 2) above."""
    apart = (input - target).abs()
    loss = where(apart <= delta, apart * apart * 0.5, (apart - 0.5 * delta) * delta)
    return reduce(loss, reduction)


@composite("aten::nll_loss")
def nll_loss(
    input: Tensor,  # noqa: A002
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
    dim = 0 if input.array.ndim == 1 else 1
    counted = target.array != ignore_index
    safe = np.where(counted, target.array, 0)
    if safe.size and (safe.min() < 0 or safe.max() >= input.array.shape[dim]):
        raise IndexError("Target is out of bounds.")
    index = wrap(np.expand_dims(safe, dim))
    picked = -gather(input, dim, index).squeeze(dim)
    share = counted.astype(input.array.dtype)
    if weight is not None:
        share = share * weight.array[safe]
    loss = picked * wrap(share)
    return loss.sum() / wrap(share.sum()) if reduction == "mean" else reduce(loss, reduction)


@composite("aten::cross_entropy_loss")
def cross_entropy(
    input: Tensor,  # noqa: A002
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """nll_loss of log_softmax; targets are classes, or probabilities of `input`'s shape."""
    dim = 0 if input.array.ndim == 1 else 1
    logs = log_softmax(input, dim)
    classes = input.array.shape[dim]
    shape = [1] * input.array.ndim
    shape[dim] = classes
    if target.array.dtype.kind == "f":
        if label_smoothing:
            target = target * (1 - label_smoothing) + label_smoothing / classes
        found = -(logs * target if weight is None else logs * target * weight.reshape(shape))
        loss = found.sum(dim)
        if reduction == "mean":
            return loss.sum() / max(loss.numel(), 1)
        return reduce(loss, reduction)
    loss = nll_loss(logs, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return loss
    counted = target.array != ignore_index
    weighted = logs if weight is None else logs * weight.reshape(shape)
    smooth = -weighted.sum(dim) * wrap(counted.astype(input.array.dtype))
    if reduction == "mean":
        share = counted.astype(input.array.dtype)
        if weight is not None:
            share = share * weight.array[np.where(counted, target.array, 0)]
        smooth = smooth.sum() / wrap(share.sum())
    else:
        smooth = reduce(smooth, reduction)
    return loss * (1 - label_smoothing) + smooth * (label_smoothing / classes)


@composite("aten::binary_cross_entropy")
def binary_cross_entropy(
    input: Tensor,  # noqa: A002
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
    loss = -(
        target * input.log().clamp(min=-100) + (1 - target) * (1 - input).log().clamp(min=-100)
    )
    return reduce(loss if weight is None else loss * weight, reduction)


@composite("aten::binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    input: Tensor,  # noqa: A002
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
    soft = _log_sigmoid(input)
    if pos_weight is None:
        loss = (1 - target) * input - soft
    else:
        loss = (1 - target) * input - ((pos_weight - 1) * target + 1) * soft
    return reduce(loss if weight is None else loss * weight, reduction)


def _log_sigmoid_forward(self: Any) -> Any:
    return np.minimum(self, 0) - np.log1p(np.exp(-np.abs(self)))


_log_sigmoid = op(
    "aten::log_sigmoid",
    _log_sigmoid_forward,
    "self",
    self=lambda grad, self: grad * sigmoid(-self),
)
logsigmoid = _log_sigmoid


@composite("aten::kl_div")
def kl_div(
    input: Tensor,  # noqa: A002
    target: Tensor,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Target * (log target - input); "batchmean" divides the sum by the batch."""
    if log_target:
        loss = target.exp() * (target - input)
    else:
        positive = target > 0
        safe = where(positive, target, wrap(np.ones((), target.array.dtype)))
        loss = where(positive, target * (safe.log() - input), -input * target)
    if reduction == "batchmean":
        return loss.sum() / input.array.shape[0]
    return reduce(loss, reduction)
