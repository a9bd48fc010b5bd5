"""Reductions, scans, sorting and norms; `dim` is None (all), a dimension, or several.

Source: derivatives.yaml, torch/csrc/autograd/FunctionsManual.cpp.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ..core.aten import aten
from ..core.dtypes import as_dtype, narrowed, widened
from ..engine.grad_mode import is_grad_enabled
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap
from ..observe.arrangement import active
from ..observe.bookkeeping import around
from .make import declare, function, into, zeros_beside

Ints = tuple[int, ...]


_add: Any = np.add.reduce
_WHOLE = (int, np.integer)


def back(grad: Tensor, shape: Ints, dim: Any, keepdim: bool) -> Tensor:
    """Return a reduced tensor with its dimensions back, each of size 1."""
    if dim is None:
        return aten.reshape(grad, (1,) * len(shape))
    if keepdim:
        return grad
    gone = {d % max(len(shape), 1) for d in ((dim,) if isinstance(dim, _WHOLE) else dim)}
    gone = gone or {*range(len(shape))}
    return aten.reshape(grad, tuple(1 if i in gone else s for i, s in enumerate(shape)))


def count(shape: Ints, dim: Any) -> int:
    """Count how many elements are reduced to one."""
    dims = range(len(shape)) if dim is None else (dim,) if isinstance(dim, _WHOLE) else dim
    return math.prod(shape[d] for d in dims)


def _gathered(gather: Any, self: Any, dim: Any, dtype: Any, *args: Any) -> Any:
    """A sum, a product, or a scan of either: of integers in int64, of 16-bit floats in float32."""
    if dtype is not None:
        self = self.astype(as_dtype(dtype), copy=False)
    elif self.dtype.kind in "biu":
        dtype = np.int64
    half, self = widened(self)
    with np.errstate(all="ignore"):
        found = gather(self, dim, dtype if half is None else None, None, *args)
    return found if half is None else narrowed(found, half)


def _sum(self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if dim is None and not keepdim and dtype is None and self.dtype.char in "fd":
        return _add(self, None)
    return _gathered(_add, self, dim, dtype, bool(keepdim))


def _scan(gather: Any, self: Any, dim: Any, dtype: Any) -> Any:
    found = _gathered(gather, np.atleast_1d(self), dim, dtype)
    return found if self.ndim else found[0]


def _mean(self: Any, dim: Any, keepdim: Any, dtype: Any) -> Any:
    if dtype is not None:
        self = self.astype(as_dtype(dtype))
    if self.dtype.kind in "biu":
        raise ValueError(f"the input must be floating point or complex, got {self.dtype}")
    half = None
    if self.itemsize == 2:
        half, self = widened(self)
    total = _add(self, dim, None, None, bool(keepdim))
    found = total / total.dtype.type(count(self.shape, dim))
    return found if half is None else narrowed(found, half)


def _var(self: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    if self.dtype.kind in "biu":
        raise ValueError("std and var only support floating point and complex dtypes")
    number = count(self.shape, dim)
    if number <= correction:
        warnings.warn("var(): degrees of freedom is <= 0.", stacklevel=4)
    centred = self - _add(self, dim, None, None, True) / self.dtype.type(number)
    total = _add((centred * centred.conj()).real, dim, None, None, bool(keepdim))
    return total / np.maximum(total.dtype.type(number - correction), 0)


def _var_back(grad: Tensor, self: Tensor, dim: Any, correction: float, keepdim: bool) -> Tensor:
    shape = self.array.shape
    left = count(shape, dim) - correction
    scale = 2.0 / left if left > 0 else math.inf
    return back(grad, shape, dim, keepdim) * (self - self.mean(dim, keepdim=True)) * scale


def _std_back(grad: Tensor, std: Tensor, self: Tensor, *how: Any) -> Tensor:
    scaled = aten.masked_fill(grad / (std * 2), aten.eq(std, 0), 0)
    return _var_back(scaled, self, *how)


def _std_of_back(grad: Tensor, self: Tensor, *how: Any) -> Tensor:
    return _std_back(grad, aten.std_correction(self, *how), self, *how)


def _both_back(spread_back: Any, grads: Any, self: Tensor, dim: Any, *how: Any) -> Any:
    """Of the variance (or its root) and the mean, of which one may have no gradient."""
    spread, mean = grads
    found = None if spread is None else spread_back(spread, self, dim, *how)
    if mean is None:
        return found
    shape = self.array.shape
    share = aten.expand(back(mean, shape, dim, how[-1]), shape) / count(shape, dim)
    return share if found is None else found + share


def _prod_back(grad: Tensor, self: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """Products of all other elements, by products from both sides (right for zeros too)."""
    shape = self.array.shape
    if not self.array.size:
        return aten.mul(self, 0)
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
    if dim is None and np.isnan(result.array).any():
        mask = self.isnan()
    return back(grad, shape, dim, keepdim) * (mask / mask.sum(dim, keepdim=True))


def _middle(self: Any, dim: int, skip: bool = False) -> Any:
    """Where the lower median is along `dim`: the first nan is, where they are not skipped."""
    if not self.ndim:
        return np.zeros((), np.int64)
    nans = np.isnan(self)
    count = (~nans if skip else nans | True).sum(dim, keepdims=True)
    order = np.argsort(self, dim, kind="stable")
    found = np.take_along_axis(order, np.maximum(count - 1, 0) // 2, dim)
    if not skip:
        found = np.where(nans.any(dim, keepdims=True), nans.argmax(dim, keepdims=True), found)
    return found.squeeze(dim)


def _median(self: Any, skip: bool) -> Any:
    flat = self.reshape(-1)
    return flat[_middle(flat, 0, skip)] if flat.size else np.full((), np.nan, self.dtype)


def _real(self: Any) -> Any:
    check(self.dtype.kind != "c", "complex numbers have no order", ValueError)
    return self


def _some(self: Any, dim: Any, index: bool = False) -> Any:
    """Refuse to look for an extreme where there is nothing."""
    if not self.size and dim is not None:
        for d in (dim,) if isinstance(dim, _WHOLE) else dim:
            fits = self.shape[d] > 0
            check(fits, f"Expected reduction dim {d} to have non-zero size.", IndexError)
    elif not self.size and index:
        raise IndexError("Expected reduction dim to be specified for input.numel() == 0.")
    return self


def _picked(self: Any, index: Any, dim: int) -> Any:
    found = np.empty_like(self, shape=index.shape)
    found[...] = np.take_along_axis(self, index, dim) if self.ndim else self
    return found, index


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
    found = np.empty_like(self, np.int64)
    found[...] = np.flip(self.shape[dim] - 1 - order, dim) if descending else order
    return found


def _first(order: Any, k: int, dim: int) -> Any:
    fits = 0 <= k <= (order.shape[dim] if order.ndim else 1)
    check(fits, "selected index k out of range", ValueError)
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


def _ordered(self: Any) -> Any:
    check(self.dtype.kind not in "bc", f"not implemented for {self.dtype}", ValueError)
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
        row = active[0].op("aten::sum", _sum_of_rows, (self, 0, True))
        return active[0].op("aten::view", lambda x, _: wrap(x.array[0]), (row, shape))
    lead = len(have) - len(shape)
    dims = (*range(lead), *(i + lead for i, s in enumerate(shape) if s == 1 != have[i + lead]))
    found = aten.sum(self, dims, True) if dims else self
    return found.view(shape) if lead else found


_sum_of_rows = around("aten::sum", lambda x, *_: wrap(_sum_rows(x.array)[None]))
Tensor._sum_to = _sum_to
_ones: dict[tuple[int, str], Any] = {}


def _sum_rows(array: Any) -> Any:
    """Small matrices' sums are products, which takes a third of the time."""
    if array.ndim != 2 or array.size > 2**16 or array.dtype.char not in "fd":
        return _gathered(_add, array, 0, None)
    key = len(array), array.dtype.char
    if key not in _ones:
        _ones[key] = np.ones(len(array), array.dtype)
    return _ones[key].dot(array)


_ROWS = r"""
[torch tensor contiguous]
sum(self, dim: dims = None, keepdim: bool = False, *, dtype: any = None)
    = _sum(self, dim, keepdim, dtype) => expand(back(grad, self_shape, dim, keepdim), self_shape)
all(self, dim: dims = None, keepdim: bool = False) = _truth(np.all, self, dim, keepdim)
any(self, dim: dims = None, keepdim: bool = False) = _truth(np.any, self, dim, keepdim)
_is_any_true(self) := any(self)
count_nonzero(self, dim: dims = None) = np.asarray(np.count_nonzero(self, dim))
prod(self, dim: dims = None, keepdim: bool = False, *, dtype: any = None)
    = _gathered(np.multiply.reduce, self, dim, dtype, bool(keepdim))
    self: _prod_back(grad, conj(self), dim, keepdim)
cumsum(self, dim: dim = None, *, dtype: any = None)
    = _scan(np.add.accumulate, self, dim, dtype)
    self: grad.flip(dim).cumsum(dim).flip(dim)
cumprod(self, dim: dim = None, *, dtype: any = None)
    = _scan(np.multiply.accumulate, self, dim, dtype)
    self: _cumprod_back(grad, conj(self), conj(result), dim)
topk(self, k: int, dim: dim = -1, largest: bool = True, sorted: bool = True) -> (values, indices)
    = _picked(self, _first(_order(self, dim, largest), k, dim), dim)
    self: at_index(grads[0], self_shape, indices, dim)
[torch tensor]
sort(self, dim: dim = -1, descending: bool = False, stable: bool = False) -> (values, indices)
    = _picked(self, _order(self, dim, descending), dim)
    self: at_index(grads[0], self_shape, indices, dim)
argsort(self, dim: dim = -1, descending: bool = False, stable: bool = False)
    = _order(self, dim, descending)
[torch tensor contiguous quiet]
mean(self, dim: dims = None, keepdim: bool = False, *, dtype: any = None)
    = _mean(self, dim, keepdim, dtype)
    self: expand(back(grad, self_shape, dim, keepdim), self_shape) / count(self_shape, dim)
[wide contiguous quiet]
var.correction(self, dim: dims, correction: any, keepdim: bool)
    = _var(self, dim, correction, keepdim) => _var_back(grad, self, dim, correction, keepdim)
std.correction(self, dim: dims, correction: any, keepdim: bool)
    = np.sqrt(_var(self, dim, correction, keepdim))
    self: _std_back(grad, result, self, dim, correction, keepdim)
var_mean.correction(self, dim: dims, correction: any, keepdim: bool) -> list
    = _var(self, dim, correction, keepdim), _mean(self, dim, keepdim, None)
    self: _both_back(_var_back, grads, self, dim, correction, keepdim)
std_mean.correction(self, dim: dims, correction: any, keepdim: bool) -> list
    = np.sqrt(_var(self, dim, correction, keepdim)), _mean(self, dim, keepdim, None)
    self: _both_back(_std_of_back, grads, self, dim, correction, keepdim)
[torch tensor]
sum_to_size(self, *size: sizes) := _sum_to(self, sizes(size)) if sizes(size) else sum(self)
nansum(self, dim: dims = None, keepdim: bool = False, *, dtype = None)
    := where(isnan(self), 0, self).sum(dim, keepdim, dtype=dtype)
nanmean(self, dim: dims = None, keepdim: bool = False, *, dtype = None)
    := nansum(self, dim, keepdim, dtype=dtype) / isnan(self).logical_not().sum(dim, keepdim)
"""
declare(globals(), _ROWS)

_EXTREMES = """
[torch tensor contiguous]
a{0}(self, dim: dims = None, keepdim: bool = False)
    = np.{0}(_some(self, dim), axis=dim, keepdims=keepdim)
    self: _shared(grad, self, result, dim, keepdim)
arg{0}(self, dim: dims = None, keepdim: bool = False)
    = np.arg{0}(_some(_ordered(self), dim, True), axis=dim, keepdims=keepdim)
[contiguous]
{0}.all(self) = np.{0}(self) => _shared(grad, self, result, None, False)
{0}.dim(self, dim: dim, keepdim: bool) -> (values, indices)
    = _extreme(self, np.arg{0}(_some(_real(self), dim), dim if self.ndim else None), dim, keepdim)
    self: at_index(grads[0], self_shape, indices, dim, keepdim)"""
_MEDIANS = """
[contiguous]
{0}.all(self) = _median(_real(self), {1}) => _shared(grad, self, result, None, False)
{0}.dim(self, dim: dim, keepdim: bool) -> (values, indices)
    = _extreme(self, _middle(_some(_real(self), dim), dim, {1}), dim, keepdim)
    self: at_index(grads[0], self_shape, indices, dim, keepdim)"""
for _name in ("max", "min"):
    declare(globals(), _EXTREMES.format(_name))
for _name in ("median", "nanmedian"):
    declare(globals(), _MEDIANS.format(_name, _name == "nanmedian"))


def _moment(name: str, places: str) -> None:
    def call(
        input: Tensor, *args: Any, dim: Any = None, unbiased: Any = None, correction: Any = None,
        keepdim: bool = False, axis: Any = None, keepdims: bool = False,
    ) -> Any:  # fmt: skip
        """Over `dim`, with N - correction for N (1 by default, 0 for `unbiased=False`)."""
        dim, keepdim = axis if dim is None else dim, keepdim or keepdims
        dim, *more = args or (dim,)
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        unbiased, keepdim = more[0] if more else unbiased, more[1] if more[1:] else keepdim
        correction = correction if unbiased is None else int(unbiased)
        return run(input, dim, 1 if correction is None else correction, keepdim)

    run = getattr(aten, f"{name}_correction")
    call.__name__ = name
    function(places)(call)


def _max_or_min(name: str) -> None:
    def call(
        input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None,
        axis: Any = None, keepdims: Any = None, out: Any = None,
    ) -> Any:  # fmt: skip
        """Reduce all elements; or along `dim`, with indices; or two tensors elementwise."""
        if out is not None:
            result = call(input, dim, keepdim, other=other, axis=axis)
            return into(f"aten::{name}", out, result, (), not isinstance(dim, Tensor))
        dim = next((x for x in (dim, axis, other) if x is not None), None)
        keepdim = keepdim if keepdims is None else keepdims
        if dim is None:
            return getattr(aten, f"{name}_all")(input)
        if isinstance(dim, Tensor):
            return getattr(aten, f"{name}imum")(input, dim)
        return getattr(aten, f"{name}_dim")(input, dim, keepdim)

    call.__name__ = name
    function("torch tensor")(call)


for _name in ("var", "std"):
    _moment(_name, "torch tensor")
    _moment(f"{_name}_mean", "torch")
_max_or_min("max")
_max_or_min("min")
_max_or_min("median")
_max_or_min("nanmedian")
