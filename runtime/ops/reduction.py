"""Reductions and scans.

`dim` is None (all), a dimension, or several. Source: derivatives.yaml, FunctionsManual.cpp.
"""

# ruff: noqa: PLW0108  (a formula's lambda names what is defined further down)
# mypy: disable-error-code="no-any-return,has-type,call-overload"

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import to_float
from ..tensor import Tensor, wrap
from .composite import composite
from .elementwise import quiet
from .table import op, op_list
from .views import dimension, expand, reshape

Dim = int | tuple[int, ...] | None


def axes(dim: Any, ndim: int) -> Any:
    """`dim` as numpy's axis; no dimensions at all means all of them, as in PyTorch."""
    if dim is None:
        return None
    if isinstance(dim, int):
        found = dimension(dim, ndim)
        return found if ndim else None
    if not len(dim):
        return None
    return tuple(dimension(d, ndim) for d in dim) if ndim else None


def back(grad: Tensor, shape: tuple[int, ...], dim: Any, keepdim: bool) -> Tensor:
    """A reduced tensor with its dimensions back, each of size 1."""
    axis = axes(dim, len(shape))
    if axis is None:
        return reshape(grad, (1,) * len(shape))
    if keepdim:
        return grad
    gone = {axis} if isinstance(axis, int) else set(axis)
    return reshape(grad, tuple(1 if i in gone else s for i, s in enumerate(shape)))


def count(shape: tuple[int, ...], dim: Any) -> int:
    """How many elements are reduced to one."""
    axis = axes(dim, len(shape))
    if axis is None:
        return int(np.prod(shape))
    return int(np.prod([shape[a] for a in ((axis,) if isinstance(axis, int) else axis)]))


def _sum(self: Any, dim: Dim = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if dim is None and not keepdim and dtype is None and self.dtype.kind == "f":
        return np.add.reduce(self, None) if self.dtype.itemsize > 2 else self.sum(dtype=self.dtype)
    if dtype is None and self.dtype.kind in "biu":
        dtype = np.int64
    return np.add.reduce(self, axes(dim, self.ndim), dtype, None, keepdim)


def _sum_back(grad: Tensor, self_shape: tuple[int, ...], dim: Any, keepdim: bool) -> Tensor:
    return expand(back(grad, self_shape, dim, keepdim), self_shape)


def _float_only(self: Any, dtype: Any) -> Any:
    if dtype is not None:
        return self.astype(dtype)
    if self.dtype.kind in "biu":
        raise ValueError(
            f"mean(): could not infer output dtype. Input dtype must be either a floating point or "
            f"complex dtype. Got: {self.dtype}"
        )
    return self


@quiet
def _mean(self: Any, dim: Any, keepdim: Any, dtype: Any) -> Any:
    self = _float_only(self, dtype)
    total = np.add.reduce(self, axes(dim, self.ndim), None, None, bool(keepdim))
    return total / total.dtype.type(count(self.shape, dim))


def _var(self: Any, dim: Dim = None, correction: float = 1, keepdim: bool = False) -> Any:
    with np.errstate(all="ignore"):
        axis = axes(dim, self.ndim)
        centred = self - self.mean(axis, keepdims=True)
        total = (centred * centred.conj()).real.sum(axis, keepdims=keepdim)
        left = count(self.shape, dim) - correction
        return total / np.maximum(total.dtype.type(left), 0)


def _var_back(grad: Tensor, self: Tensor, dim: Any, correction: float, keepdim: bool) -> Tensor:
    shape = self.array.shape
    scale = 2.0 / (count(shape, dim) - correction)
    return back(grad, shape, dim, keepdim) * (self - self.mean(dim, keepdim=True)) * scale


def _std_back(
    grad: Tensor, self: Tensor, result: Tensor, dim: Any, correction: float, keepdim: bool
) -> Tensor:
    grad = grad / (result * 2)
    grad = grad.masked_fill(result == 0, 0)
    return _var_back(grad, self, dim, correction, keepdim)


def _prod(self: Any, dim: int | None = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if dtype is None and self.dtype.kind in "biu":
        dtype = np.int64
    return np.multiply.reduce(self, axes(dim, self.ndim), dtype, None, keepdim)


def _prod_back(grad: Tensor, self: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """Products of all other elements, by products from both sides (right for zeros too)."""
    shape = self.array.shape
    flat = reshape(self, (-1,)) if dim is None else self.movedim(dim, -1)
    one = flat.narrow(-1, 0, 1) * 0 + 1
    from .joining import cat

    n = flat.array.shape[-1]
    left = cat([one, cumprod(flat.narrow(-1, 0, n - 1), -1)], -1)
    right = cat([one, cumprod(flat.narrow(-1, 1, n - 1).flip(-1), -1)], -1).flip(-1)
    others = left * right
    others = reshape(others, shape) if dim is None else others.movedim(-1, dim)
    return back(grad, shape, dim, keepdim) * others


def _extreme(which: Any) -> Any:
    def forward(self: Any, dim: Dim = None, keepdim: bool = False) -> Any:
        return which(self, axis=axes(dim, self.ndim), keepdims=keepdim)

    return forward


def _extreme_back(grad: Tensor, self: Tensor, result: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """Shared equally among elements that are equal."""
    shape = self.array.shape
    mask = self == back(result, shape, dim, keepdim)
    return back(grad, shape, dim, keepdim) * (mask / mask.sum(dim, keepdim=True))


def _with_index(pick: Any) -> Any:
    def forward(self: Any, dim: int, keepdim: bool) -> Any:
        if not self.ndim:
            return self.copy(), np.zeros((), np.int64)
        axis = dimension(dim, self.ndim)
        index = np.expand_dims(pick(self, axis=axis), axis)
        value = np.take_along_axis(self, index, axis)
        return (value, index) if keepdim else (value.squeeze(axis), index.squeeze(axis))

    return forward


def _with_index_back(
    grads: Any, self_shape: tuple[int, ...], results: Any, dim: int, keepdim: bool
) -> Tensor:
    return at_index(grads[0], self_shape, results[1].array, dim, keepdim)


def at_index(
    grad: Tensor, shape: tuple[int, ...], index: Any, dim: int, keepdim: bool = True
) -> Tensor:
    """Zeros of `shape`, with `grad` at `index` along `dim`."""
    if not shape:
        return grad
    if not keepdim:
        grad, index = grad.unsqueeze(dim), np.expand_dims(index, dim)
    made = wrap(np.zeros(shape, grad.array.dtype))
    return made.scatter_add(dim, wrap(index), grad)


def _cumsum(self: Any, dim: int, dtype: Any = None) -> Any:
    if dtype is None and self.dtype.kind in "biu":
        dtype = np.int64
    return np.cumsum(self, dimension(dim, self.ndim), dtype) if self.ndim else self.copy()


def _cumprod(self: Any, dim: int, dtype: Any = None) -> Any:
    if dtype is None and self.dtype.kind in "biu":
        dtype = np.int64
    return np.cumprod(self, dimension(dim, self.ndim), dtype) if self.ndim else self.copy()


def _cumprod_back(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """Row by row where there are zeros; one scan where there are none."""
    if not (self.array == 0).any():
        return (grad * result).flip(dim).cumsum(dim).flip(dim) / self
    from .joining import stack

    n = self.array.shape[dim]
    rows = self.unbind(dim)
    weights = grad.unbind(dim)
    found = []
    for i in range(n):
        before: Any = None
        for row in rows[:i]:
            before = row if before is None else before * row
        total: Any = None
        run = before
        for j in range(i, n):
            if j > i:
                run = rows[j] if run is None else run * rows[j]
            term = weights[j] if run is None else weights[j] * run
            total = term if total is None else total + term
        found.append(total)
    return stack(found, dim)


def _logsumexp(self: Any, dim: Any, keepdim: bool = False) -> Any:
    with np.errstate(all="ignore"):
        self = to_float(self)
        axis = axes(dim, self.ndim)
        top = self.max(axis, keepdims=True)
        top = np.where(np.isfinite(top), top, 0)
        total = np.log(np.exp(self - top).sum(axis, keepdims=True)) + top
        return total if keepdim else total.squeeze(axis)


def _logsumexp_back(grad: Tensor, self: Tensor, result: Tensor, dim: Any, keepdim: bool) -> Tensor:
    shape = self.array.shape
    return back(grad, shape, dim, keepdim) * (self - back(result, shape, dim, keepdim)).exp()


_sum_op = op("aten::sum", _sum, "self", self=_sum_back)
_mean_op = op(
    "aten::mean",
    lambda self, dim=None, keepdim=False, dtype=None: _mean(self, dim, keepdim, dtype),
    "self",
    self=lambda grad, self_shape, dim, keepdim: (
        _sum_back(grad, self_shape, dim, keepdim) / count(self_shape, dim)
    ),
)
var_op = op("aten::var", _var, "self", self=_var_back)
std_op = op(
    "aten::std",
    lambda self, dim=None, correction=1, keepdim=False: np.sqrt(
        _var(self, dim, correction, keepdim)
    ),
    "self",
    self=_std_back,
)
prod = op("aten::prod", _prod, "self", self=_prod_back)
amax = op("aten::amax", _extreme(np.max), "self", self=_extreme_back)
amin = op("aten::amin", _extreme(np.min), "self", self=_extreme_back)
max_all = op(
    "aten::max",
    lambda self: np.max(self),
    "self",
    self=lambda grad, self, result: _extreme_back(grad, self, result, None, False),
)
min_all = op(
    "aten::min",
    lambda self: np.min(self),
    "self",
    self=lambda grad, self, result: _extreme_back(grad, self, result, None, False),
)
max_dim = op_list(
    "aten::max", _with_index(np.argmax), _with_index_back, on_list=False, several=True
)
min_dim = op_list(
    "aten::min", _with_index(np.argmin), _with_index_back, on_list=False, several=True
)
cumsum = op(
    "aten::cumsum", _cumsum, "self", self=lambda grad, dim: grad.flip(dim).cumsum(dim).flip(dim)
)
cumprod = op("aten::cumprod", _cumprod, "self", self=_cumprod_back)
logsumexp = op("aten::logsumexp", _logsumexp, "self", self=_logsumexp_back)


def _plain(name: str, function: Any) -> Any:
    def forward(self: Any, dim: Dim = None, keepdim: bool = False) -> Any:
        if self.dtype.kind in "bc" and name.startswith("aten::arg"):
            raise ValueError(f"not implemented for {self.dtype}")
        found = function(self, axis=axes(dim, self.ndim), keepdims=keepdim)
        keeps = self.dtype == np.uint8 and not name.startswith("aten::arg")
        return found.astype(np.uint8) if keeps else found  # PyTorch's uint8 was its bool once

    return op(name, forward, "self")


all = _plain("aten::all", np.all)  # noqa: A001
any = _plain("aten::any", np.any)  # noqa: A001
argmax = _plain("aten::argmax", np.argmax)
argmin = _plain("aten::argmin", np.argmin)


def sum(input: Tensor, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:  # noqa: A001, A002
    """The sum over `dim`. Integers and bools sum to int64."""
    return _sum_op(input, dim, keepdim, dtype)


def mean(input: Tensor, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:  # noqa: A002
    """The mean over `dim`, of floating tensors only."""
    return _mean_op(input, dim, keepdim, dtype)


def _correction(args: tuple[Any, ...], unbiased: Any, correction: Any) -> tuple[Any, float]:
    dim = args[0] if args else None
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if len(args) > 1 and isinstance(args[1], bool):
        unbiased = args[1]
    if unbiased is not None:
        correction = 1 if unbiased else 0
    return dim, 1 if correction is None else correction


def var(
    input: Tensor,  # noqa: A002
    *args: Any,
    dim: Any = None,
    unbiased: Any = None,
    correction: Any = None,
    keepdim: bool = False,
) -> Tensor:
    """The variance over `dim`, divided by N - correction (1 by default)."""
    given, correction = _correction(args or (dim,), unbiased, correction)
    return var_op(input, given, correction, keepdim)


def std(
    input: Tensor,  # noqa: A002
    *args: Any,
    dim: Any = None,
    unbiased: Any = None,
    correction: Any = None,
    keepdim: bool = False,
) -> Tensor:
    """The square root of `var`."""
    given, correction = _correction(args or (dim,), unbiased, correction)
    return std_op(input, given, correction, keepdim)


def _max_or_min(whole: Any, along: Any, pair: Any) -> Any:
    def call(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:  # noqa: A002
        """Of all elements; along `dim` with indices; or elementwise of two tensors."""
        if dim is None:
            return whole(input)
        if isinstance(dim, Tensor):
            return pair(input, dim)
        return ValuesIndices(along(input, dim, keepdim))

    return call


class ValuesIndices(tuple[Any, Any]):
    """(values, indices)."""

    __slots__ = ()

    @property
    def values(self) -> Tensor:
        """What was found."""
        return self[0]

    @property
    def indices(self) -> Tensor:
        """Where, along the dimension; int64."""
        return self[1]


@composite("aten::sum_to_size")
def sum_to_size(input: Tensor, *size: Any) -> Tensor:  # noqa: A002
    """Summed over the dimensions that broadcasting from `size` added or stretched."""
    from .views import sizes

    shape, have = sizes(size), input.array.shape
    if shape == have:
        return input
    lead = len(have) - len(shape)
    dims = tuple(range(lead)) + tuple(
        i + lead for i, s in enumerate(shape) if s == 1 and have[i + lead] != 1
    )
    found = _sum_op(input, dims, True, None) if dims else input
    return reshape(found, shape) if lead else found


from .elementwise import maximum, minimum  # noqa: E402

max = _max_or_min(max_all, max_dim, maximum)  # noqa: A001
min = _max_or_min(min_all, min_dim, minimum)  # noqa: A001
