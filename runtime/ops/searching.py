"""Finding and counting elements; whether tensors are equal.

Source: aten/src/ATen/native/Unique.cpp, Bucketization.cpp, SummaryOps.cpp, TensorCompare.cpp.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap
from .make import declare, function


def _close(self: Any, other: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    told = f"rtol and atol must not be negative, got {rtol}, {atol}"
    check(rtol >= 0 and atol >= 0, told, ValueError)
    found = self == other
    if equal_nan:
        found = found | (np.isnan(self) & np.isnan(other))
    if self.dtype.kind == "b":
        return found
    apart = np.abs(self - other) if self.dtype.kind != "u" else np.abs(self.astype("i8") - other)
    return found | (np.isfinite(apart) & (apart <= atol + np.abs(rtol * other)))


def _alike(self: Tensor, other: Tensor) -> Tensor:
    if isinstance(self, Tensor) and isinstance(other, Tensor):
        check(self.dtype == other.dtype, f"{self.dtype} did not match {other.dtype}")
    return other


def _equal(self: Tensor, other: Tensor) -> bool:
    check(isinstance(other, Tensor), "equal(): argument 'other' must be Tensor", TypeError)
    return bool(np.array_equal(self.array, other.array))


def _places(boundaries: Any, values: Any, right: bool, sorter: Any = None) -> Any:
    if sorter is not None:
        boundaries = np.take_along_axis(boundaries, sorter, -1)
    side: Any = "right" if right else "left"
    if boundaries.ndim == 1:
        return np.searchsorted(boundaries, values, side)
    check(np.shape(values)[:-1] == boundaries.shape[:-1], "boundaries and values differ in size")
    count = math.prod(boundaries.shape[:-1])
    rows, many = (x.reshape(count, x.shape[-1]) for x in (boundaries, values))
    found = np.empty(many.shape, np.int64)
    for each, row, wanted in zip(found, rows, many, strict=True):
        each[...] = np.searchsorted(row, wanted, side)
    return found.reshape(values.shape)


def _searched(boundaries: Any, values: Any, right: bool, int32: bool, sorter: Any = None) -> Any:
    found = np.asarray(_places(boundaries, values, right, sorter))
    return found.astype(np.int32 if int32 else np.int64)


def _counted(self: Any, weights: Any, minlength: int) -> Any:
    whole = self.dtype.kind in "iu" and self.ndim == 1 and (not self.size or self.min() >= 0)
    check(whole, "bincount only supports 1-d non-negative integral inputs.")
    found = np.bincount(self, weights, minlength)
    single = weights is not None and weights.dtype == np.float32
    return found.astype(np.float32) if single else found


# The place that is meant by one between two neighbours.
_MEANT: dict[str, Any] = {
    "linear": lambda place: place, "lower": np.floor, "higher": np.ceil, "nearest": np.rint,
    "midpoint": lambda place: (np.floor(place) + np.ceil(place)) / 2,
}  # fmt: skip


def _quantile(self: Tensor, q: Any, dim: Any, keepdim: bool, how: str) -> Tensor:
    """What a share of the elements does not exceed: a neighbour, or a place between two."""
    check(how in _MEANT, f"quantile() interpolation must be one of {[*_MEANT]}, not {how!r}")
    share = np.asarray(getattr(q, "array", q), None if isinstance(q, Tensor) else self.array.dtype)
    alike = self.array.dtype.char in "fd" and share.dtype == self.array.dtype
    check(alike, "quantile() takes float or double tensors, and q of the same dtype")
    inside = self.array.size and share.ndim < 2 and ((share >= 0) & (share <= 1)).all()
    check(bool(inside), "quantile() of nothing, or q is not in the range [0, 1]")
    n, whole = self.array.ndim, dim is None or not self.array.ndim
    order = (self.reshape(-1) if whole else self.movedim(dim, -1)).sort(-1).values
    last, spoilt = order.array.shape[-1] - 1, np.isnan(order.array).any(-1)[..., None]
    place = np.where(spoilt, last, share.reshape(-1) * last)  # NaN is the largest of all
    low, high = np.floor(place).astype(np.int64), np.ceil(place).astype(np.int64)
    below, above = order.gather(-1, wrap(low)), order.gather(-1, wrap(high))
    between = wrap((_MEANT[how](place) - low).astype(self.array.dtype))
    if isinstance(q, Tensor) and q.requires_grad and how == "linear":  # nothing, with a gradient
        between = between + (q - q.detach()).reshape(-1) * last
    found: Tensor = aten.lerp(below, above, between).movedim(-1, 0)
    if keepdim:
        found = found.reshape(-1, *(1,) * n) if whole else found.unsqueeze(dim % n + 1)
    return found if share.ndim else found.squeeze(0)


def _unique(self: Any, axis: int | None) -> Any:
    """The elements (or slices along `axis`) once, where each went, and how many each were."""
    found, places, counts = np.unique(
        self, return_inverse=True, return_counts=True, axis=axis, equal_nan=False
    )
    return found, places.reshape(self.shape if axis is None else -1), counts


_ROWS = r"""
[promote pair quiet]
isclose.alike(self, other, rtol: float, atol: float, equal_nan: bool)
    = _close(self, other, rtol, atol, equal_nan)
[torch tensor]
isclose(self, other, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False)
    := isclose_alike(self, _alike(self, other), rtol, atol, equal_nan)
allclose(self, other, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False)
    := bool(isclose(self, other, rtol, atol, equal_nan).array.all())
equal(self, other) := _equal(self, other)
bincount(self, weights: number = None, minlength: int = 0) = _counted(self, weights, minlength)
argwhere(self) := nonzero(self)
quantile(self, q, dim = None, keepdim: bool = False, *, interpolation: str = "linear")
    := _quantile(self, q, dim, keepdim, interpolation)
[torch]
searchsorted(sorted_sequence, input: number, *, out_int32: bool = False, right: bool = False,
    side: str = None, sorter: number = None)
    = _searched(sorted_sequence, input, right or side == "right", out_int32, sorter)
bucketize(self: number, boundaries, *, out_int32: bool = False, right: bool = False)
    = _searched(boundaries, self, right, out_int32)
isin(elements: number, test_elements: number, *, assume_unique: bool = False, invert: bool = False)
    = np.isin(elements, test_elements, invert=invert)
[]
_unique2(self) -> list = _unique(self, None)
unique_dim(self, dim: dim) -> list = _unique(self, dim)
"""
declare(globals(), _ROWS)


@function("torch tensor")
def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """Return the elements (or slices) once and in order; where they went; how many."""
    found = aten._unique2(input) if dim is None else aten.unique_dim(input, dim)
    which = (True, return_inverse, return_counts)
    wanted = [x for x, asked in zip(found, which, strict=True) if asked]
    return wanted[0] if len(wanted) == 1 else tuple(wanted)
