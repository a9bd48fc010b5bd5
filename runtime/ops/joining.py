"""cat, stack, repeat, roll, flip and other ways to lay elements out anew.

Source: derivatives.yaml, aten/src/ATen/native/TensorShape.cpp.
"""

# ruff: noqa: PLW0108  (a formula's lambda names what is defined further down)
# mypy: disable-error-code="no-any-return,has-type,call-overload"

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import result_dtype
from ..tensor import Tensor, wrap
from .composite import composite
from .table import op, op_list
from .views import dimension, narrow, reshape, select, sizes


def _cat(self: Any, dim: int) -> Any:
    arrays = [a for a in self if a.shape != (0,)] or self  # PyTorch skips these
    if any(a.ndim == 0 for a in arrays):
        raise ValueError("zero-dimensional tensor cannot be concatenated")
    return np.concatenate(arrays, dimension(dim, arrays[0].ndim), dtype=result_dtype(*self))


def _cat_back(grad: Tensor, self_shapes: Any, dim: int) -> list[Tensor]:
    found, start = [], 0
    for shape in self_shapes:
        if shape == (0,):
            found.append(wrap(np.zeros(0, grad.array.dtype)))
            continue
        found.append(narrow(grad, dim, start, shape[dim]))
        start += shape[dim]
    return found


cat_op = op_list("aten::cat", _cat, _cat_back, on_list=True)
stack_op = op_list(
    "aten::stack",
    lambda self, dim: np.stack(self, dimension(dim, self[0].ndim + 1), dtype=result_dtype(*self)),
    lambda grad, self_shapes, dim: [select(grad, dim, i) for i in range(len(self_shapes))],
    on_list=True,
)


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """The tensors one after another along `dim`."""
    if not len(tensors):
        raise ValueError("expected a non-empty list of Tensors")
    return cat_op(tensors, dim)


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """The tensors side by side, along a new dimension `dim`."""
    if not len(tensors):
        raise RuntimeError("stack expects a non-empty TensorList")
    return stack_op(tensors, dim)


def _repeat_back(grad: Tensor, self_shape: tuple[int, ...], repeats: tuple[int, ...]) -> Tensor:
    lead = len(repeats) - len(self_shape)
    shape: list[int] = []
    for place, times in enumerate(repeats):
        shape += [times, self_shape[place - lead] if place >= lead else 1]
    summed = reshape(grad, tuple(shape)).sum(tuple(range(0, len(shape), 2)))
    return reshape(summed, self_shape)


_repeat_op = op(
    "aten::repeat", lambda self, repeats: np.tile(self, repeats), "self", self=_repeat_back
)
_flip_op = op(
    "aten::flip",
    lambda self, dims: np.flip(self, tuple(dimension(d, self.ndim) for d in dims)).copy(),
    "self",
    self=lambda grad, dims: flip(grad, dims),
)
_roll_op = op(
    "aten::roll",
    lambda self, shifts, dims: np.roll(self, shifts, dims),
    "self",
    self=lambda grad, shifts, dims: roll(
        grad, tuple(-s for s in shifts) if isinstance(shifts, tuple) else -shifts, dims
    ),
)
tril = op(
    "aten::tril",
    lambda self, diagonal=0: np.tril(self, diagonal),
    "self",
    self=lambda grad, diagonal: grad.tril(diagonal),
)
triu = op(
    "aten::triu",
    lambda self, diagonal=0: np.triu(self, diagonal),
    "self",
    self=lambda grad, diagonal: grad.triu(diagonal),
)


def repeat(input: Tensor, *repeats: Any) -> Tensor:  # noqa: A002
    """Copied `repeats[d]` times along each dimension d."""
    times = sizes(repeats)
    if len(times) < input.array.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions "
            "of tensor"
        )
    return _repeat_op(input, times)


def flip(input: Tensor, *dims: Any) -> Tensor:  # noqa: A002
    """Backwards along `dims`."""
    return _flip_op(input, sizes(dims))


def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:  # noqa: A002
    """Shifted along `dims`, what falls off one end coming in at the other."""
    shifts = tuple(shifts) if isinstance(shifts, (list, tuple)) else shifts
    dims = tuple(dims) if isinstance(dims, (list, tuple)) else dims
    return _roll_op(input, shifts, dims)


@composite("aten::movedim")
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:  # noqa: A002
    """The dimensions `source` put where `destination` says."""
    n = input.array.ndim
    old = [dimension(d, n) for d in ((source,) if isinstance(source, int) else source)]
    new = [
        dimension(d, n) for d in ((destination,) if isinstance(destination, int) else destination)
    ]
    rest = iter([d for d in range(n) if d not in old])
    order = [old[new.index(d)] if d in new else next(rest) for d in range(n)]
    return input.permute(order)
