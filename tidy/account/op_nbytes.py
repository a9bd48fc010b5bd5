"""What elementwise operators read and write, by the dims of their inputs.

A profiler records no outputs. That of an elementwise operator follows: its dims are those of the
inputs broadcast, its dtype that of the widest input, and an operator in place writes to its first.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import prod
from typing import NamedTuple

from ..trace.inputs import ITEM_NBYTES, Inputs, is_dims

# Operators that compute each element of the result from one element of each input.
_ARITHMETIC = frozenset(
    f"aten::{name}"
    for name in (
        "add sub rsub mul div neg abs pow square sqrt rsqrt reciprocal exp exp2 expm1 log log2 "
        "log1p sin cos tan tanh sigmoid relu gelu silu mish elu leaky_relu hardtanh hardswish "
        "softplus hardsigmoid log_sigmoid clamp clamp_min clamp_max minimum maximum where "
        "masked_fill lerp erf addcmul addcdiv threshold floor ceil round sign bitwise_and "
        "bitwise_or bitwise_not logical_and logical_or logical_not isnan isfinite "
        "native_dropout tanh_backward sigmoid_backward threshold_backward gelu_backward "
        "silu_backward native_dropout_backward elu_backward leaky_relu_backward "
        "hardtanh_backward hardswish_backward softplus_backward mish_backward"
    ).split()
)
_COMPARISONS = frozenset(
    f"aten::{name}" for name in "eq ne lt le gt ge logical_and logical_or logical_not isnan".split()
)
_KNOWN = _ARITHMETIC | _COMPARISONS
_COPY, _FILLS = "aten::copy_", frozenset({"aten::fill_", "aten::zero_"})
_IN_PLACE = re.compile(r"(aten::\w*[a-z0-9])_")
_MOST = 1 << 62


class Moved(NamedTuple):
    """What one call moves.

    Attributes:
        dims: of its result.
        read: bytes of each input.
        written: bytes of the result.
    """

    dims: tuple[int, ...]
    read: tuple[int, ...]
    written: int

    @property
    def nbytes(self) -> int:
        """All of it."""
        return sum(self.read) + self.written


def is_elementwise(name: str) -> bool:
    """Tell whether `moved` knows what an operator of this name moves, its inputs given."""
    return _plain(name) in _KNOWN or name == _COPY or name in _FILLS


def computes_elementwise(name: str) -> bool:
    """Tell whether an operator makes a new tensor by arithmetic on each element of others."""
    return name in _ARITHMETIC


def moved(name: str, inputs: Inputs, inputs_id: int) -> Moved | None:
    """Return what one call of an elementwise operator moves; None if its inputs do not tell."""
    shapes, dtypes = inputs.shapes(inputs_id), inputs.dtypes(inputs_id)
    strides = inputs.strides(inputs_id)
    tensors = []  # dims, bytes of an element, bytes in memory
    for at, (dims, dtype) in enumerate(zip(shapes, dtypes, strict=False)):
        if not is_dims(dims):
            return None  # a list of tensors, whose dtypes are not recorded
        if dims and dtype in ITEM_NBYTES and min(dims) >= 0:
            elements = _stored(dims, strides[at] if at < len(strides) else ())
            tensors.append((dims, ITEM_NBYTES[dtype], elements * ITEM_NBYTES[dtype]))
    if not tensors:
        return None
    dims = _broadcast([each[0] for each in tensors])
    if dims is None or prod(dims) > _MOST:
        return None
    size = max(each[1] for each in tensors)
    if _plain(name) in _COMPARISONS:
        size = 1
    if _plain(name) != name:
        size = tensors[0][1]
    if name in _FILLS or name == _COPY:
        tensors = tensors[1:]
    return Moved(dims, tuple(each[2] for each in tensors), prod(dims) * size)


def _stored(dims: tuple[int, ...], strides: object) -> int:
    """The elements that a tensor has in memory: a stride of 0 repeats what is there once."""
    if not is_dims(strides) or not isinstance(strides, tuple) or len(strides) != len(dims):
        return prod(dims)
    return prod(size for size, stride in zip(dims, strides, strict=True) if stride or not size)


@lru_cache(maxsize=1 << 12)
def _plain(name: str) -> str:
    """The name without the underscore that says that it works in place."""
    in_place = _IN_PLACE.fullmatch(name)
    return in_place[1] if in_place else name


def _broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The dims of all broadcast together; None where they do not fit."""
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0]
    rank = max(map(len, shapes))
    result = [1] * rank
    for shape in shapes:
        for at, size in enumerate(shape, rank - len(shape)):
            if size != 1 and result[at] not in (1, size):
                return None
            result[at] = size if result[at] == 1 else result[at]
    return tuple(result)
