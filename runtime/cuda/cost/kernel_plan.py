"""What an operator is given, and what it makes the device do."""

from __future__ import annotations

import math
from typing import NamedTuple

_NBYTES = {
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
}
Dims = tuple[int, int, int]


class Operand(NamedTuple):
    """A tensor: its shape, numpy's name of its dtype, and whether its elements lie in order."""

    shape: tuple[int, ...]
    dtype: str
    contiguous: bool = True


class KernelPlan(NamedTuple):
    """One kernel, as a trace shows it.

    `flops` and `nbytes` are what it has to do, not what it makes of it: bytes that it must read and
    write once, two operations for each multiplication with addition.
    """

    name: str
    duration_ns: int
    flops: int
    nbytes: int
    grid: Dims
    block: Dims
    registers: int
    shared_nbytes: int


def itemsize(dtype: str) -> int:
    """Bytes of one element."""
    found = _NBYTES.get(dtype)
    if found is None:
        found = 1 if dtype.startswith("float8") else 4
    return found


def numel(operand: Operand) -> int:
    return math.prod(operand.shape)


def nbytes_of(operand: Operand) -> int:
    return math.prod(operand.shape) * itemsize(operand.dtype)
