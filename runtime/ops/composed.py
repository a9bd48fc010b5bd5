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
from .indexing import _along
from .joining import _at_least  # noqa: F401  (a row uses it)
from .joining import _some as _any  # noqa: F401
from .make import declare, dimension, sizes  # noqa: F401  (so do rows)
from .make.table import PUBLIC
from .reduction import _extreme, _real, _some, at_index  # noqa: F401  (rows use them)


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


def _extremes(self: Tensor, dim: Any, keepdim: bool) -> Any:
    made = PUBLIC["torch"]
    if dim is None:
        return made["amin"](self), made["amax"](self)
    return made["amin"](self, dim, keepdim), made["amax"](self, dim, keepdim)


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
mode(self, dim: dim = -1, keepdim: bool = False) -> (values, indices)
    = _extreme(self, _commonest(_some(_real(self), dim), dim), dim, keepdim)
    self: at_index(grads[0], self_shape, indices, dim, keepdim)
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
quantile(self, q, dim = None, keepdim: bool = False, *, interpolation: str = "linear")
    := _quantile(self, q, dim, keepdim, interpolation, False)
ravel(self) := self.contiguous().view(-1)
split_with_sizes(self, split_sizes, dim: int = 0) := split(self, split_sizes, dim)
tensor_split(self, indices_or_sections, dim: int = 0) := _parts(self, indices_or_sections, dim)
[torch]
column_stack(tensors) := hstack([x if x.array.ndim > 1 else x.reshape(-1, 1) for x in tensors])
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
