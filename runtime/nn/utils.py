"""Gradients clipped, parameters as one vector. Source: torch/nn/utils."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..grad_mode import no_grad
from ..hooks import check
from ..ops.table import aten
from ..storage import storages
from ..tensor import Tensor


def _grads(parameters: Any) -> list[Any]:
    given = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p.grad for p in given if p.grad is not None]


@no_grad()  # type: ignore[untyped-decorator]
def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Any:
    """Scale the gradients so that their norm, taken together, is at most `max_norm`; give the norm.

    Raises:
        RuntimeError: the norm is infinite or NaN, and `error_if_nonfinite`.
    """
    grads = _grads(parameters)
    norms = [grad.norm(norm_type) for grad in grads]
    if storages:
        norms = [norm.to(norms[0].device) for norm in norms]
    total: Any = aten.stack(norms).norm(norm_type) if norms else Tensor(0.0)
    finite = not error_if_nonfinite or bool(total.isfinite())
    check(finite, f"The total norm of order {norm_type} is non-finite; cannot clip")
    scale = (max_norm / (total + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(scale.to(grad.device) if storages else scale)
    return total


@no_grad()  # type: ignore[untyped-decorator]
def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Clamp the gradients to [-clip_value, clip_value]."""
    for grad in _grads(parameters):
        grad.clamp_(-clip_value, clip_value)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Any:
    """All elements in one dimension."""
    return aten.cat([param.reshape(-1) for param in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """The reverse: each parameter's data becomes its part of `vec`."""
    start = 0
    for param in parameters:
        part = vec[start : start + param.numel()]
        param.data = part.view_as(param).data
        start += param.numel()
