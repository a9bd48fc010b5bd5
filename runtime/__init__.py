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
from typing import Any as _Any

from . import autograd as autograd
from . import fft as fft
from . import linalg as linalg
from . import nn as nn
from .anomaly import is_anomaly_enabled
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
from .ops.methods import Device as device
from .ops.table import PUBLIC as _PUBLIC
from .record_function import add_callback, record_function
from .tensor import Size, Tensor


def is_tensor(obj: object) -> _bool:
    """Whether it is a tensor."""
    return isinstance(obj, Tensor)


globals().update(_PUBLIC["torch"])
contiguous_format, preserve_format, channels_last = (
    "contiguous_format",
    "preserve_format",
    "channels_last",
)
strided = "torch.strided"
inf, nan, pi, e = _math.inf, _math.nan, _math.pi, _math.e


def __getattr__(name: str) -> _Any:
    raise AttributeError(f"tidy.runtime has no {name!r}; docs/runtime.md lists what it has")
