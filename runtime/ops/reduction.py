"""Reductions, scans, sorting and norms; `dim` is None (all), a dimension, or several.

Source: derivatives.yaml, torch/csrc/autograd/FunctionsManual.cpp.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..grad_mode import is_grad_enabled
from ..record_function import active
from ..tensor import Tensor, wrap
from .arguments import zeros_beside
from .table import aten, declare, function

Ints = tuple[int, ...]


_add: Any = np.add.reduce


def back(grad: Tensor, shape: Ints, dim: Any, keepdim: bool) -> Tensor:
    """A reduced tensor with its dimensions back, each of size 1."""
    if dim is None:
        return aten.reshape(grad, (1,) * len(shape))
    if keepdim:
        return grad
    gone = {dim} if isinstance(dim, int) else set(dim)
    return aten.reshape(grad, tuple(1 if i in gone else s for i, s in enumerate(shape)))


def count(shape: Ints, dim: Any) -> int:
    """How many elements are reduced to one."""
    dims = range(len(shape)) if dim is None else (dim,) if isinstance(dim, int) else dim
    return math.prod(shape[d] for d in dims)


def _wide(self: Any, dtype: Any) -> Any:
    """Sums and products of integers are int64."""
    return np.int64 if dtype is None and self.dtype.kind in "biu" else dtype


def _sum(self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if dim is None and not keepdim and dtype is None and self.dtype.kind == "f":
        if self.dtype.itemsize > 2:
            return _add(self, None)
        with np.errstate(over="ignore"):  # float16: infinite, as in PyTorch
            return self.sum(dtype=self.dtype)
    return _add(self, dim, _wide(self, dtype), None, bool(keepdim))


def _mean(self: Any, dim: Any, keepdim: Any, dtype: Any) -> Any:
    if dtype is not None:
        self = self.astype(dtype)
    elif self.dtype.kind in "biu":
        raise ValueError(f"the input must be floating point or complex, got {self.dtype}")
    total = _add(self, dim, None, None, bool(keepdim))
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
    flat = self.reshape(-1) if dim is None else self.movedim(dim, -1)

    def before(x: Tensor) -> Tensor:
        one, n = x.narrow(-1, 0, 1) * 0 + 1, x.array.shape[-1]
        return aten.cat([one, x.narrow(-1, 0, n - 1)], -1).cumprod(-1)

    others = before(flat) * before(flat.flip(-1)).flip(-1)
    others = others.reshape(shape) if dim is None else others.movedim(-1, dim)
    return back(grad, shape, dim, keepdim) * others


def _shared(grad: Tensor, self: Tensor, result: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """An extreme's gradient, shared equally among elements that are equal."""
    shape = self.array.shape
    mask: Any = self == back(result, shape, dim, keepdim)
    return back(grad, shape, dim, keepdim) * (mask / mask.sum(dim, keepdim=True))


def _real(self: Any) -> Any:
    if self.dtype.kind == "c":
        raise ValueError("complex numbers have no order")
    return self


def _some(self: Any, dim: Any, index: bool = False) -> Any:
    """Refuse to look for an extreme where there is nothing."""
    if not self.size and dim is not None:
        for d in (dim,) if isinstance(dim, int) else dim:
            if not self.shape[d]:
                raise IndexError(f"Expected reduction dim {d} to have non-zero size.")
    elif not self.size and index:
        raise IndexError("Expected reduction dim to be specified for input.numel() == 0.")
    return self


def _picked(self: Any, index: Any, dim: int) -> Any:
    return np.take_along_axis(self, index, dim) if self.ndim else self.copy(), index


def at_index(grad: Tensor, shape: Ints, index: Tensor, dim: int, keepdim: bool = True) -> Tensor:
    """Zeros of `shape`, with `grad` at `index` along `dim`."""
    if not shape:
        return grad
    if not keepdim:
        grad, index = grad.unsqueeze(dim), index.unsqueeze(dim)
    return zeros_beside(shape, grad).scatter_add(dim, index, grad)


def _order(self: Any, dim: int, descending: bool) -> Any:
    """Stable: equal elements keep their order."""
    _real(self)
    if not self.ndim:
        return np.zeros((), np.int64)
    order = np.argsort(np.flip(self, dim) if descending else self, dim, kind="stable")
    return np.flip(self.shape[dim] - 1 - order, dim) if descending else order


def _first(order: Any, k: int, dim: int) -> Any:
    if k > (order.shape[dim] if order.ndim else 1):
        raise ValueError("selected index k out of range")
    return order[(slice(None),) * dim + (slice(k),)] if order.ndim else order


def _extreme(self: Any, index: Any, dim: int, keepdim: bool) -> Any:
    found = _picked(self, np.expand_dims(index, dim) if self.ndim else index, dim)
    return found if keepdim or not self.ndim else [x.squeeze(dim) for x in found]


def _cumprod_back(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """Row by row where there are zeros; one scan where there are none."""
    if not (self.array == 0).any():
        return (grad * result).flip(dim).cumsum(dim).flip(dim) / self
    found, place = [], np.arange(self.array.shape[dim])
    for i in place.tolist():
        row = wrap((place == i).reshape(-1, *(1,) * (self.array.ndim - 1 - dim)))
        each = grad * self.masked_fill(row, 1).cumprod(dim)
        found.append(each.narrow(dim, i, len(place) - i).sum(dim))
    return aten.stack(found, dim)


def _logsumexp(self: Any, dim: Any, keepdim: bool) -> Any:
    top = self.max(dim, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0)
    total = np.log(np.exp(self - top).sum(dim, keepdims=True)) + top
    return total if keepdim else total.squeeze(dim)


def _ordered(self: Any) -> Any:
    if self.dtype.kind in "bc":
        raise ValueError(f"not implemented for {self.dtype}")
    return self


def _truth(which: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    found = which(self, axis=dim, keepdims=keepdim)
    return found.astype(np.uint8) if self.dtype == np.uint8 else found  # once PyTorch's bool


def _sum_to(self: Tensor, shape: Ints) -> Tensor:
    """Summed over the dimensions that broadcasting from `shape` added or stretched."""
    have = self.array.shape
    if shape == have:
        return self
    if have[1:] == shape and not (is_grad_enabled() or self.is_sparse):  # a bias: a shorter way
        if not active:
            return wrap(_sum_rows(self.array))
        row = active[0].op(
            "aten::sum", lambda x, *_: wrap(_sum_rows(x.array)[None]), (self, 0, True)
        )
        return active[0].op("aten::view", lambda x, _: wrap(x.array[0]), (row, shape))
    lead = len(have) - len(shape)
    dims = (*range(lead), *(i + lead for i, s in enumerate(shape) if s == 1 != have[i + lead]))
    found = aten.sum(self, dims, True) if dims else self
    return found.view(shape) if lead else found


Tensor._sum_to = _sum_to
_ones: dict[tuple[int, str], Any] = {}


def _sum_rows(array: Any) -> Any:
    """Small matrices' sums are products, which takes a third of the time."""
    if array.ndim != 2 or array.size > 2**16 or array.dtype.char not in "fd":
        return np.add.reduce(array, 0)
    key = len(array), array.dtype.char
    if key not in _ones:
        _ones[key] = np.ones(len(array), array.dtype)
    return _ones[key].dot(array)


def _soft(self: Any, dim: int, log: bool) -> Any:
    axis = dim if self.ndim else None
    apart = np.asarray(self - np.max(self, axis, keepdims=True, initial=-np.inf))
    each = np.asarray(np.exp(apart))
    total = _add(each, axis, None, None, True)
    if log:
        return np.subtract(apart, np.log(total), out=apart)
    return np.divide(each, total, out=each)


def _soft_back(grad: Any, result: Any, dim: int) -> Any:
    scaled = grad * result
    return scaled - result * scaled.sum(dim, keepdims=True)


def _log_soft_back(grad: Any, result: Any, dim: int) -> Any:
    return grad - np.exp(result) * grad.sum(dim, keepdims=True)


def _soft_second(grad: Tensor, given: Tensor, output: Tensor, dim: int) -> Tensor:
    inner = (given * output).sum(dim, keepdim=True)
    return grad * (given - inner) - given * (grad * output).sum(dim, keepdim=True)


declare(
    globals(),
    r"""
[torch tensor]
sum(self, dim: dims = None, keepdim: bool = False, *, dtype: any = None)
    = _sum(self, dim, keepdim, dtype) => expand(back(grad, self_shape, dim, keepdim), self_shape)
prod(self, dim: dims = None, keepdim: bool = False, *, dtype: any = None)
    = np.multiply.reduce(self, dim, _wide(self, dtype), None, keepdim)
    self: _prod_back(grad, conj(self), dim, keepdim)
all(self, dim: dims = None, keepdim: bool = False) = _truth(np.all, self, dim, keepdim)
any(self, dim: dims = None, keepdim: bool = False) = _truth(np.any, self, dim, keepdim)
count_nonzero(self, dim: dims = None) = np.asarray(np.count_nonzero(self, dim))
cumsum(self, dim: dim, *, dtype: any = None)
    = np.cumsum(self, dim, _wide(self, dtype)) if self.ndim else _sum(self, None, False, dtype)
    self: grad.flip(dim).cumsum(dim).flip(dim)
cumprod(self, dim: dim, *, dtype: any = None)
    = np.cumprod(self, dim, _wide(self, dtype)) if self.ndim else _sum(self, None, False, dtype)
    self: _cumprod_back(grad, conj(self), conj(result), dim)
sort(self, dim: dim = -1, descending: bool = False, stable: bool = False) -> (values, indices)
    = _picked(self, _order(self, dim, descending), dim)
    self: at_index(grads[0], self_shape, indices, dim)
topk(self, k: int, dim: dim = -1, largest: bool = True, sorted: bool = True) -> (values, indices)
    = _picked(self, _first(_order(self, dim, largest), k, dim), dim)
    self: at_index(grads[0], self_shape, indices, dim)
argsort(self, dim: dim = -1, descending: bool = False, stable: bool = False)
    = _order(self, dim, descending)
[torch tensor quiet]
mean(self, dim: dims = None, keepdim: bool = False, *, dtype: any = None)
    = _mean(self, dim, keepdim, dtype)
    self: expand(back(grad, self_shape, dim, keepdim), self_shape) / count(self_shape, dim)
[torch tensor float quiet]
logsumexp(self, dim: dims, keepdim: bool = False) = _logsumexp(self, dim, keepdim)
    self: back(grad, self_shape, dim, keepdim)
        * conj((self - back(result, self_shape, dim, keepdim)).exp())
[quiet]
var.correction(self, dim: dims, correction: any, keepdim: bool)
    = _var(self, dim, correction, keepdim) => _var_back(grad, self, dim, correction, keepdim)
std.correction(self, dim: dims, correction: any, keepdim: bool)
    = np.sqrt(_var(self, dim, correction, keepdim))
    self: _var_back((grad / (result * 2)).masked_fill(result == 0, 0), self, dim, correction,
        keepdim)
[]
linalg_vector_norm.two(self, dim: dims, keepdim: bool)
    = np.sqrt(np.add.reduce((self * self.conj()).real, dim, None, None, keepdim))
    self: self * back((grad / result).masked_fill(result == 0, 0), self_shape, dim, keepdim)
[torch tensor]
sum_to_size(self, *size: sizes) := _sum_to(self, sizes(size))
median(self)
    := self.flatten().sort().values[(self.numel() - 1) // 2] if self.numel() else self.mean()
[torch tensor nn]
softmax(self, dim: int, *, dtype = None) := _softmax(self if dtype is None else self.to(dtype), dim)
log_softmax(self, dim: int, *, dtype = None)
    := _log_softmax(self if dtype is None else self.to(dtype), dim)
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

_EXTREMES = """
[torch tensor]
a{0}(self, dim: dims = None, keepdim: bool = False)
    = np.{0}(_some(self, dim), axis=dim, keepdims=keepdim)
    self: _shared(grad, self, result, dim, keepdim)
arg{0}(self, dim: dims = None, keepdim: bool = False)
    = np.arg{0}(_some(_ordered(self), dim, True), axis=dim, keepdims=keepdim)
[]
{0}.all(self) = np.{0}(self) => _shared(grad, self, result, None, False)
{0}.dim(self, dim: dim, keepdim: bool) -> (values, indices)
    = _extreme(self, np.arg{0}(_some(_real(self), dim), dim if self.ndim else None), dim, keepdim)
    self: at_index(grads[0], self_shape, indices, dim, keepdim)"""
for _name in ("max", "min"):
    declare(globals(), _EXTREMES.format(_name))


def _moment(name: str) -> None:
    def call(
        input: Tensor, *args: Any, dim: Any = None, unbiased: Any = None, correction: Any = None,
        keepdim: bool = False,
    ) -> Any:  # fmt: skip
        """Over `dim`, with N - correction for N (1 by default, 0 for `unbiased=False`)."""
        dim, *more = args or (dim,)
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        unbiased, keepdim = more[0] if more else unbiased, more[1] if more[1:] else keepdim
        correction = correction if unbiased is None else int(unbiased)
        return run(input, dim, 1 if correction is None else correction, keepdim)

    run = getattr(aten, f"{name}_correction")
    call.__name__ = name
    function("torch tensor")(call)


def _max_or_min(name: str) -> None:
    def call(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
        """Of all elements; along `dim` with indices; or elementwise of two tensors."""
        if dim is None:
            return getattr(aten, f"{name}_all")(input)
        if isinstance(dim, Tensor):
            return getattr(aten, f"{name}imum")(input, dim)
        return getattr(aten, f"{name}_dim")(input, dim, keepdim)

    call.__name__ = name
    function("torch tensor")(call)


_moment("var")
_moment("std")
_max_or_min("max")
_max_or_min("min")


@function("torch tensor")
def norm(
    input: Tensor, p: Any = 2, dim: Any = None, keepdim: Any = False, dtype: Any = None
) -> Any:
    """The p-norm over `dim` ("fro" is 2)."""
    if dtype is None and input.array.dtype.kind in "biu":
        raise RuntimeError("norm: expected a floating point or complex tensor")
    input = input if dtype is None else input.to(dtype)
    if p in (2, "fro", None):
        return aten.linalg_vector_norm_two(input, dim, keepdim)
    if abs(p) == math.inf:
        return (aten.amax if p > 0 else aten.amin)(input.abs(), dim, keepdim)
    if p == 0:
        return aten.ne(input, 0).to(input.dtype).sum(dim, keepdim)
    total = (input.abs() if p == 1 else input.abs() ** p).sum(dim, keepdim)
    return total if p == 1 else total ** (1.0 / p)
