"""Operators that are an expression of others, which few scripts ask for.

Source: aten/src/ATen/native/ (TensorTransformations.cpp, Integration.cpp, Sorting.cpp,
TensorAdvancedIndexing.cpp), torch/functional.py.
"""

from __future__ import annotations

import itertools
import math  # noqa: F401  (a row uses it)
from typing import Any

import numpy as np

from ..core.aten import aten
from ..core.dtypes import get_default_dtype  # noqa: F401  (a row uses it)
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap  # noqa: F401  (so does another)
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


_ROWS = r"""
[torch tensor contiguous]
mode(self, dim: dim = -1, keepdim: bool = False) -> (values, indices)
    = _extreme(self, _commonest(_some(_real(self), dim), dim), dim, keepdim)
    self: at_index(grads[0], self_shape, indices, dim, keepdim)
[torch tensor]
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
ravel(self) := self.contiguous().view(-1)
split_with_sizes(self, split_sizes, dim: int = 0) := split(self, split_sizes, dim)
tensor_split(self, indices_or_sections, dim: int = 0) := _parts(self, indices_or_sections, dim)
[torch]
column_stack(tensors) := hstack([x if x.array.ndim > 1 else x.reshape(-1, 1) for x in tensors])
dstack(tensors) := cat([_at_least(3, [x]) for x in _any(tensors)], 2)
atleast_3d(*tensors) := _at_least(3, tensors)
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
