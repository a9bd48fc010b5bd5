"""Operators that are an expression of others, which few scripts ask for.

Source: aten/src/ATen/native/ (TensorTransformations.cpp, Integration.cpp, Sorting.cpp,
TensorAdvancedIndexing.cpp), torch/functional.py.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ..core.aten import aten
from ..core.dtypes import get_default_dtype  # noqa: F401  (a row uses it)
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap
from .elementwise import _logaddexp
from .indexing import _along
from .joining import _at_least  # noqa: F401  (a row uses it)
from .joining import _some as _any  # noqa: F401
from .make import declare, dimension, sizes, zeros_beside  # noqa: F401  (so do rows)
from .make.table import PUBLIC
from .reduction import _extreme, _ordered, _real, _some, at_index  # noqa: F401  (rows use them)


def _at_most(self: Tensor, dims: int) -> Tensor:
    check(self.array.ndim >= dims, f"Input must be >= {dims}-d.")
    return self


def _slices(self: Tensor, n: int, dim: int, ends: Any) -> Tensor:
    check(self.array.ndim > 0, "diff expects input to be at least one-dimensional")
    check(n >= 0, f"order must be non-negative but got {n}")
    if not n:
        return self.clone()
    x = aten.cat([e for e in (ends[0], self, ends[1]) if e is not None], dim)
    for _ in range(min(n, x.array.shape[dim])):
        size = x.array.shape[dim] - 1
        one, other = x.narrow(dim, 1, size), x.narrow(dim, 0, size)
        x = one != other if x.array.dtype.kind == "b" else one - other
    return x


def _quantile(self: Tensor, q: Any, dim: Any, keepdim: bool, how: str, skip: bool) -> Tensor:
    q = q if isinstance(q, Tensor) else wrap(np.asarray(q, self.array.dtype))
    floats = self.array.dtype.char in "fd"
    check(floats, "quantile() input tensor must be either float or double dtype")
    alike = q.array.dtype == self.array.dtype
    check(alike, "quantile() q tensor must be same dtype as the input tensor")
    check(q.array.ndim < 2, "quantile() q must be a scalar or 1D tensor")
    check(self.array.size > 0, "quantile() input tensor must be non-empty")
    inside = bool(((q.array >= 0) & (q.array <= 1)).all())
    check(inside, "quantile() q values must be in the range [0, 1]")
    known = how in {"linear", "lower", "higher", "midpoint", "nearest"}
    check(known, "quantile() interpolation must be linear, lower, higher, midpoint or nearest")
    n, whole = self.array.ndim, dim is None or not self.array.ndim
    order = (self.reshape(-1) if whole else self.movedim(dim, -1)).sort(-1).values
    nans = np.isnan(order.array)
    last = np.where(nans, 0, 1).sum(-1)[..., None] - 1 if skip else order.array.shape[-1] - 1
    ranks = q.reshape(-1) * wrap(np.asarray(np.maximum(last, 0), self.array.dtype))
    place = np.broadcast_to(ranks.array, (*order.array.shape[:-1], q.array.size))
    place = place if skip else np.where(nans.any(-1)[..., None], last, place)
    rounded: Any = {"lower": np.floor, "higher": np.ceil, "nearest": np.round}
    place = rounded.get(how, np.copy)(place)
    low, high = np.floor(place).astype(np.int64), np.ceil(place).astype(np.int64)
    below, above = order.gather(-1, wrap(low)), order.gather(-1, wrap(high))
    share = np.where(low == high, 0, 0.5 if how == "midpoint" else place - low)
    shares = wrap(share.astype(self.array.dtype)) + (
        ranks - ranks.detach() if how == "linear" else 0
    )
    found = aten.lerp(below, above, shares)
    found = found.movedim(-1, 0)
    if keepdim:
        found = found.reshape(-1, *(1,) * n) if whole else found.unsqueeze(dim % n + 1)
    return found if q.array.ndim else found.squeeze(0)


def _renorm(self: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    check(self.array.ndim > 1, "renorm: input needs at least 2 dimensions")
    others = tuple(d for d in range(self.array.ndim) if d != dimension(dim, self.array.ndim))
    norms = self.norm(p, others, True)
    return self * aten.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)


def _running(grow: Any, self: Any, dim: int) -> Any:
    check(self.dtype.kind != "c", "not implemented for complex numbers", NotImplementedError)
    if not self.ndim:
        return self.copy(), np.zeros((), np.int64)
    values = grow.accumulate(self, dim)
    shape = [-1 if d == dim else 1 for d in range(self.ndim)]
    place = np.arange(self.shape[dim]).reshape(shape)
    here = np.where((self == values) | np.isnan(self), place, 0)
    return values, np.maximum.accumulate(here, dim)


def _turned(self: Tensor, quarters: int, dims: Any) -> Tensor:
    n = self.array.ndim
    fits = len(dims) == 2 and n > 1 and dims[0] % n != dims[1] % n
    check(fits, f"rot90 expects two different dimensions, got {dims} of {n}")
    if quarters % 2 == 0:
        return self.flip(dims) if quarters else self.clone()
    return self.flip(dims[1:] if quarters == 1 else dims[:1]).transpose(*dims)


def _kth(self: Any, k: int, dim: int) -> Any:
    size = self.shape[dim] if self.ndim else 1
    check(1 <= k <= size, "kthvalue(): selected number k out of range for dimension")
    if not self.ndim:
        return np.zeros((), np.int64)
    return np.take(np.argsort(self, dim, kind="stable"), k - 1, dim)


def _commonest(self: Any, dim: int) -> Any:
    """Where along `dim` the smallest of the most frequent values stands last."""
    if not self.ndim:
        return np.zeros((), np.int64)
    last = np.moveaxis(self, dim, -1)
    order, place = np.sort(last, -1), np.broadcast_to(np.arange(last.shape[-1]), last.shape)
    new = np.concatenate((order[..., :1] == order[..., :1], order[..., 1:] != order[..., :-1]), -1)
    runs = place - np.maximum.accumulate(np.where(new, place, 0), -1)
    top = np.take_along_axis(order, runs.argmax(-1)[..., None], -1)
    return last.shape[-1] - 1 - np.argmax((last == top)[..., ::-1], -1)


def _summed(self: Any, dim: int) -> Any:
    check(self.dtype.kind in "fc", f"logcumsumexp is not implemented for {self.dtype}", ValueError)
    if not self.ndim or self.dtype.kind == "f":
        return np.logaddexp.accumulate(self, dim) if self.ndim else self.copy()
    rows = np.moveaxis(self, dim, 0)
    return np.moveaxis(np.stack([*itertools.accumulate(rows, _logaddexp)]), 0, dim)


def _logcumsumexp_back(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """A scan from behind of logarithms: of the gradient raised above 0, less what raised it."""

    def scanned(weights: Tensor) -> Tensor:
        scan = aten.logcumsumexp((weights.log() - result).flip(dim), dim).flip(dim)
        return (scan + self).exp()

    if self.is_complex():
        self, result = self.conj(), result.conj()
        return scanned(grad)
    more = 2 * float(np.abs(grad.array).max(initial=0)) or 1.0
    raised: Any = grad + more
    return scanned(raised) - scanned(aten.full_like(self, more))


_UFUNCS = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum}
_UFUNCS["amin"] = np.minimum


def _scattered(self: Any, dim: int, index: Any, src: Any, how: str, own: bool) -> Any:
    check(how in _UFUNCS, f"reduce must be sum, prod, mean, amax or amin, got {how}")
    if src.dtype != self.dtype or (how == "mean" and self.dtype.kind == "b"):
        raise ValueError("scatter(): Expected self.dtype to be equal to src.dtype")
    made, given = np.atleast_1d(self).copy(), np.atleast_1d(src)
    place = _along(made, dim, index)
    given = given[tuple([slice(0, s) for s in np.broadcast_shapes(*(p.shape for p in place))])]
    if not own:
        kind, least = self.dtype.kind, how == "amax"
        neutral: Any = {"prod": 1, "amax": None, "amin": None}.get(how, 0)
        if neutral is None and kind in "iu":
            neutral = np.iinfo(self.dtype).min if least else np.iinfo(self.dtype).max
        elif neutral is None:
            neutral = not least if kind == "b" else -math.inf if least else math.inf
        made[place] = neutral
    _UFUNCS[how].at(made, place, given)
    if how == "mean":
        times = np.full(made.shape, int(own))
        np.add.at(times, place, 1)
        times = np.maximum(times, 1)
        made = made // times if self.dtype.kind in "iu" else made / times
    return made.astype(self.dtype, copy=False).reshape(self.shape)


def _scattered_back(
    grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, result: Tensor, how: str,
    own: bool,
) -> list[Tensor]:  # fmt: skip
    """Of what was scattered to, and of what was."""
    kept = grad if own else aten.scatter(grad, dim, index, 0)
    if how == "sum":
        return [kept, grad.gather(dim, index)]
    ones = aten.ones_like(src)
    if how == "mean":
        times = aten.full_like(grad, int(own))
        times = times.scatter_add(dim, index, ones).clamp(min=1)
        return [kept / times, (grad / times).gather(dim, index)]
    if how == "prod":
        none = not ((src.array == 0).any() or (own and (self.array == 0).any()))
        check(none, "scatter_reduce: the gradient of prod with zeros", NotImplementedError)
        each = (grad * result).gather(dim, index) / src
        return [(grad * result / self) if own else kept, each]
    hit = aten.eq(src, result.gather(dim, index)).to(grad.array.dtype)
    mine = aten.eq(self, result).to(grad.array.dtype)
    mine = mine if own else mine.scatter(dim, index, 0)
    shared = grad / (mine.scatter_add(dim, index, hit)).clamp(min=1)
    return [shared * mine if own else kept, shared.gather(dim, index) * hit]


def _scattered_by(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    check(mask.array.dtype.kind == "b", "masked_scatter_ only supports boolean masks")
    alike = self.array.dtype == source.array.dtype
    check(alike, "masked_scatter: expected self and source to have same dtypes")
    shape = np.broadcast_shapes(self.array.shape, mask.array.shape)
    place = np.nonzero(np.broadcast_to(mask.array, shape))
    count = len(place[0]) if place else int(mask.array)
    check(source.array.size >= count, "masked_scatter: source has fewer elements than mask is true")
    if not place:
        return source.reshape(-1)[0] if count else self.clone()
    made = self.expand(shape).clone(memory_format="contiguous_format")
    return made.index_put(tuple(map(wrap, place)), source.reshape(-1)[:count])


def _parts(self: Tensor, given: Any, dim: int) -> tuple[Tensor, ...]:
    check(self.array.ndim > 0, "tensor_split expected at least a 1-dimensional tensor")
    given = given.tolist() if isinstance(given, Tensor) else given
    size = self.array.shape[dimension(dim, self.array.ndim)]
    if isinstance(given, int):
        check(given > 0, f"number of sections must be larger than 0, got {given}")
        short, more = divmod(size, given)
        given = [short * i + min(i, more) for i in range(1, given)]
    edges = [0, *(range(size)[slice(e, None)].start for e in given), size]
    spans = [(a, max(a, b) - a) for a, b in itertools.pairwise(edges)]
    return tuple(self.narrow(dim, start, length) for start, length in spans)


def _unlike_before(self: Tensor, inverse: bool, counts: bool, dim: Any) -> Any:
    x = self.array.reshape(-1) if dim is None else np.moveaxis(self.array, dim, 0)
    apart = (x[1:] != x[:-1]).reshape(max(len(x) - 1, 0), math.prod(x.shape[1:])).any(1)
    new = np.concatenate((np.ones(min(len(x), 1), bool), apart))
    values = np.ascontiguousarray(x[new])
    values = values if dim is None else np.moveaxis(values, 0, dim)
    place = (np.cumsum(new) - 1).reshape(self.array.shape if dim is None else -1)
    times = np.diff(np.append(np.flatnonzero(new), len(x)))
    wanted = [values, *([place] if inverse else []), *([times] if counts else [])]
    found = tuple(map(wrap, wanted))
    return found[0] if len(found) == 1 else found


def _areas(y: Tensor, x: Any, dx: Any, dim: int) -> Tensor:
    size = y.array.shape[dim] - 1
    pair = y.narrow(dim, 1, size) + y.narrow(dim, 0, size)
    if x is None:
        return pair * (dx / 2)
    if x.array.ndim == 1:
        x = x.reshape([-1 if d == dim % y.array.ndim else 1 for d in range(y.array.ndim)])
    return pair * aten.diff(x, 1, dim) / 2


def _extremes(self: Tensor, dim: Any, keepdim: bool) -> Any:
    made = PUBLIC["torch"]
    if dim is None:
        return made["amin"](self), made["amax"](self)
    return made["amin"](self, dim, keepdim), made["amax"](self, dim, keepdim)


def _product_of(tensors: Any) -> Tensor:
    if len(tensors) == 1:
        return tensors[0]
    grids = PUBLIC["torch"]["meshgrid"](*tensors, indexing="ij")
    return aten.stack([g.reshape(-1) for g in grids], 1)


def _window(length: int, periodic: bool, weights: Any, dtype: Any, more: Any) -> Tensor:
    check(length >= 0, f"window requires non-negative window_length, got {length}")
    if length < 2:
        return PUBLIC["torch"]["ones"](length, dtype=dtype, **more)
    turn = 2 * math.pi * np.arange(length) / (length if periodic else length - 1)
    values = sum(w * np.cos(k * turn) for k, w in enumerate(weights))
    kind = PUBLIC["torch"]["zeros"](0, dtype=dtype).array.dtype
    return PUBLIC["torch"]["tensor"](np.asarray(values, kind), **more)


_MORE = "dtype = None, device = None, requires_grad: bool = False, layout = None"
_GIVEN = "dtype, dict(device=device, requires_grad=requires_grad)"
_ROWS = rf"""
[torch tensor contiguous]
cummax(self, dim: dim) -> (values, indices) = _running(np.maximum, self, dim)
    self: at_index(grads[0], self_shape, indices, dim)
cummin(self, dim: dim) -> (values, indices) = _running(np.minimum, self, dim)
    self: at_index(grads[0], self_shape, indices, dim)
kthvalue(self, k: int, dim: dim = -1, keepdim: bool = False) -> (values, indices)
    = _extreme(self, _kth(_some(_ordered(self), dim), k, dim), dim, keepdim)
    self: at_index(grads[0], self_shape, indices, dim, keepdim)
mode(self, dim: dim = -1, keepdim: bool = False) -> (values, indices)
    = _extreme(self, _commonest(_some(_real(self), dim), dim), dim, keepdim)
    self: at_index(grads[0], self_shape, indices, dim, keepdim)
[torch tensor wide contiguous quiet]
logcumsumexp(self, dim: dim) = _summed(self, dim)
    self: _logcumsumexp_back(grad, self, result, dim)
[torch tensor]
scatter_reduce(self, dim: dim, index, src, reduce: str, *, include_self: bool = True)
    = _scattered(self, dim, index, src, reduce, include_self)
    self: _scattered_back(grad, self, dim, index, src, result, reduce, include_self)[0]
    src: _scattered_back(grad, self, dim, index, src, result, reduce, include_self)[1]
aminmax(self, *, dim = None, keepdim: bool = False) := _extremes(self, dim, keepdim)
argwhere(self) := nonzero(self)
broadcast_to(self, *size: sizes) := self.expand(sizes(size))
clamp_max(self, max) := clamp(self, None, max)
clamp_min(self, min) := clamp(self, min)
diagflat(self, offset: int = 0) := diag(flatten(self), offset)
diff(self, n: int = 1, dim: int = -1, prepend = None, append = None)
    := _slices(self, n, dim, (prepend, append))
dist(self, other, p: float = 2) := norm(self - other, p)
fliplr(self) := flip(_at_most(self, 2), 1)
flipud(self) := flip(_at_most(self, 1), 0)
masked_scatter(self, mask, source) := _scattered_by(self, mask, source)
nanquantile(self, q, dim = None, keepdim: bool = False, *, interpolation: str = "linear")
    := _quantile(self, q, dim, keepdim, interpolation, True)
quantile(self, q, dim = None, keepdim: bool = False, *, interpolation: str = "linear")
    := _quantile(self, q, dim, keepdim, interpolation, False)
ravel(self) := self.contiguous().view(-1)
renorm(self, p: float, dim: int, maxnorm: float) := _renorm(self, p, dim, maxnorm)
rot90(self, k: int = 1, dims = (0, 1)) := _turned(self, k % 4, dims)
split_with_sizes(self, split_sizes, dim: int = 0) := split(self, split_sizes, dim)
tensor_split(self, indices_or_sections, dim: int = 0) := _parts(self, indices_or_sections, dim)
unique_consecutive(self, return_inverse: bool = False, return_counts: bool = False, dim = None)
    := _unlike_before(self, return_inverse, return_counts, dim)
[torch]
cartesian_prod(*tensors) := _product_of(tensors)
column_stack(tensors) := hstack([x if x.array.ndim > 1 else x.reshape(-1, 1) for x in tensors])
combinations(self, r: int = 2, with_replacement: bool = False)
    := self[wrap(np.array([*(itertools.combinations_with_replacement if with_replacement
    else itertools.combinations)(range(len(self)), r)], np.int64).reshape(-1, r))]
cumulative_trapezoid(y, x = None, *, dx = 1, dim: int = -1) := cumsum(_areas(y, x, dx, dim), dim)
dstack(tensors) := cat([_at_least(3, [x]) for x in _any(tensors)], 2)
atleast_3d(*tensors) := _at_least(3, tensors)
hann_window(length: int, periodic: bool = True, *, {_MORE})
    := _window(length, periodic, (0.5, -0.5), {_GIVEN})
hamming_window(length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *,
    {_MORE}) := _window(length, periodic, (alpha, -beta), {_GIVEN})
blackman_window(length: int, periodic: bool = True, *, {_MORE})
    := _window(length, periodic, (0.42, -0.5, 0.08), {_GIVEN})
isin(elements, test_elements, *, assume_unique: bool = False, invert: bool = False)
    := wrap(np.isin(*[getattr(x, "array", x) for x in (elements, test_elements)], invert=invert))
scalar_tensor(value, *, dtype = None, device = None, requires_grad: bool = False)
    := full((), value, dtype=get_default_dtype() if dtype is None else dtype, device=device,
    requires_grad=requires_grad)
trapezoid(y, x = None, *, dx = 1, dim: int = -1) := sum(_areas(y, x, dx, dim), dim)
[torch pair]
polar(self, other) := complex(self * cos(other), self * sin(other))
[special]
entr(self) := where(self < 0, -math.inf, -xlogy(self, self))
exp2(self) := exp2(self)
expm1(self) := expm1(self)
log1p(self) := log1p(self)
psi(self) := digamma(self)
round(self, *, decimals: int = 0) := round(self, decimals=decimals)
sinc(self) := sinc(self)
xlog1py(self, other) := xlogy(self, other + 1)
"""
declare(globals(), _ROWS)
