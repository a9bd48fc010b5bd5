"""Automatic mixed precision: matrix products in 16 bits, losses and a few more in 32.

The lists are the CPU's, for modelled devices too. Source: torch/amp/autocast_mode.py,
aten/src/ATen/autocast_mode.h.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from .. import accelerator
from ..core import dtypes
from ..core.dtypes import float16, float32
from ..core.mode import Mode
from ..core.storage import storage_of, storages
from ..engine.tensor import Tensor
from .arrangement import watching

_PRODUCTS = """mm bmm addmm addbmm baddbmm matmul linear conv1d conv2d conv3d conv_transpose1d
    conv_transpose2d conv_transpose3d scaled_dot_product_attention prelu lstm"""
_LOSSES = """mse_loss l1_loss smooth_l1_loss huber_loss nll_loss cross_entropy_loss kl_div
    binary_cross_entropy binary_cross_entropy_with_logits ctc_loss poisson_nll_loss
    cosine_embedding_loss margin_ranking_loss triplet_margin_loss multi_margin_loss"""
_OTHERS = """prod trace cdist quantile grid_sample avg_pool3d max_pool3d adaptive_avg_pool3d
    linalg_cholesky linalg_eigh linalg_inv linalg_qr linalg_solve linalg_svd inverse fft_fft
    fft_rfft reflection_pad"""
LOWER = {f"aten::{name}" for name in _PRODUCTS.split()}
FLOAT32 = {f"aten::{name}" for name in (*_LOSSES.split(), *_OTHERS.split())}
# They are made of products here and of none in PyTorch; what is cast to float32 stays so inside.
WHOLE = FLOAT32 | {"aten::adaptive_avg_pool1d", "aten::adaptive_avg_pool2d", "aten::bilinear"}
# By type of device: what products are computed in. None is off.
_dtypes: ContextVar[dict[str, Any]] = ContextVar("tidy_autocast", default={})  # noqa: B039


def get_autocast_dtype(device_type: str = "cpu") -> Any:
    """Return what products are computed in: float16 on a device, bfloat16 on the CPU."""
    usual = float16 if device_type == "cuda" else dtypes.bfloat16
    return _dtypes.get().get(device_type) or usual


def is_autocast_enabled(device_type: str = "cpu") -> bool:
    """Tell whether operators cast."""
    return _dtypes.get().get(device_type) is not None


class autocast(Mode):
    """Operators cast their tensors (float64 apart): `LOWER` to `dtype`, `FLOAT32` to that."""

    variable = _dtypes

    def __init__(self, device_type: str = "cpu", dtype: Any = None, enabled: bool = True, **_: Any):
        there = device_type == "cpu" or (device_type == "cuda" and accelerator.is_available())
        if enabled and not there:
            warnings.warn(f"{device_type} is not available. Disabling autocast.", stacklevel=2)
        self.enabled, self.dtype, self.device = enabled and there, dtype, device_type
        self.listed = watching if self.enabled else []

    def __enter__(self) -> None:
        dtype = None
        if self.enabled:
            dtype = dtypes.numpy_dtype(self.dtype or get_autocast_dtype(self.device))
        self.value = {**_dtypes.get(), self.device: dtype}
        super().__enter__()


def is_autocast_available(device_type: str) -> bool:
    """Tell whether there is such a device, on which operators can cast."""
    return device_type in ("cpu", "cuda")


def without_casts(name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of the operator `name`, without casts of the operators inside."""
    if name not in WHOLE:
        return inner

    def run(*args: Any, **kwargs: Any) -> Any:
        token = _dtypes.set({})
        try:
            return inner(*args, **kwargs)
        finally:
            _dtypes.reset(token)

    return run


def cast(name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments of the operator `name`, as autocast wants them."""
    if name not in LOWER and name not in FLOAT32:
        return args
    layer: Any = args[0] if args else None
    if name == "aten::lstm" and getattr(layer, "proj_size", False):  # its products alone, as there
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
