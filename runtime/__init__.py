"""tidy.runtime: a define-by-run autograd engine on numpy, with PyTorch's names and behaviour.

    import tidy.runtime as torch

    x = torch.randn(3, requires_grad=True)
    x.sin().sum().backward()
    x.grad

Where to read first: engine.py (one backward), then node.py, tensor.py and ops/table.py.
"""

# ruff: noqa: F401  (what is imported here is the public face)

from __future__ import annotations

import math as _math
from builtins import bool as _bool
from importlib import import_module as _import_module
from os import environ as _environ
from typing import Any as _Any

import numpy as _np

from . import autograd as autograd
from . import nn as nn
from .anomaly import is_anomaly_enabled
from .device import Device as device  # noqa: N813  (PyTorch's name)
from .dtypes import bool_ as bool
from .dtypes import (
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    get_default_dtype,
    half,
    int8,
    int16,
    int32,
    int64,
    long,
    promote_types,
    set_default_dtype,
    short,
    uint8,
)
from .dtypes import float as float
from .dtypes import int_ as int
from .grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .ops import methods as methods
from .ops.creation import Generator, default_generator, get_rng_state, initial_seed, set_rng_state
from .ops.table import PUBLIC as _PUBLIC
from .record_function import add_callback, record_function
from .tensor import Size, Tensor

globals().update(_PUBLIC["torch"])
contiguous_format, preserve_format = "contiguous_format", "preserve_format"
channels_last, strided = "channels_last", "torch.strided"
inf, nan, pi, e = _math.inf, _math.nan, _math.pi, _math.e
finfo, iinfo, dtype = _np.finfo, _np.iinfo, _np.dtype

# What is loaded when first asked for: the module it is in, and its name there.
_LATER = {
    **{name: (name, None) for name in "amp backends cuda fft linalg optim utils".split()},
    "autocast": ("amp", "autocast"),
    "is_autocast_enabled": ("amp", "is_autocast_enabled"),
    "get_autocast_dtype": ("amp", "get_autocast_dtype"),
    "set_float32_matmul_precision": ("backends", "set_float32_matmul_precision"),
    "get_float32_matmul_precision": ("backends", "get_float32_matmul_precision"),
    "save": ("serialization", "save"),
    "load": ("serialization", "load"),
    "bfloat16": ("dtypes", "bfloat16"),
}


def is_tensor(obj: object) -> _bool:
    """Whether it is a tensor."""
    return isinstance(obj, Tensor)


def set_num_threads(count: _Any) -> None:
    """Taken, and left to numpy: its BLAS reads OMP_NUM_THREADS and the like when it starts."""


def __getattr__(name: str) -> _Any:
    if name not in _LATER:
        raise AttributeError(f"tidy.runtime has no {name!r}; docs/runtime.md lists what it has")
    module, inner = _LATER[name]
    found = _import_module(f"{__name__}.{module}")
    globals()[name] = found = found if inner is None else getattr(found, inner)
    return found


if "TIDY_DEVICE" in _environ:
    from .cuda.state import configure_from_environment as _configure

    _configure()
