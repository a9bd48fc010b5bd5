"""Tensors as text. Source: torch/_tensor_str.py."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..core.dtypes import get_default_dtype
from ..engine.tensor import Tensor
from .make import device_like

_PROFILES = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, math.inf, 3, 80)}
_NAMES = ("precision", "threshold", "edgeitems", "linewidth")
options = SimpleNamespace(precision=4, threshold=1000, edgeitems=3, linewidth=80, sci_mode=None)


def set_printoptions(
    precision: Any = None, threshold: Any = None, edgeitems: Any = None, linewidth: Any = None,
    profile: str | None = None, sci_mode: bool | None = None,
) -> None:  # fmt: skip
    """Set how tensors are printed from now on; `profile` is "default", "short" or "full"."""
    given = dict(zip(_NAMES, (precision, threshold, edgeitems, linewidth), strict=True))
    if profile is not None:
        vars(options).update(zip(_NAMES, _PROFILES[profile.lower()], strict=True))
    vars(options).update({k: v for k, v in given.items() if v is not None}, sci_mode=sci_mode)


class _RealTexts:
    """Numbers of one width: as integers, with decimals, or with exponents."""

    def __init__(self, array: Any) -> None:
        self.floating = array.dtype.kind == "f"
        self.form, self.point, self.width = ".0f", ".", 1
        flat = array.reshape(-1)
        if not self.floating:
            self.width = max(len(str(x)) for x in flat.tolist())
            return
        some = flat[np.isfinite(flat) & (flat != 0)].astype(np.float64)
        if not some.size:
            return
        size, digits = np.abs(some), options.precision
        wide = size.max() / size.min() > 1000 or size.max() > 1e8 or size.min() < 1e-4
        if wide if options.sci_mode is None else options.sci_mode:
            self.form, self.point = f".{digits}e", ""
        elif (some != np.ceil(some)).any():
            self.form, self.point = f".{digits}f", ""
        self.width = max(len(format(x, self.form) + self.point) for x in some.tolist())

    def text(self, value: Any) -> str:
        if not self.floating:
            return str(value).rjust(self.width)
        point = self.point if math.isfinite(value) else ""
        return (format(value, self.form) + point).rjust(self.width)


class _ComplexTexts:
    """Complex numbers."""

    def __init__(self, array: Any) -> None:
        self.real, self.imag = _RealTexts(array.real), _RealTexts(array.imag)
        self.width = self.real.width + self.imag.width + 1

    def text(self, value: complex) -> str:
        imag = self.imag.text(value.imag).lstrip() + "j"
        return self.real.text(value.real) + ("" if imag[0] in "+-" else "+") + imag


def _edges(array: Any) -> Any:
    """What is shown of a large array."""
    n = options.edgeitems
    for d in range(array.ndim):
        size = array.shape[d]
        if size > 2 * n:
            array = np.take(array, [*range(n), *range(size - n, size)], d)
    return array


def _body(array: Any, numbers: Any, indent: int, short: bool) -> str:
    if not array.ndim:
        return str(numbers.text(array.item()))
    n, dots = options.edgeitems, short and len(array) > 2 * options.edgeitems
    shown = [*range(n), *range(len(array) - n, len(array))] if dots else range(len(array))
    if array.ndim > 1:
        parts = [_body(array[i], numbers, indent + 1, short) for i in shown]
        if dots:
            parts.insert(n, "...")
        between = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
        return f"[{between.join(parts)}]"
    parts = [numbers.text(array[i].item()) for i in shown]
    if dots:
        parts.insert(n, " ...")
    per_line = max(1, (options.linewidth - indent) // (numbers.width + 2))
    lines = [", ".join(parts[i : i + per_line]) for i in range(0, len(parts), per_line)]
    between = ",\n" + " " * (indent + 1)
    return f"[{between.join(lines)}]"


def text(input: Tensor) -> str:
    """`tensor([1., 2.], requires_grad=True)`."""
    device, prefix, more = device_like(input), "tensor(", list[str]()
    array = input.array if device is None else input.detach().cpu().array
    default = get_default_dtype()
    usual = {default.name, "int64", "bool", f"complex{default.itemsize * 16}"}
    if device is not None:
        more.append(f"device='{device}'")
    if not array.size and array.ndim != 1:
        more.append(f"size={tuple(array.shape)}")
    if array.dtype.name not in (usual if array.size else {default.name}):
        more.append(f"dtype=torch.{array.dtype.name}")
    if input.grad_fn is not None:
        more.append(f"grad_fn=<{input.grad_fn.name()}>")
    elif input.requires_grad:
        more.append("requires_grad=True")
    if array.dtype.itemsize == 2 and array.dtype.kind in "fV":
        array = array.astype(np.float32)
    short = array.size > options.threshold
    body = "[]"
    if array.size:
        kind = _ComplexTexts if array.dtype.kind == "c" else _RealTexts
        body = _body(array, kind(_edges(array) if short else array), len(prefix), short)
    found = prefix + body
    last = len(found) - found.rfind("\n") + 1
    for suffix in more:
        if last + len(suffix) + 2 > options.linewidth:
            found += ",\n" + " " * len(prefix) + suffix
            last = len(prefix) + len(suffix)
        else:
            found += f", {suffix}"
            last += len(suffix) + 2
    return f"{found})"
