"""dtypes and their promotion.

A dtype is numpy's. Promotion is PyTorch's: tensors with dimensions decide over those without, and
these over Python's numbers, unless the lesser one is of a higher category (bool, integer, floating,
complex). Source: c10/core/ScalarType.h, aten/src/ATen/native/TypeProperties.cpp.
"""

from __future__ import annotations

import copyreg
from typing import Any

import numpy as np

__all__ = ["cdouble", "cfloat", "complex64", "complex128", "double", "float16", "float32"]
__all__ += ["float64", "half", "int8"]
__all__ += ["int16", "int32", "int64", "long", "short", "uint8"]  # and, under torch's names, more
__all__ += ["finfo", "get_default_dtype", "promote_types", "set_default_dtype"]

DType = np.dtype[Any]
Array = np.ndarray[Any, Any]

float16, float32, float64 = half, float, double = [np.dtype(f"float{n}") for n in (16, 32, 64)]
int16, int32, int64 = short, int_, long = [np.dtype(f"int{n}") for n in (16, 32, 64)]
int8, uint8, bool_ = np.dtype("int8"), np.dtype("uint8"), np.dtype("bool")
complex64, complex128 = cfloat, cdouble = np.dtype("complex64"), np.dtype("complex128")

for _kind in (float16, float32, float64, int8, int16, int32, int64, uint8, bool_, cfloat, cdouble):
    # Copies of a dtype, and what is read back, are the dtype itself, as those of PyTorch are.
    copyreg.pickle(type(_kind), lambda dtype: (np.dtype, (dtype.str,)))

SCALARS = frozenset(type(x) for x in (True, 1, 1.0, 1j))
CATEGORY = {"b": 0, "i": 1, "u": 1, "f": 2, "V": 2, "c": 3}
_default = float32


def get_default_dtype() -> DType:
    """Return what Python floats become."""
    return _default


def set_default_dtype(dtype: Any) -> None:
    """Set what Python floats become; a TypeError if it is not a floating dtype."""
    global _default  # noqa: PLW0603
    found = numpy_dtype(dtype)
    if found.kind not in "fV":
        raise TypeError("only floating-point types are supported as the default type")
    _default = found


def as_dtype(given: Any) -> DType:
    """Return the dtype that is asked for, by a dtype or a class as `float`; else TypeError."""
    found = numpy_dtype(given) if isinstance(given, (np.dtype, type)) else None
    if found is None or found.kind not in CATEGORY:
        error = TypeError(f"argument 'dtype' must be torch.dtype, not {given!r}")
        error.stays = True  # type: ignore[attr-defined]  # operators give it on as it is
        raise error
    return found


def _complex_of(dtype: DType) -> DType:
    return complex128 if dtype.itemsize > 4 else complex64


def promote_types(a: DType, b: DType) -> DType:
    """Return the smallest dtype that PyTorch gives two tensors of these."""
    if a == b:
        return a
    first, second = CATEGORY[a.kind], CATEGORY[b.kind]
    if first != second and max(first, second) >= 2:
        high, low = (a, b) if first > second else (b, a)
        if high.kind == "c" and low.kind == "f" and low.itemsize * 2 > high.itemsize:
            return complex128
        return high
    if {a.kind, b.kind} == {"f", "V"}:
        return max(float32, a, b, key=lambda dtype: dtype.itemsize)
    return np.promote_types(a, b)


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
    """Return the dtype of an operator on these arrays and numbers; numpy's are Python's here."""
    chosen: list[DType | None] = [None] * 3  # of arrays with dimensions, without, of numbers
    for x in operands:
        is_array = isinstance(x, np.ndarray)
        place = 2 if not is_array else 0 if x.ndim else 1
        dtype, before = x.dtype if is_array else number_dtype(x), chosen[place]
        chosen[place] = dtype if before is None else promote_types(before, dtype)
    result = _combine(chosen[0], _combine(chosen[1], chosen[2]))
    assert result is not None
    return result


def python_number(x: Any) -> Any:
    """Return a number of numpy as Python's: a bool as a float, a `longdouble` as one of 64 bits."""
    x = x.item() * 1.0 if isinstance(x, np.bool_) else x.item() if isinstance(x, np.generic) else x
    if isinstance(x, np.inexact):
        with np.errstate(over="ignore"):
            return x.astype(cdouble if isinstance(x, np.complexfloating) else float64).item()
    return x


def number_dtype(x: Any) -> DType:
    """Return what a number is as a tensor."""
    x = python_number(x)
    if isinstance(x, int):
        return bool_ if isinstance(x, bool) else int64
    return _complex_of(_default) if isinstance(x, complex) else _default


def promote(*operands: Any) -> tuple[Array, ...]:
    """Return the operands as arrays of their common dtype."""
    dtype = result_dtype(*operands)
    return tuple(np.asarray(x).astype(dtype, copy=False) for x in operands)


def widened(first: Array, *others: Any) -> tuple[Any, ...]:
    """Return what is to be computed in float32, and what its result is to be: 16 bits, or None.

    If the first array is of a 16-bit float it and the others that are become float32, unless there
    is one of a wider float: such operands are for the operator to refuse or to promote.
    """
    if first.dtype.kind not in "fV" or first.dtype.itemsize != 2:
        return None, first, *others
    if any(x.__class__ is np.ndarray and x.dtype.char in "fd" for x in others):
        return None, first, *others
    return first.dtype, *[in_float32(x) for x in (first, *others)]


def in_float32(x: Any) -> Any:
    """Return an array of 16-bit floats as float32; anything else as it is."""
    half = isinstance(x, np.ndarray) and x.dtype.itemsize == 2 and x.dtype.kind in "fV"
    return _widen(x) if half else x


def _widen(x: Array) -> Array:
    """Return an array in float32, laid as it is: what was expanded stays so."""
    expanded = [step == 0 and count > 1 for step, count in zip(x.strides, x.shape, strict=True)]
    if True not in expanded:
        return x.astype(float32)
    once = x[tuple([slice(0, 1) if each else slice(None) for each in expanded])]
    return np.broadcast_to(once.astype(float32), x.shape)


def narrowed(result: Any, half: DType) -> Any:
    """Return what was computed in float32 for 16-bit operands, as these."""
    with np.errstate(all="ignore"):
        return result.astype(half) if result.dtype == float32 else result


def in_16_bits(number: Any, dtype: DType) -> Any:
    """Return a number as a 16-bit float of this dtype has it, infinite beyond; else as it is."""
    if dtype.itemsize != 2 or dtype.kind not in "fV":
        return number
    with np.errstate(over="ignore"):
        return narrowed(np.asarray(number, float32), dtype).item()


def promoted(*operands: Any, floats: bool = False, opmath: bool = False) -> tuple[Any, ...]:
    """Widen operands of several dtypes, as `widened` does.

    Args:
        floats: integers become floats, each from its own dtype: 256 beside a uint8 is no 0.
        opmath: numbers beside 16-bit floats keep the digits of float32.
    """
    dtype = result_dtype(*operands)
    if floats and dtype.kind in "bui":
        dtype = _default
    if dtype.kind not in "fV" or dtype.itemsize != 2:
        return None, *[np.asarray(x).astype(dtype, copy=False) for x in operands]
    with np.errstate(all="ignore"):
        each = [
            np.asarray(x) if opmath and not np.ndim(x) else np.asarray(x).astype(dtype, copy=False)
            for x in operands
        ]
        return dtype, *[_widen(x) for x in each]


def to_float(array: Array) -> Array:
    """Integers and bools as the default dtype; the rest as they are."""
    return array if array.dtype.kind in "fcV" else array.astype(_default)


class _Missing(type):
    """Stands for `bfloat16` where its package is not installed: any use is refused."""

    @property
    def dtype(cls) -> DType:
        raise RuntimeError("bfloat16 needs ml_dtypes: pip install 'torchtidy[bfloat16]'")

    def __repr__(cls) -> str:
        return "torch.bfloat16"


def numpy_dtype(given: Any) -> DType:
    """Return numpy's dtype of what is given; RuntimeError for one that is missing here."""
    return given.dtype if isinstance(given, _Missing) else np.dtype(given)


def finfo(dtype: Any = None) -> Any:
    """Return the limits of a floating dtype, by default of the default one."""
    dtype = numpy_dtype(_default if dtype is None else dtype)
    if dtype.kind != "V":
        return np.finfo(dtype)
    import ml_dtypes  # type: ignore[import-not-found, unused-ignore]

    limits: Any = ml_dtypes.finfo
    return limits(dtype)


def __getattr__(name: str) -> DType:
    """`bfloat16`, which takes a package of its own."""
    if name != "bfloat16":
        raise AttributeError(f"no dtype {name!r}")
    try:
        import ml_dtypes
    except ImportError:
        found: Any = _Missing("bfloat16", (), {})
    else:
        found = np.dtype(ml_dtypes.bfloat16)
    globals()[name] = found
    return found
