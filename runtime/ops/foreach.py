"""`_foreach_<name>(tensors, ...)`, which returns a tuple, and `_foreach_<name>_`, which writes to
the tensors: one call, and one record, for all of them. A further operand is a number or a tensor,
or a list with one for each. Not differentiable here. Source: native/ForeachOpsKernels.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.dtypes import narrowed, promoted, to_float, widened
from ..engine.grad_mode import is_grad_enabled
from ..engine.tensor import Tensor, bump_version, wrap
from ..engine.view import check_inplace
from .arithmetic import check_exponent
from .make import composite

_TABLE: dict[str, Callable[..., Any]] = {
    "add": lambda a, b, alpha=1: a + (b if alpha == 1 else b * alpha),
    "sub": lambda a, b, alpha=1: a - (b if alpha == 1 else b * alpha),
    "mul": np.multiply,
    "div": np.true_divide,
    "pow": np.power,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "clamp_max": np.minimum,
    "clamp_min": np.maximum,
    "addcmul": lambda a, b, c, value=1: a + value * (b * c),
    "addcdiv": lambda a, b, c, value=1: a + value * (b / c),
    "lerp": lambda a, b, weight: a + weight * (b - a),
    "sqrt": lambda a: np.sqrt(to_float(a)),
    "reciprocal": lambda a: 1 / to_float(a),
    "norm": lambda a, order=2: np.linalg.norm(to_float(abs(a)).ravel(), np.real(order)),
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "zero": np.zeros_like,
    "copy": lambda a, b: np.broadcast_to(b, a.shape),
}
# Their numbers keep float32's digits beside 16-bit floats.
_IN_OPMATH = [_TABLE[name] for name in ("mul", "div", "addcmul", "addcdiv", "lerp")]


def _foreach(name: str, function: Callable[..., Any], in_place: bool) -> Callable[..., Any]:
    def call(tensors: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        every = (tensors, *args, *kwargs.values())
        lists = [x for x in every if isinstance(x, (list, tuple))]
        if not tensors or any(len(x) != len(tensors) for x in lists):
            raise RuntimeError(f"{name}: the lists must be of the same length, and not empty")
        for tensor in tensors if is_grad_enabled() else ():
            if in_place:
                check_inplace(tensor, tensor.requires_grad)
            if tensor.requires_grad:
                raise NotImplementedError(f"{name} is not differentiable; call it under no_grad")
        found = []
        for number, tensor in enumerate(tensors):
            row = [x[number] if isinstance(x, (list, tuple)) else x for x in every]
            row = [getattr(x, "array", x) for x in row]
            dtype = tensor.array.dtype
            if function is np.power and isinstance(row[1], (int, float)):
                check_exponent(row[1], dtype)
            if dtype.char not in "fd" or any(getattr(x, "dtype", dtype) is not dtype for x in row):
                floats, opmath = function is np.true_divide, function in _IN_OPMATH
                half, *row = promoted(*row, floats=floats, opmath=opmath)
            else:
                half, *row = widened(*row)
            with np.errstate(all="ignore"):
                made = function(*row)
                made = made if half is None or in_place else narrowed(made, half)
            if not in_place:
                found.append(wrap(made))
                continue
            if not np.can_cast(made.dtype, dtype, "same_kind"):
                raise RuntimeError(f"{name}: {made.dtype} can't be cast to {dtype}")
            tensor.array[...] = made
            bump_version(tensor)
        return list(tensors) if in_place else tuple(found)

    call.__name__ = name.partition("::")[2]
    return composite("torch", name)(call)


OPERATORS = {
    f"_foreach_{name}": _foreach(f"aten::_foreach_{name}", function, name.endswith("_"))
    for base, function in _TABLE.items()
    for name in (base, f"{base}_")
    if name not in {"norm_", "zero", "copy"}
}
