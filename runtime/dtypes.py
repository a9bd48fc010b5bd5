"""dtypes and their promotion.

A dtype is numpy's. Promotion is PyTorch's: tensors with dimensions decide over those without, and
these over Python's numbers, unless the lesser one is of a higher category (bool, integer, floating,
complex).

Source: c10/core/ScalarType.h, aten/src/ATen/native/TypeProperties.cpp.
"""

from __future__ import annotations

from typing import Any

import numpy as np

DType = np.dtype[Any]
Array = np.ndarray[Any, Any]

float16 = half = np.dtype("float16")
float32 = float = np.dtype("float32")  # noqa: A001
float64 = double = np.dtype("float64")
int8 = np.dtype("int8")
int16 = short = np.dtype("int16")
int32 = int_ = np.dtype("int32")
int64 = long = np.dtype("int64")
uint8 = np.dtype("uint8")
bool_ = np.dtype("bool")
complex64 = cfloat = np.dtype("complex64")
complex128 = cdouble = np.dtype("complex128")

SCALARS = frozenset(type(x) for x in (True, 1, 1.0, 1j))
_CATEGORY = {"b": 0, "i": 1, "u": 1, "f": 2, "V": 2, "c": 3}
_default = float32


def get_default_dtype() -> DType:
    """What Python floats become."""
    return _default


def set_default_dtype(dtype: Any) -> None:
    """Set what Python floats become.

    Raises:
        TypeError: not a floating dtype.
    """
    global _default  # noqa: PLW0603
    found = np.dtype(dtype)
    if found.kind != "f":
        raise TypeError("only floating-point types are supported as the default type")
    _default = found


def _complex_of(dtype: DType) -> DType:
    return complex128 if dtype.itemsize > 4 else complex64


def promote_types(a: DType, b: DType) -> DType:
    """The smallest dtype that PyTorch gives two tensors of these."""
    if a == b:
        return a
    first, second = _CATEGORY[a.kind], _CATEGORY[b.kind]
    if first != second and max(first, second) >= 2:
        high, low = (a, b) if first > second else (b, a)
        if high.kind == "c" and low.kind == "f" and low.itemsize * 2 > high.itemsize:
            return complex128
        return high
    return np.promote_types(a, b)


def _combine(high: DType | None, low: DType | None) -> DType | None:
    """`high` decides, unless `low` is of a higher category."""
    if high is None or low is None:
        return low if high is None else high
    if high.kind == "c":
        return high
    if high.kind == "f":
        return _complex_of(high) if low.kind == "c" else high
    if high.kind == "b" or low.kind in "fc":
        return promote_types(high, low)
    return high


def result_dtype(*operands: Any) -> DType:
    """The dtype of an operator on these arrays and Python numbers."""
    dims: DType | None = None
    zeros: DType | None = None
    numbers: DType | None = None
    for x in operands:
        if isinstance(x, (np.ndarray, np.generic)):
            if x.ndim:
                dims = x.dtype if dims is None else promote_types(dims, x.dtype)
            else:
                zeros = x.dtype if zeros is None else promote_types(zeros, x.dtype)
        else:
            one = number_dtype(x)
            numbers = one if numbers is None else promote_types(numbers, one)
    found = _combine(dims, _combine(zeros, numbers))
    assert found is not None
    return found


def number_dtype(x: Any) -> DType:
    """What a Python number is as a tensor."""
    if isinstance(x, bool):
        return bool_
    if isinstance(x, int):
        return int64
    if isinstance(x, complex):
        return _complex_of(_default)
    return _default


def promote(*operands: Any) -> tuple[Array, ...]:
    """The operands as arrays of their common dtype."""
    dtype = result_dtype(*operands)
    return tuple(np.asarray(x).astype(dtype, copy=False) for x in operands)


def to_float(array: Array) -> Array:
    """Integers and bools as the default dtype; the rest as they are."""
    return array if array.dtype.kind in "fcV" else array.astype(_default)
