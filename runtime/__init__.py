"""tidy.runtime: a define-by-run autograd engine on numpy, with PyTorch's names and behaviour.

    import tidy.runtime as torch

    x = torch.randn(3, requires_grad=True)
    x.sin().sum().backward()
    x.grad

Where to read first: engine/plain_loop.py (one backward), engine/node.py, engine/tensor.py, then
ops/make/declare.py (how an operator is written).
"""

# ruff: noqa: F401, F403  (what is imported here is the public face)

from __future__ import annotations

import math as _math
import warnings as _warnings
from builtins import bool as _bool
from os import cpu_count as _cpu_count
from os import environ as _environ
from typing import Any as _Any

import numpy as _np

from . import autograd as autograd
from . import nn as nn
from .core.device import Device as device  # noqa: N813  (PyTorch's name)
from .core.dtypes import *
from .core.dtypes import bool_ as bool
from .core.dtypes import float as float
from .core.dtypes import int_ as int
from .core.later import later as _later
from .core.other_paths import install as _install_other_paths
from .engine.anomaly import is_anomaly_enabled
from .engine.grad_mode import *
from .engine.tensor import Size, Tensor
from .observe.callbacks import add_callback
from .observe.record_function import record_function
from .ops import methods as methods
from .ops.creation import Generator, default_generator, get_rng_state, initial_seed, set_rng_state
from .ops.make.table import PUBLIC as _PUBLIC

# PyTorch says nothing where numbers become infinite or NaN.
_warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"tidy\.runtime")

# glibc keeps up to twice as much freed memory as the largest mapping that was freed. With its first
# bound of 128 KiB gradients would go back to the system, and each step would fault them in anew.
_np.empty(1 << 24, _np.uint8)

globals().update(_PUBLIC["torch"])
contiguous_format, preserve_format = "contiguous_format", "preserve_format"
channels_last, channels_last_3d = "channels_last", "channels_last_3d"
strided, sparse_coo = "torch.strided", "torch.sparse_coo"
__version__ = "2.13.0+tidy"
inf, nan, pi, e = _math.inf, _math.nan, _math.pi, _math.e
iinfo, dtype = _np.iinfo, _np.dtype

__getattr__ = _later(
    __name__,
    {
        "": "amp backends compiler cuda distributed distributions fft func hub jit linalg mps "
        "multiprocessing onnx optim random serialization sparse utils version xpu",
        ".amp": "autocast is_autocast_enabled get_autocast_dtype",
        ".backends": "set_float32_matmul_precision get_float32_matmul_precision",
        ".serialization": "save load",
        ".compiling": "compile",
        ".derivatives.transforms": "vmap",
        ".core.dtypes": "bfloat16",
        ".ops.printing": "set_printoptions",
        ".ops.creation": "seed",
        ".switches": "are_deterministic_algorithms_enabled fork_rng get_default_device newaxis "
        "set_default_device set_default_tensor_type use_deterministic_algorithms",
    },
)


def is_tensor(obj: object) -> _bool:
    """Tell whether it is a tensor."""
    return isinstance(obj, Tensor)


def get_num_threads() -> _Any:
    """Count how many threads numpy may use, as far as it is known."""
    return _cpu_count() or 1


get_num_interop_threads = get_num_threads


def set_num_threads(count: _Any) -> None:
    """Taken, and left to numpy: its BLAS reads OMP_NUM_THREADS and the like when it starts."""


_install_other_paths(__name__)
if "TIDY_DEVICE" in _environ:
    from .modelled.configuration import configure_from_environment as _configure

    _configure()
