"""Initial values, written in place and outside autograd. Source: torch/nn/init.py."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..engine.hooks import check
from ..engine.tensor import Tensor, bump_version
from ..ops.creation import default_generator

_GAINS = {"sigmoid": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 0.75, "linear": 1.0}
_GAINS |= {f"conv{t}{n}d": 1.0 for t in ("", "_transpose") for n in (1, 2, 3)}


def constant_(tensor: Tensor, val: Any) -> Tensor:
    """Fill with one value, or an array of them."""
    check(val is not None, "the value must be a number, not NoneType", TypeError)
    bump_version(tensor)
    tensor.array[...] = val
    return tensor


zeros_, ones_ = partial(constant_, val=0), partial(constant_, val=1)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Uniform in [a, b)."""
    check(a <= b, f"uniform_ expects a range, but found from={a} > to={b}")
    return constant_(tensor, default_generator.stream.uniform(a, b, tensor.array.shape))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    check(std >= 0, f"normal expects std >= 0.0, but found std {std}")
    return constant_(tensor, default_generator.stream.normal(mean, std, tensor.array.shape))


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0
) -> Tensor:
    """Normal, drawn again while outside [a, b]; what 100 draws leave outside is put on its edge."""
    values: Any = default_generator.stream.normal(mean, std, tensor.array.shape)
    for _ in range(100):
        outside = (values < a) | (values > b)
        values[outside] = default_generator.stream.normal(mean, std, np.count_nonzero(outside))
    return constant_(tensor, np.clip(values, a, b))


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs each output of a weight (out, in, *kernel) has, and the reverse."""
    check(tensor.array.ndim >= 2, "Fan in and fan out need 2 or more dimensions", ValueError)
    fan_out, fan_in, *kernel = tensor.array.shape
    return fan_in * math.prod(kernel), fan_out * math.prod(kernel)


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """By how much a nonlinearity's inputs are to be scaled; `param` is leaky_relu's slope."""
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        check(isinstance(slope, (int, float)), f"negative_slope {slope} not a number", ValueError)
        return math.sqrt(2 / (1 + slope**2))
    check(nonlinearity in _GAINS, f"Unsupported nonlinearity {nonlinearity}", ValueError)
    return _GAINS[nonlinearity]


def _families(fill: Callable[[Tensor, float], Tensor]) -> Any:
    def xavier(tensor: Tensor, gain: float = 1.0) -> Tensor:
        """Draw with variance gain^2 * 2 / (fan in + fan out)."""
        return fill(tensor, gain * math.sqrt(2 / sum(_calculate_fan_in_and_fan_out(tensor))))

    def kaiming(
        tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
    ) -> Tensor:
        """Draw with variance gain^2 / fan."""
        check(mode in {"fan_in", "fan_out"}, f"Mode {mode} is not fan_in or fan_out", ValueError)
        fan = _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]
        return fill(tensor, calculate_gain(nonlinearity, a) / math.sqrt(max(fan, 1)))

    return xavier, kaiming


xavier_normal_, kaiming_normal_ = _families(lambda tensor, std: normal_(tensor, 0, std))
xavier_uniform_, kaiming_uniform_ = _families(
    lambda tensor, std: uniform_(tensor, -math.sqrt(3) * std, math.sqrt(3) * std)
)


def orthogonal_(tensor: Tensor, gain: float = 1) -> Tensor:
    """Orthonormal rows or columns (the fewer) of a matrix (first dimension, the rest)."""
    check(tensor.array.ndim >= 2, "orthogonal_ needs 2 or more dimensions", ValueError)
    rows, *rest = tensor.array.shape
    flat = default_generator.stream.standard_normal(sorted((rows, math.prod(rest)))[::-1])
    q, r = np.linalg.qr(flat)
    q = gain * q * np.sign(np.diag(r))
    return constant_(tensor, (q if rows >= math.prod(rest) else q.T).reshape(rows, *rest))


def _older(fill: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    def deprecated(*args: Any, **kwargs: Any) -> Tensor:
        told = f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`."
        warnings.warn(told, FutureWarning, stacklevel=2)
        return fill(*args, **kwargs)

    return deprecated


_OLD = "uniform normal constant xavier_uniform xavier_normal kaiming_uniform kaiming_normal "
_OLD += "orthogonal"
globals().update((name, _older(globals()[f"{name}_"], name)) for name in _OLD.split())
