"""Automatic mixed precision: matrix products in 16 bits, losses in 32.

The lists are the CPU's, for modelled devices too. Source: torch/amp/autocast_mode.py,
aten/src/ATen/autocast_mode.h.
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
from .storage import accelerator, storage_of, storages
from .tensor import Tensor

_PRODUCTS = "mm bmm addmm baddbmm matmul linear conv1d conv2d conv3d scaled_dot_product_attention"
_LOSSES = """prod mse_loss l1_loss smooth_l1_loss huber_loss nll_loss cross_entropy_loss kl_div
    binary_cross_entropy binary_cross_entropy_with_logits hinge_embedding_loss"""
LOWER = {f"aten::{name}" for name in _PRODUCTS.split()}
FLOAT32 = {f"aten::{name}" for name in _LOSSES.split()}
# By type of device: what products are computed in. None is off.
_dtypes: ContextVar[dict[str, Any]] = ContextVar("tidy_autocast", default={})  # noqa: B039


def get_autocast_dtype(device_type: str = "cpu") -> Any:
    """What products are computed in.

    float16 on a device; on the CPU bfloat16 where `ml_dtypes` is installed, else float16.
    """
    usual = float16 if device_type == "cuda" else getattr(dtypes, "bfloat16", float16)
    return _dtypes.get().get(device_type) or usual


def is_autocast_enabled(device_type: str = "cpu") -> bool:
    """Whether operators cast."""
    return _dtypes.get().get(device_type) is not None


class autocast(Mode):
    """Operators cast their tensors (float64 apart): `LOWER` to `dtype`, `FLOAT32` to that."""

    def __init__(self, device_type: str = "cpu", dtype: Any = None, enabled: bool = True, **_: Any):
        there = device_type == "cpu" or (device_type == "cuda" and bool(accelerator))
        if enabled and not there:
            warnings.warn(f"{device_type} is not available. Disabling autocast.", stacklevel=2)
        self.enabled, self.dtype, self.device = enabled and there, dtype, device_type
        self._before: list[Any] = []

    def clone(self) -> autocast:
        return autocast(self.device, self.dtype, self.enabled)

    def __enter__(self) -> None:
        self._before.append(_dtypes.get())
        found = np.dtype(self.dtype or get_autocast_dtype(self.device)) if self.enabled else None
        _dtypes.set({**_dtypes.get(), self.device: found})
        if self.enabled:
            watching.append(self)

    def __exit__(self, *exc: object) -> None:
        if self.enabled:
            watching.remove(self)
        _dtypes.set(self._before.pop())


def cast(name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of the operator `name`, as autocast wants them."""
    if name not in LOWER | FLOAT32:
        return args
    dtypes = _dtypes.get()

    def to(x: Any) -> Any:
        if isinstance(x, (list, tuple)):
            return type(x)(to(y) for y in x)
        if not isinstance(x, Tensor) or x.array.dtype.kind not in "fV" or x.array.itemsize > 4:
            return x
        lower = dtypes.get("cuda" if storages and storage_of(x) is not None else "cpu")
        if lower is None:
            return x
        dtype = lower if name in LOWER else float32
        return x if x.array.dtype == dtype else x.to(dtype)

    return to(args)


def __getattr__(name: str) -> Any:
    if name != "GradScaler":
        raise AttributeError(f"tidy.runtime.amp has no {name!r}")
    from .grad_scaler import GradScaler

    return GradScaler
