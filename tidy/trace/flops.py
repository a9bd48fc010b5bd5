"""Floating point operations of ops, from the shapes of their inputs.

The formulas of PyTorch's `with_flops` (`computeFlops` in torch/csrc/profiler/util.cpp): a
multiplication and an addition count as two; ops that it has no formula for count nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from math import prod
from typing import Any

from .inputs import Inputs

Dims = tuple[int, ...]
_MOST = 1 << 53  # a single call with more would take hours: its shapes are damaged


def count_flops(name: str, inputs: Inputs, inputs_id: int) -> int:
    """FLOPs of one call, 0 where the op has no formula or its inputs do not tell."""
    formula = _FORMULAS.get(name)
    shapes = inputs.shapes(inputs_id) if formula is not None else ()
    if formula is None or not shapes:
        return 0
    try:
        count = int(formula(shapes, inputs.concrete(inputs_id)))
    except (ArithmeticError, IndexError, RecursionError, TypeError, ValueError):
        return 0  # a call of another form
    return count if 0 <= count <= _MOST else 0


def _mm(first: Dims, second: Dims) -> int:
    (rows, inner), (_, columns) = first, second
    return 2 * rows * inner * columns


def _bmm(first: Dims, second: Dims) -> int:
    (batch, rows, inner), (_, _, columns) = first, second
    return 2 * batch * rows * inner * columns


def _conv2d(shapes: tuple[Any, ...], concrete: tuple[Any, ...]) -> int:
    """`aten::conv2d(input, weight, bias, stride, padding, dilation, groups)`."""
    (batch, in_channels, *image), (out_channels, _, *kernel) = shapes[0], shapes[1]
    stride, padding, dilation = (_pair(concrete[at]) for at in (3, 4, 5))
    groups = int(concrete[6])
    height, width = (
        (image[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1
        for i in range(2)
    )
    per_pixel = prod(kernel) * in_channels * out_channels // groups
    return int(2 * batch * height * width * per_pixel)


def _pair(text: str) -> tuple[int, int]:
    """`[2, 1]`; PyTorch counts nothing for `[2]` or a padding given as a word."""
    first, second = json.loads(text)
    return int(first), int(second)


def _elementwise(shapes: tuple[Any, ...], _: tuple[Any, ...]) -> int:
    """The elements of the first input alone, as PyTorch counts."""
    return prod(shapes[0])


_FORMULAS: dict[str, Callable[[tuple[Any, ...], tuple[Any, ...]], int]] = {
    "aten::mm": lambda shapes, _: _mm(shapes[0], shapes[1]),
    "aten::addmm": lambda shapes, _: _mm(shapes[1], shapes[2]),
    "aten::bmm": lambda shapes, _: _bmm(shapes[0], shapes[1]),
    "aten::baddbmm": lambda shapes, _: _bmm(shapes[1], shapes[2]),
    "aten::conv2d": _conv2d,
    "aten::mul": _elementwise,
    "aten::add": _elementwise,
}
