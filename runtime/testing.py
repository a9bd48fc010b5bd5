"""torch.testing: `assert_close`. Source: torch/testing/_comparison.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .engine.tensor import Tensor, wrap

__all__ = ["assert_close"]
_BOUNDS = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7), "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}  # fmt: skip


def assert_close(
    actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None,
    atol: float | None = None, equal_nan: bool = False, check_device: bool = True,
    check_dtype: bool = True, check_layout: bool = True, check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:  # fmt: skip
    """Nothing, if both are equal within the bounds; containers are compared item by item.

    Raises:
        AssertionError: they differ.
        ValueError: one bound is given without the other.
        TypeError: they cannot be compared.
    """
    if (rtol is None) != (atol is None):
        raise ValueError("rtol and atol must both be specified or both be unspecified")
    kinds = (check_dtype, check_stride, check_device)
    told = _difference(actual, expected, rtol, atol, equal_nan, kinds)
    if told:
        raise AssertionError(msg(told) if callable(msg) else msg or told)


def _difference(a: Any, b: Any, rtol: Any, atol: Any, nans: bool, kinds: Any) -> str:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        if a.keys() != b.keys():
            return f"The keys of the mappings do not match: {[*a]} and {[*b]}"
        pairs = [(a[key], b[key], f"[{key!r}]") for key in a]
    elif isinstance(a, Sequence) and isinstance(b, Sequence) and not isinstance(a, str):
        if len(a) != len(b):
            return f"The length of the sequences mismatch: {len(a)} != {len(b)}"
        pairs = [(x, y, f"[{n}]") for n, (x, y) in enumerate(zip(a, b, strict=True))]
    else:
        return _of_one(a, b, rtol, atol, nans, kinds)
    for x, y, where in pairs:
        told = _difference(x, y, rtol, atol, nans, kinds)
        if told:
            return f"{told}\nThe failure occurred for item {where}"
    return ""


def _of_one(a: Any, b: Any, rtol: Any, atol: Any, nans: bool, kinds: Any) -> str:
    if a is None or b is None:
        return "" if a is b else f"None mismatch: {a} is not {b}"
    numbers = not isinstance(a, (Tensor, np.ndarray)) and not isinstance(b, (Tensor, np.ndarray))
    x, y = (_tensor(value) for value in (a, b))
    if x.shape != y.shape:
        return f"The values for attribute 'shape' do not match: {x.shape} != {y.shape}."
    for name, asked in zip(("dtype", "stride", "device"), kinds, strict=True):
        mine, other = (
            value.stride() if name == "stride" else getattr(value, name) for value in (x, y)
        )
        if asked and mine != other and not (numbers and name == "dtype"):
            return f"The values for attribute {name!r} do not match: {mine} != {other}."
    near, far = (_BOUNDS.get(str(value.dtype), (0.0, 0.0)) for value in (x, y))
    relative = max(near[0], far[0]) if rtol is None else rtol
    absolute = max(near[1], far[1]) if atol is None else atol
    wide: Any = [value.detach().cpu().array for value in (x, y)]
    wide = [v.astype(np.complex128 if v.dtype.kind == "c" else np.float64) for v in wide]
    close: Any = np.isclose(wide[0], wide[1], relative, absolute, nans)
    if close.all():
        return ""
    if not close.ndim:
        return f"Scalars are not close!\n\nExpected {b} but got {a}."
    return f"Tensor-likes are not close!\n\nMismatched elements: {(~close).sum()} / {close.size}"


def _tensor(value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (bool, int, float, complex, np.ndarray, np.generic)):
        return wrap(np.asarray(value))
    raise TypeError(f"No comparison pair was able to handle inputs of type {type(value)}.")
