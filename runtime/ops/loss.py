"""Losses. `reduction` is "mean", "sum" or "none".

Source: torch/nn/functional.py, aten/src/ATen/native/Loss.cpp, LossNLL.cpp.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..core.aten import aten
from ..core.dtypes import promote, result_dtype
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap
from .make import TABLE, declare, refused


def _valid(reduction: str) -> str:
    if reduction not in {"mean", "sum", "none"}:
        raise refused(f"{reduction} is not a valid value for reduction", ValueError)
    return reduction


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    if _valid(reduction) == "none":
        return loss
    return loss.mean() if reduction == "mean" else loss.sum()


def _mse(self: Any, target: Any, reduction: str) -> Any:
    if self.shape != target.shape:
        warn_of_sizes(self, target)
    if self.dtype != target.dtype:
        self, target = promote(self, target)
    apart = self - target
    if _valid(reduction) == "none":
        return apart * apart
    flat = apart.reshape(-1)
    total = flat.dot(flat)
    return _ratio(total, total.dtype.type(flat.size)) if reduction == "mean" else total


def _ratio(total: Any, count: Any) -> Any:
    """Of no elements that is nan."""
    return total / count if count else total * np.nan


def _mse_back(grad: Any, input: Any, target: Any, reduction: str) -> Any:
    apart = input - target
    apart *= grad * grad.dtype.type(2.0 / (apart.size or 1) if reduction == "mean" else 2.0)
    return apart


def _slope(grad: Tensor, given: Tensor, input: Tensor, reduction: str) -> Tensor:
    count = np.broadcast(input.array, grad.array).size or 1
    return grad * given * (2.0 / count if reduction == "mean" else 2.0)


def _counted(x: Any, target: Any, weight: Any, ignore_index: int) -> tuple[int, Any, Any]:
    """The dimension of classes, the targets with ignored ones at 0, and how much each counts."""
    dim = min(x.ndim - 1, 1)
    if target.dtype not in (np.int64, np.uint8):
        raise ValueError(f"expected target dtype to be Long or Byte, but got {target.dtype}")
    if weight is not None:
        _per_class(weight, x.shape[dim])
        if weight.dtype != x.dtype:
            raise ValueError(f"expected a weight of {x.dtype} but found {weight.dtype}")
    if target.shape != x.shape[:dim] + x.shape[dim + 1 :]:
        raise ValueError(f"a target of size {target.shape} does not fit {x.shape}")
    if target.size and 0 <= target.min() <= target.max() < x.shape[dim]:
        safe, share = target, None  # nothing to leave out
    else:
        counted = target != ignore_index
        safe = np.where(counted, target, 0)
        if safe.size and (safe.min() < 0 or safe.max() >= x.shape[dim]):
            raise IndexError(f"Target {min(safe.min(), 0) or safe.max()} is out of bounds.")
        share = counted.astype(x.dtype)
    if share is None and (0 <= ignore_index < x.shape[dim] or weight is not None):
        share = (target != ignore_index).astype(x.dtype)
    return dim, np.expand_dims(safe, dim), share if weight is None else share * weight[safe]


def _per_class(weight: Any, classes: int) -> Any:
    told = f"weight tensor should be defined either for all {classes} classes or no classes"
    check(weight.shape == (classes,), f"{told} but got weight tensor of shape: {weight.shape}")
    return weight


def _nll(self: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    dim, safe, share = _counted(self, target, weight, ignore_index)
    loss = -np.take_along_axis(self, safe, dim).squeeze(dim)
    if share is not None:  # what is ignored may be nan
        loss = np.where(target == ignore_index, self.dtype.type(0), loss * share)
    if reduction == "none":
        return loss
    total = loss.sum(dtype=self.dtype)
    return _ratio(total, _total(self, safe, share)) if reduction == "mean" else total


def _total(x: Any, safe: Any, share: Any) -> Any:
    return x.dtype.type(safe.size) if share is None else share.sum(dtype=x.dtype)


def _nll_back(grad: Any, self: Any, target: Any, weight: Any, reduction: str, ignore: int) -> Any:
    dim, safe, share = _counted(self, target, weight, ignore)
    each = -grad if reduction != "mean" else _ratio(-grad, _total(self, safe, share))
    if share is not None:  # where all are ignored the ratio is nan
        each = np.where(target == ignore, self.dtype.type(0), each * share)
    found = np.zeros_like(self)
    each = np.expand_dims(each, dim) if np.ndim(each) else each
    np.put_along_axis(found, safe, each, dim)
    return found


def _cross(x: Tensor, target: Tensor, weight: Any, ignore: int, reduction: str, p: float) -> Tensor:
    """`p` of the target's share is spread evenly over all classes."""
    check(p <= 1, f"label_smoothing must be between 0.0 and 1.0. Got: {p}")
    p, dim = max(p, 0), min(x.array.ndim - 1, 1)
    logs, classes = aten.log_softmax(x, dim), x.array.shape[dim]
    ones = (1,) * (x.array.ndim - 1 - dim)
    weighted = logs if weight is None else logs * _per_class(weight, classes).reshape((-1, *ones))
    if target.array.dtype.kind in "fV":
        check(ignore < 0, "ignore_index is not supported for floating point target")
        target = target * (1 - p) + p / classes if p else target
        return _reduced(-(weighted * target).sum(dim), reduction)
    loss = aten.nll_loss(logs, target, weight, None, ignore, None, reduction)
    if not p:
        return loss
    _, safe, share = _counted(x.array, target.array, getattr(weight, "array", None), ignore)
    smooth = (-weighted.sum(dim)).masked_fill(wrap(np.asarray(target.array == ignore)), 0)
    if reduction == "mean":
        smooth = smooth.sum() / wrap(_total(x.array, safe, share))
    else:
        smooth = _reduced(smooth, reduction)
    return loss * (1 - p) + smooth * (p / classes)


def _batch(x: Tensor, target: Tensor) -> Tensor:
    if x.array.ndim > 1 and x.array.shape[:1] != target.array.shape[:1]:
        raise ValueError(f"a batch of {x.array.shape[0]} with targets of size {target.shape}")
    return x


def _beside(input: Tensor, target: Tensor) -> Tensor:
    if target.array.shape != input.array.shape:
        warn_of_sizes(input.array, target.array)
    return target


def warn_of_sizes(input: Any, target: Any) -> None:
    what = f"Using a target size ({target.shape}) that is different to the input size"
    why = "This will likely lead to incorrect results due to broadcasting."
    warnings.warn(f"{what} ({input.shape}). {why}", stacklevel=5)


def _huber(apart: Tensor, delta: float) -> Tensor:
    check(delta > 0, "huber_loss does not support non-positive values for delta.")
    return aten.where(apart <= delta, apart * apart * 0.5, (apart - 0.5 * delta) * delta)


def _alike(input: Tensor, target: Tensor) -> Tensor:
    if input.array.shape != target.array.shape:
        raise ValueError(f"target size {target.shape} is not the input's, {input.shape}")
    return target


def _bce(self: Any, target: Any, weight: Any, reduction: str) -> Any:
    """Logarithms are kept above -100."""
    check(self.dtype.kind in "fV", f"binary_cross_entropy: not implemented for {self.dtype}")
    for name, x in (("input", self), ("target", target)):
        within = not x.size or (x.min() >= 0 and x.max() <= 1)
        check(within, f"all elements of {name} should be between 0 and 1")
    check(target.dtype == self.dtype, f"Found dtype {target.dtype} but expected {self.dtype}")
    of_zeros = (target - 1) * np.maximum(np.log(1 - self), self.dtype.type(-100))
    loss = of_zeros - target * np.maximum(np.log(self), self.dtype.type(-100))
    loss = loss if weight is None else loss * weight
    if reduction == "none":
        return loss
    total = loss.sum(dtype=self.dtype)
    return _ratio(total, total.dtype.type(loss.size)) if reduction == "mean" else total


def _bce_back(grad: Any, self: Any, target: Any, weight: Any, reduction: str) -> Any:
    """Finite at 0 and 1, where a sigmoid ends."""
    found = grad * (self - target) / np.maximum((1 - self) * self, self.dtype.type(1e-12))
    found = found if weight is None else found * weight
    return found / self.dtype.type(found.size or 1) if reduction == "mean" else found


def _bce_part(grad: Any, weight: Any, reduction: str) -> Any:
    """What a gradient of each element counts; it has the size of the input."""
    grad = grad if weight is None else grad * weight
    return grad / (grad.array.size or 1) if reduction == "mean" else grad


def _bce_wide(x: Any) -> Any:
    return ((1 - x) * x).clamp(min=1e-12)


def _bce_logits(input: Tensor, target: Tensor, pos_weight: Tensor | None) -> Tensor:
    told = f"result type Float can't be cast to the desired output type {target.array.dtype}"
    check(target.array.dtype.kind in "fcV", told)
    soft = aten.logsigmoid(input)
    scaled = soft if pos_weight is None else ((pos_weight - 1) * target + 1) * soft
    return (1 - target) * input - scaled


def _weighted(loss: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    return _reduced(loss if weight is None else loss * weight, reduction)


def _unit(x: Tensor, other: Tensor, dim: int, eps: float) -> Tensor:
    """Of norm 1 along `dim`; that the norm is at least `eps` has no part in the gradient."""
    x, _ = aten.broadcast_tensors(_floating(x, other), other)
    norm = x.norm(2, dim, True)
    least = norm.detach().clamp(min=eps)
    return x / (norm + (least - norm.detach()))


def _floating(x: Tensor, other: Tensor) -> Tensor:
    dtype = result_dtype(x.array, other.array)
    check(dtype.kind in "fVc", f"expected common dtype to be floating point, not {dtype}")
    return x if x.array.dtype == dtype else x.to(dtype)


def _kl(input: Tensor, target: Tensor, log_target: bool) -> Tensor:
    integral = target.array.dtype.kind in "biu" or input.array.dtype.kind in "biu"
    check(not integral, "kl_div: Integral inputs not supported.")
    if log_target:
        return target.exp() * (target - input)
    return aten.xlogy(target, target) - target * input


_ROWS = r"""
[nn wide]
mse_loss(self, target, size_average: any = None, reduce: any = None, reduction: str = "mean")
    = _mse(self, target, reduction)
    self: mse_loss_backward(grad, self, target, reduction)
        || _mse_back(grad, self, target, reduction)
    target: -mse_loss_backward(grad, self, target, reduction)
        || -_mse_back(grad, self, target, reduction)
[wide]
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
binary_cross_entropy.forward(self, target, weight: number, reduction: str)
    = _bce(self, target, weight, reduction)
    self: binary_cross_entropy_backward(grad, self, target, weight, reduction)
        || _bce_back(grad, self, target, weight, reduction)
    target: _bce_part(grad * ((1 - self).log() - self.log()), weight, reduction)
binary_cross_entropy_backward(grad_output, self, target, weight: number, reduction: str)
    = _bce_back(grad_output, self, target, weight, reduction)
    grad_output: _bce_part(grad * (self - target) / _bce_wide(self), weight, reduction)
    self: _bce_part(grad * grad_output * (self * self - 2 * self * target + target)
        / _bce_wide(self) ** 2, weight, reduction)
    target: _bce_part(-grad * grad_output / _bce_wide(self), weight, reduction)
[nn]
l1_loss(self, target, size_average = None, reduce = None, reduction: str = "mean")
    := _reduced((self - _beside(self, target)).abs(), reduction)
huber_loss(self, target, reduction: str = "mean", delta: float = 1.0)
    := _reduced(_huber((self - _beside(self, target)).abs(), delta), reduction)
smooth_l1_loss(self, target, size_average = None, reduce = None, reduction: str = "mean",
    beta: float = 1.0)
    := _reduced(_huber((self - _beside(self, target)).abs(), beta) / beta, reduction)
    if beta else l1_loss(self, target, None, None, reduction)
nll_loss(self, target, weight = None, size_average = None, ignore_index: int = -100, reduce = None,
    reduction: str = "mean")
    := nll_loss_forward(_batch(self, target), target, weight, _valid(reduction), ignore_index)
cross_entropy(self, target, weight = None, size_average = None, ignore_index: int = -100,
    reduce = None, reduction: str = "mean", label_smoothing: float = 0.0)
    := _cross(self, target, weight, ignore_index, reduction, label_smoothing)
binary_cross_entropy(self, target, weight = None, size_average = None, reduce = None,
    reduction: str = "mean")
    := binary_cross_entropy_forward(self, _alike(self, target), weight, _valid(reduction))
binary_cross_entropy_with_logits(self, target, weight = None, size_average = None, reduce = None,
    reduction: str = "mean", pos_weight = None)
    := _weighted(_bce_logits(self, _alike(self, target), pos_weight), weight, reduction)
kl_div(self, target, size_average = None, reduce = None, reduction: str = "mean",
    log_target: bool = False)
    := _kl(self, target, log_target).sum() / self.array.shape[0] if reduction == "batchmean"
    else _reduced(_kl(self, target, log_target), reduction)
[torch nn]
cosine_similarity(x1, x2, dim: int = 1, eps: float = 1e-8)
    := (_unit(x1, x2, dim, eps) * _unit(x2, x1, dim, eps)).sum(dim)
"""
declare(globals(), _ROWS)
TABLE["nll_loss"].name = "aten::nll_loss_nd"
TABLE["cross_entropy"].name = "aten::cross_entropy_loss"
