"""Automatic mixed precision: matrix products in 16 bits, losses in 32.

Source: torch/amp/autocast_mode.py, aten/src/ATen/autocast_mode.h (the lists for the CPU).
"""

from __future__ import annotations

import warnings
from contextvars import ContextVar
from typing import Any

import numpy as np

from . import dtypes
from .dtypes import float16, float32
from .grad_mode import Mode
from .record_function import watching
from .tensor import Tensor

_PRODUCTS = "mm bmm addmm baddbmm matmul linear conv1d conv2d conv3d scaled_dot_product_attention"
_LOSSES = """prod mse_loss l1_loss smooth_l1_loss huber_loss nll_loss cross_entropy_loss kl_div
    binary_cross_entropy binary_cross_entropy_with_logits hinge_embedding_loss"""
LOWER = {f"aten::{name}" for name in _PRODUCTS.split()}
FLOAT32 = {f"aten::{name}" for name in _LOSSES.split()}
_dtype: ContextVar[Any] = ContextVar("tidy_autocast", default=None)  # None is off


def get_autocast_dtype(device_type: str = "cpu") -> Any:
    """What products are computed in: bfloat16 where `ml_dtypes` is installed, else float16."""
    return _dtype.get() or getattr(dtypes, "bfloat16", float16)


def is_autocast_enabled(device_type: str = "cpu") -> bool:
    """Whether operators cast."""
    return device_type == "cpu" and _dtype.get() is not None


class autocast(Mode):
    """Operators cast their tensors (float64 apart): `LOWER` to `dtype`, `FLOAT32` to that."""

    def __init__(self, device_type: str = "cpu", dtype: Any = None, enabled: bool = True, **_: Any):
        if enabled and device_type != "cpu":
            warnings.warn(f"{device_type} is not available. Disabling autocast.", stacklevel=2)
        self.enabled, self.dtype = enabled and device_type == "cpu", dtype
        self._before: list[Any] = []

    def clone(self) -> autocast:
        return autocast("cpu", self.dtype, self.enabled)

    def __enter__(self) -> None:
        self._before.append(_dtype.get())
        _dtype.set(np.dtype(self.dtype or get_autocast_dtype()) if self.enabled else None)
        if self.enabled:
            watching.append(self)

    def __exit__(self, *exc: object) -> None:
        if self.enabled:
            watching.remove(self)
        _dtype.set(self._before.pop())


def cast(name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of the operator `name`, as autocast wants them."""
    dtype = _dtype.get() if name in LOWER else float32
    if _dtype.get() is None or name not in LOWER | FLOAT32:
        return args

    def to(x: Any) -> Any:
        if isinstance(x, (list, tuple)):
            return type(x)(to(y) for y in x)
        kind, size = (x.array.dtype.kind, x.array.itemsize) if isinstance(x, Tensor) else ("", 0)
        return x.to(dtype) if kind and kind in "fV" and size < 8 and x.dtype != dtype else x

    return to(args)
