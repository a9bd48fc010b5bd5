"""dtypes and their promotion.

A dtype is numpy's. Promotion is PyTorch's: tensors with dimensions decide over those without, and
these over Python's numbers, unless the lesser one is of a higher category (bool, integer, floating,
complex). Source: c10/core/ScalarType.h, aten/src/ATen/native/TypeProperties.cpp.
"""

from __future__ import annotations

from typing import Any

import numpy as np

DType = np.dtype[Any]
Array = np.ndarray[Any, Any]

float16, float32, float64 = half, float, double = [np.dtype(f"float{n}") for n in (16, 32, 64)]
int16, int32, int64 = short, int_, long = [np.dtype(f"int{n}") for n in (16, 32, 64)]
int8, uint8, bool_ = np.dtype("int8"), np.dtype("uint8"), np.dtype("bool")
complex64, complex128 = cfloat, cdouble = np.dtype("complex64"), np.dtype("complex128")

SCALARS = frozenset(type(x) for x in (True, 1, 1.0, 1j))
_CATEGORY = {"b": 0, "i": 1, "u": 1, "f": 2, "V": 2, "c": 3}
_default = float32


def get_default_dtype() -> DType:
    """What Python floats become."""
    return _default


def set_default_dtype(dtype: Any) -> None:
    """Set what Python floats become; a TypeError if it is not a floating dtype."""
    global _default  # noqa: PLW0603
    if np.dtype(dtype).kind != "f":
        raise TypeError("only floating-point types are supported as the default type")
    _default = np.dtype(dtype)


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
    return float32 if {a.kind, b.kind} == {"f", "V"} else np.promote_types(a, b)


def _combine(high: DType | None, low: DType | None) -> DType | None:
    """`high` decides, unless `low` is of a higher category."""
    if high is None or low is None:
        return low if high is None else high
    if high.kind in "fVc":
        return _complex_of(high) if high.kind != "c" and low.kind == "c" else high
    if high.kind == "b" or low.kind in "fc":
        return promote_types(high, low)
    return high


def result_dtype(*operands: Any) -> DType:
    """The dtype of an operator on these arrays and Python numbers."""
    found: list[DType | None] = [None, None, None]  # of arrays with dimensions, without, of numbers
    for x in operands:
        is_array = isinstance(x, (np.ndarray, np.generic))
        place = 2 if not is_array else 0 if x.ndim else 1
        dtype, before = x.dtype if is_array else number_dtype(x), found[place]
        found[place] = dtype if before is None else promote_types(before, dtype)
    result = _combine(found[0], _combine(found[1], found[2]))
    assert result is not None
    return result


def number_dtype(x: Any) -> DType:
    """What a Python number is as a tensor."""
    if isinstance(x, int):
        return bool_ if isinstance(x, bool) else int64
    return _complex_of(_default) if isinstance(x, complex) else _default


def promote(*operands: Any) -> tuple[Array, ...]:
    """The operands as arrays of their common dtype."""
    dtype = result_dtype(*operands)
    return tuple(np.asarray(x).astype(dtype, copy=False) for x in operands)


def to_float(array: Array) -> Array:
    """Integers and bools as the default dtype; the rest as they are."""
    return array if array.dtype.kind in "fcV" else array.astype(_default)


def __getattr__(name: str) -> DType:
    """`bfloat16`, which takes a package of its own."""
    if name != "bfloat16":
        raise AttributeError(f"no dtype {name!r}")
    try:
        import ml_dtypes  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise AttributeError(
            "bfloat16 needs ml_dtypes: pip install 'torchtidy[bfloat16]'"
        ) from None
    return np.dtype(ml_dtypes.bfloat16)
