"""Initial values, written in place and outside autograd. Source: torch/nn/init.py."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ops.creation import default_generator
from ..tensor import Tensor, bump_version

_GAINS = {"sigmoid": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 0.75, "linear": 1.0}
_GAINS |= {f"conv{t}{n}d": 1.0 for t in ("", "_transpose") for n in (1, 2, 3)}


def constant_(tensor: Tensor, val: Any) -> Tensor:
    """One value, or an array of them."""
    bump_version(tensor)
    tensor.array[...] = val
    return tensor


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return constant_(tensor, 0)


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return constant_(tensor, 1)


def eye_(tensor: Tensor) -> Tensor:
    """Ones on the diagonal of a matrix."""
    if tensor.array.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return constant_(tensor, np.eye(*tensor.array.shape))


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Uniform in [a, b)."""
    if a > b:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={a} > to={b}"
        )
    return constant_(tensor, default_generator.stream.uniform(a, b, tensor.array.shape))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Normal."""
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    return constant_(tensor, default_generator.stream.normal(mean, std, tensor.array.shape))


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0
) -> Tensor:
    """Normal, drawn again while outside [a, b]; what 100 draws leave outside is put on its edge."""
    values: Any = default_generator.stream.normal(mean, std, tensor.array.shape)
    for _ in range(100):
        outside = (values < a) | (values > b)
        count = np.count_nonzero(outside)
        if not count:
            break
        values[outside] = default_generator.stream.normal(mean, std, count)
    return constant_(tensor, np.clip(values, a, b))


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs each output of a weight (out, in, *kernel) has, and the reverse."""
    if tensor.array.ndim < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    fan_out, fan_in, *kernel = tensor.array.shape
    return fan_in * math.prod(kernel), fan_out * math.prod(kernel)


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """By how much a nonlinearity's inputs are to be scaled."""
    if nonlinearity == "leaky_relu":
        if isinstance(param, bool) or not isinstance(param, (int, float, type(None))):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Normal, of variance gain^2 * 2 / (fan in + fan out)."""
    return normal_(tensor, 0, gain * math.sqrt(2 / sum(_calculate_fan_in_and_fan_out(tensor))))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Uniform, of the same variance."""
    bound = gain * math.sqrt(6 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound)


def _kaiming(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    fan = _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]
    return calculate_gain(nonlinearity, a) / math.sqrt(max(fan, 1))


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Tensor:
    """Normal, of variance gain^2 / fan."""
    return normal_(tensor, 0, _kaiming(tensor, a, mode, nonlinearity))


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Tensor:
    """Uniform, of the same variance."""
    bound = math.sqrt(3) * _kaiming(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def orthogonal_(tensor: Tensor, gain: float = 1) -> Tensor:
    """Orthonormal rows or columns (the fewer) of a matrix (first dimension, the rest)."""
    if tensor.array.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    rows, *rest = tensor.array.shape
    flat = default_generator.stream.standard_normal(sorted((rows, math.prod(rest)))[::-1])
    q, r = np.linalg.qr(flat)
    q = gain * q * np.sign(np.diag(r))
    return constant_(tensor, (q if rows >= math.prod(rest) else q.T).reshape(rows, *rest))
