"""Reductions, scans, sorting and norms; `dim` is None (all), a dimension, or several.

Source: derivatives.yaml, torch/csrc/autograd/FunctionsManual.cpp.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import Tensor, wrap
from .table import aten, composite, declare, function


def back(grad: Tensor, shape: tuple[int, ...], dim: Any, keepdim: bool) -> Tensor:
    """A reduced tensor with its dimensions back, each of size 1."""
    if dim is None:
        return aten.reshape(grad, (1,) * len(shape))
    if keepdim:
        return grad
    gone = {dim} if isinstance(dim, int) else set(dim)
    return aten.reshape(grad, tuple(1 if i in gone else s for i, s in enumerate(shape)))


def count(shape: tuple[int, ...], dim: Any) -> int:
    """How many elements are reduced to one."""
    if dim is None:
        return int(np.prod(shape))
    return int(np.prod([shape[a] for a in ((dim,) if isinstance(dim, int) else dim)]))


def _spread(grad: Tensor, shape: tuple[int, ...], dim: Any, keepdim: bool) -> Tensor:
    return aten.expand(back(grad, shape, dim, keepdim), shape)


def _wide(self: Any, dtype: Any) -> Any:
    """Sums and products of integers are int64."""
    return np.int64 if dtype is None and self.dtype.kind in "biu" else dtype


def _sum(self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if dim is None and not keepdim and dtype is None and self.dtype.kind == "f":
        return np.add.reduce(self, None) if self.dtype.itemsize > 2 else self.sum(dtype=self.dtype)
    return np.add.reduce(self, dim, _wide(self, dtype), None, bool(keepdim))


def _mean(self: Any, dim: Any, keepdim: Any, dtype: Any) -> Any:
    if dtype is not None:
        self = self.astype(dtype)
    elif self.dtype.kind in "biu":
        raise ValueError(
            f"mean(): could not infer output dtype. Input dtype must be either a floating point or "
            f"complex dtype. Got: {self.dtype}"
        )
    total = np.add.reduce(self, dim, None, None, bool(keepdim))
    return total / total.dtype.type(count(self.shape, dim))


def _var(self: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    if self.dtype.kind in "biu":
        raise ValueError("std and var only support floating point and complex dtypes")
    centred = self - self.mean(dim, keepdims=True)
    total = (centred * centred.conj()).real.sum(dim, keepdims=keepdim)
    return total / np.maximum(total.dtype.type(count(self.shape, dim) - correction), 0)


def _var_back(grad: Tensor, self: Tensor, dim: Any, correction: float, keepdim: bool) -> Tensor:
    shape = self.array.shape
    scale = 2.0 / (count(shape, dim) - correction)
    return back(grad, shape, dim, keepdim) * (self - self.mean(dim, keepdim=True)) * scale


def _prod_back(grad: Tensor, self: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """Products of all other elements, by products from both sides (right for zeros too)."""
    shape = self.array.shape
    flat = aten.reshape(self, (-1,)) if dim is None else self.movedim(dim, -1)
    one, n = flat.narrow(-1, 0, 1) * 0 + 1, flat.array.shape[-1]
    left = aten.cat([one, flat.narrow(-1, 0, n - 1).cumprod(-1)], -1)
    right = aten.cat([one, flat.narrow(-1, 1, n - 1).flip(-1).cumprod(-1)], -1).flip(-1)
    others = left * right
    others = aten.reshape(others, shape) if dim is None else others.movedim(-1, dim)
    return back(grad, shape, dim, keepdim) * others


def _shared(grad: Tensor, self: Tensor, result: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """An extreme's gradient, shared equally among elements that are equal."""
    shape = self.array.shape
    mask = self == back(result, shape, dim, keepdim)
    return back(grad, shape, dim, keepdim) * (mask / mask.sum(dim, keepdim=True))


def _some(self: Any, dim: Any) -> Any:
    """Refuse to look for an extreme where there is nothing."""
    if not self.size and dim is not None:
        for d in (dim,) if isinstance(dim, int) else dim:
            if not self.shape[d]:
                raise IndexError(f"Expected reduction dim {d} to have non-zero size.")
    return self


def _pick(choose: Any, self: Any, dim: int, keepdim: bool) -> Any:
    if self.dtype.kind == "c":
        raise ValueError("max() and min() do not support complex input")
    if not self.ndim:
        return self.copy(), np.zeros((), np.int64)
    index = np.expand_dims(choose(_some(self, dim), axis=dim), dim)
    value = np.take_along_axis(self, index, dim)
    return (value, index) if keepdim else (value.squeeze(dim), index.squeeze(dim))


def at_index(
    grad: Tensor, shape: tuple[int, ...], index: Tensor, dim: int, keepdim: bool = True
) -> Tensor:
    """Zeros of `shape`, with `grad` at `index` along `dim`."""
    if not shape:
        return grad
    if not keepdim:
        grad, index = grad.unsqueeze(dim), index.unsqueeze(dim)
    return wrap(np.zeros(shape, grad.array.dtype)).scatter_add(dim, index, grad)


def _sort(self: Any, dim: int, descending: bool) -> Any:
    if self.dtype.kind == "c":
        raise ValueError("Sort does not support complex dtypes on CPU")
    if not self.ndim:
        return self.copy(), np.zeros((), np.int64)
    if descending:  # stable too: equal elements keep their order
        flipped = np.flip(self, dim)
        order = np.flip(self.shape[dim] - 1 - np.argsort(flipped, dim, kind="stable"), dim)
    else:
        order = np.argsort(self, dim, kind="stable")
    return np.take_along_axis(self, order, dim), order


def _topk(self: Any, k: int, dim: int, largest: bool) -> Any:
    if k > (self.shape[dim] if self.ndim else 1):
        raise ValueError("selected index k out of range")
    values, order = _sort(self, dim, largest)
    cut = (slice(None),) * dim + (slice(k),) if self.ndim else ()
    return values[cut], order[cut]


def _cumprod_back(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """Row by row where there are zeros; one scan where there are none."""
    if not (self.array == 0).any():
        return (grad * result).flip(dim).cumsum(dim).flip(dim) / self
    rows, weights, found = self.unbind(dim), grad.unbind(dim), []
    for i in range(len(rows)):
        run = None  # the product of all rows up to j, but for row i
        for row in rows[:i]:
            run = row if run is None else run * row
        total = weights[i] if run is None else weights[i] * run
        for row, weight in zip(rows[i + 1 :], weights[i + 1 :], strict=True):
            run = row if run is None else run * row
            total = total + weight * run
        found.append(total)
    return aten.stack(found, dim)


def _logsumexp(self: Any, dim: Any, keepdim: bool) -> Any:
    top = self.max(dim, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0)
    total = np.log(np.exp(self - top).sum(dim, keepdims=True)) + top
    return total if keepdim else total.squeeze(dim)


def _truth(which: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    found = which(self, axis=dim, keepdims=keepdim)
    return found.astype(np.uint8) if self.dtype == np.uint8 else found  # once PyTorch's bool


def _arg(which: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    if self.dtype.kind in "bc":
        raise ValueError(f"not implemented for {self.dtype}")
    if not self.size and dim is None:
        raise IndexError("Expected reduction dim to be specified for input.numel() == 0.")
    return which(_some(self, dim), axis=dim, keepdims=keepdim)


def _norm_back(grad: Tensor, self: Tensor, result: Tensor, dim: Any, keepdim: bool) -> Tensor:
    shape = self.array.shape
    length = back(result, shape, dim, keepdim)
    return aten.where(length == 0, 0.0, self * (back(grad, shape, dim, keepdim) / length))


declare(
    globals(),
    r"""
[torch tensor]
sum(self, dim: dims = None, keepdim: bool = False, *, dtype: any = None) = _sum(self, dim, keepdim, dtype)
    self: _spread(grad, self_shape, dim, keepdim)
prod(self, dim: dims = None, keepdim: bool = False, *, dtype: any = None)
    = np.multiply.reduce(self, dim, _wide(self, dtype), None, keepdim)
    self: _prod_back(grad, conj(self), dim, keepdim)
amax(self, dim: dims = None, keepdim: bool = False)
    = np.max(_some(self, dim), axis=dim, keepdims=keepdim)
    self: _shared(grad, self, result, dim, keepdim)
amin(self, dim: dims = None, keepdim: bool = False)
    = np.min(_some(self, dim), axis=dim, keepdims=keepdim)
    self: _shared(grad, self, result, dim, keepdim)
all(self, dim: dims = None, keepdim: bool = False) = _truth(np.all, self, dim, keepdim)
any(self, dim: dims = None, keepdim: bool = False) = _truth(np.any, self, dim, keepdim)
argmax(self, dim: dims = None, keepdim: bool = False) = _arg(np.argmax, self, dim, keepdim)
argmin(self, dim: dims = None, keepdim: bool = False) = _arg(np.argmin, self, dim, keepdim)
count_nonzero(self, dim: dims = None) = np.asarray(np.count_nonzero(self, dim))
cumsum(self, dim: dim, *, dtype: any = None)
    = np.cumsum(self, dim, _wide(self, dtype)) if self.ndim else _sum(self, None, False, dtype)
    self: grad.flip(dim).cumsum(dim).flip(dim)
cumprod(self, dim: dim, *, dtype: any = None)
    = np.cumprod(self, dim, _wide(self, dtype)) if self.ndim else _sum(self, None, False, dtype)
    self: _cumprod_back(grad, conj(self), conj(result), dim)
sort(self, dim: dim = -1, descending: bool = False, stable: bool = False) -> (values, indices)
    = _sort(self, dim, descending)
    self: at_index(grads[0], self_shape, indices, dim)
topk(self, k: int, dim: dim = -1, largest: bool = True, sorted: bool = True) -> (values, indices)
    = _topk(self, k, dim, largest)
    self: at_index(grads[0], self_shape, indices, dim)
argsort(self, dim: dim = -1, descending: bool = False, stable: bool = False)
    = _sort(self, dim, descending)[1]
[torch tensor quiet]
mean(self, dim: dims = None, keepdim: bool = False, *, dtype: any = None)
    = _mean(self, dim, keepdim, dtype)
    self: _spread(grad, self_shape, dim, keepdim) / count(self_shape, dim)
[torch tensor float quiet]
logsumexp(self, dim: dims, keepdim: bool = False) = _logsumexp(self, dim, keepdim)
    self: back(grad, self_shape, dim, keepdim)
        * conj((self - back(result, self_shape, dim, keepdim)).exp())
[quiet]
var.correction(self, dim: dims, correction: any, keepdim: bool) = _var(self, dim, correction, keepdim)
    self: _var_back(grad, self, dim, correction, keepdim)
std.correction(self, dim: dims, correction: any, keepdim: bool)
    = np.sqrt(_var(self, dim, correction, keepdim))
    self: _var_back((grad / (result * 2)).masked_fill(result == 0, 0), self, dim, correction, keepdim)
[]
max.all(self) = np.max(self) => _shared(grad, self, result, None, False)
min.all(self) = np.min(self) => _shared(grad, self, result, None, False)
max.dim(self, dim: dim, keepdim: bool) -> (values, indices) = _pick(np.argmax, self, dim, keepdim)
    self: at_index(grads[0], self_shape, indices, dim, keepdim)
min.dim(self, dim: dim, keepdim: bool) -> (values, indices) = _pick(np.argmin, self, dim, keepdim)
    self: at_index(grads[0], self_shape, indices, dim, keepdim)
linalg_vector_norm.two(self, dim: dims, keepdim: bool)
    = np.sqrt(np.add.reduce((self * self.conj()).real, dim, None, None, keepdim))
    self: _norm_back(grad, self, result, dim, keepdim)
[torch tensor]
sum_to_size(self, *size: sizes) := _sum_to_size(self, sizes(size))
median(self)
    := self.flatten().sort().values[(self.numel() - 1) // 2] if self.numel() else self.mean()
""",
)


def _sum_to_size(self: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Summed over the dimensions that broadcasting from `shape` added or stretched."""
    have = self.array.shape
    if shape == have:
        return self
    lead = len(have) - len(shape)
    dims = (*range(lead), *(i + lead for i, s in enumerate(shape) if s == 1 != have[i + lead]))
    found = aten.sum(self, dims, True) if dims else self
    return aten.reshape(found, shape) if lead else found


def _moment(name: str, which: str) -> Any:
    def call(
        input: Tensor,
        *args: Any,
        dim: Any = None,
        unbiased: Any = None,
        correction: Any = None,
        keepdim: bool = False,
    ) -> Tensor:
        """Over `dim`, with N - correction for N (1 by default, 0 for `unbiased=False`)."""
        dim = args[0] if args else dim
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if len(args) > 1 and isinstance(args[1], bool):
            unbiased = args[1]
        if unbiased is not None:
            correction = int(unbiased)
        keepdim = args[2] if len(args) > 2 else keepdim
        run = getattr(aten, which)
        found: Tensor = run(input, dim, 1 if correction is None else correction, keepdim)
        return found

    call.__name__ = name
    return function("torch tensor")(call)


def _max_or_min(name: str, pair: str) -> Any:
    def call(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
        """Of all elements; along `dim` with indices; or elementwise of two tensors."""
        if dim is None:
            return getattr(aten, f"{name}_all")(input)
        if isinstance(dim, Tensor):
            return getattr(aten, pair)(input, dim)
        return getattr(aten, f"{name}_dim")(input, dim, keepdim)

    call.__name__ = name
    return function("torch tensor")(call)


for _name in ("var", "std"):
    _moment(_name, f"{_name}_correction")
_max_or_min("max", "maximum")
_max_or_min("min", "minimum")


@function("torch tensor")
def norm(
    input: Tensor,
    p: Any = 2,
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> Tensor:
    """The p-norm over `dim` ("fro" is 2)."""
    if dtype is not None:
        input = input.to(dtype)
    if input.array.dtype.kind in "biu":
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor")
    if p in (2, "fro", None):
        return aten.linalg_vector_norm_two(input, dim, keepdim)
    if p in (float("inf"), -float("inf")):
        return (aten.amax if p > 0 else aten.amin)(input.abs(), dim, keepdim)
    if p == 0:
        return (input != 0).to(input.dtype).sum(dim, keepdim)
    if p == 1:
        return input.abs().sum(dim, keepdim)
    return (input.abs() ** p).sum(dim, keepdim) ** (1.0 / p)


@composite("torch tensor nn")
def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """exp, divided by its sum over `dim`."""
    return aten._softmax(input if dtype is None else input.to(dtype), dim)


@composite("torch tensor nn")
def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of softmax, computed without overflow."""
    return aten._log_softmax(input if dtype is None else input.to(dtype), dim)


def _soft(self: Any, dim: int, log: bool) -> Any:
    axis = dim if self.ndim else None
    apart = np.asarray(self - np.max(self, axis, keepdims=True, initial=-np.inf))
    each = np.asarray(np.exp(apart))
    total = np.add.reduce(each, axis, None, None, True)
    if log:
        return np.subtract(apart, np.log(total), out=apart)
    return np.divide(each, total, out=each)


declare(
    globals(),
    r"""
[float]
_softmax(self, dim: dim) = _soft(self, dim, False)
    self: _softmax_backward_data(grad, result, dim) || _soft_back(grad, result, dim)
_log_softmax(self, dim: dim) = _soft(self, dim, True)
    self: _log_softmax_backward_data(grad, result, dim) || _log_soft_back(grad, result, dim)
[]
_softmax_backward_data(grad_output, output, dim: int) = _soft_back(grad_output, output, dim)
    grad_output: _softmax_backward_data(grad, output, dim)
    output: _soft_second(grad, grad_output, output, dim)
_log_softmax_backward_data(grad_output, output, dim: int) = _log_soft_back(grad_output, output, dim)
    grad_output: grad - (grad * output.exp()).sum(dim, keepdim=True)
    output: -grad * output.exp() * grad_output.sum(dim, keepdim=True)
""",
)


def _soft_back(grad: Any, result: Any, dim: int) -> Any:
    scaled = grad * result
    return scaled - result * scaled.sum(dim, keepdims=True)


def _log_soft_back(grad: Any, result: Any, dim: int) -> Any:
    return grad - np.exp(result) * grad.sum(dim, keepdims=True)


def _soft_second(grad: Tensor, given: Tensor, output: Tensor, dim: int) -> Tensor:
    inner = (given * output).sum(dim, keepdim=True)
    return grad * (given - inner) - given * (grad * output).sum(dim, keepdim=True)
