"""tidy.runtime: a define-by-run autograd engine on numpy, with PyTorch's names and behaviour.

    import tidy.runtime as torch

    x = torch.randn(3, requires_grad=True)
    x.sin().sum().backward()
    x.grad

Where to read first: engine.py (one backward), then node.py, tensor.py and ops/table.py.
"""

# ruff: noqa: F401  (what is imported here is the public face)

from __future__ import annotations

from . import autograd as autograd
from . import nn as nn
from .anomaly import is_anomaly_enabled
from .dtypes import bool_ as bool  # noqa: A004
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
from .dtypes import float as float  # noqa: A004
from .dtypes import int_ as int  # noqa: A004
from .grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .ops import methods as methods
from .ops.activation import erf, log_softmax, relu, sigmoid, softmax
from .ops.conversion import detach
from .ops.creation import *  # noqa: F403
from .ops.elementwise import *  # noqa: F403
from .ops.indexing import (
    gather,
    index_add,
    index_put,
    index_select,
    masked_select,
    scatter,
    scatter_add,
)
from .ops.joining import cat, flip, movedim, repeat, roll, stack, tril, triu
from .ops.matrix import addmm, bmm, dot, einsum, matmul, mm, mv, outer
from .ops.norm import norm
from .ops.reduction import (
    all,  # noqa: A004
    amax,
    amin,
    any,  # noqa: A004
    argmax,
    argmin,
    cumprod,
    cumsum,
    logsumexp,
    max,  # noqa: A004
    mean,
    min,  # noqa: A004
    prod,
    std,
    sum,  # noqa: A004
    var,
)
from .ops.views import (
    chunk,
    diagonal,
    flatten,
    narrow,
    permute,
    reshape,
    select,
    split,
    squeeze,
    t,
    transpose,
    unbind,
    unsqueeze,
)
from .record_function import add_callback, record_function
from .tensor import Size, Tensor
