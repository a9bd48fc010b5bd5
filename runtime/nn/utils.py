"""Gradients clipped, parameters as one vector, norms folded into layers. Source: torch/nn/utils."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..core.aten import aten
from ..core.later import later
from ..core.storage import storages
from ..engine.grad_mode import no_grad
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap

__path__: list[str] = []  # core/other_paths.py knows what is below
__getattr__ = later(
    __name__,
    {
        "": "rnn parametrize parametrizations stateless",
        "tidy.runtime.nn.norm_hooks": "weight_norm remove_weight_norm spectral_norm "
        "remove_spectral_norm",
    },
)


def _listed(tensors: Any) -> list[Any]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _grouped(tensors: list[Any]) -> list[list[Any]]:
    """By device and dtype, for operators on lists."""
    groups: dict[Any, list[Any]] = {}
    for each in tensors:
        groups.setdefault((each.device, each.dtype), []).append(each)
    return list(groups.values())


@no_grad()  # type: ignore[untyped-decorator]
def get_total_norm(
    tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:  # fmt: skip
    """Return the norm of all tensors; RuntimeError if infinite or NaN and `error_if_nonfinite`."""
    norms, order = [], float(norm_type)
    for group in _grouped(_listed(tensors)):
        if foreach is False:
            norms += [each.norm(order) for each in group]
        else:
            norms += aten._foreach_norm(group, order)
    if storages:
        norms = [norm.to(norms[0].device) for norm in norms]
    total: Any = aten.stack(norms).norm(order) if norms else wrap(np.float32(0.0))
    finite = not error_if_nonfinite or bool(total.isfinite())
    check(finite, f"The total norm of order {norm_type} is non-finite; cannot clip")
    return total


@no_grad()  # type: ignore[untyped-decorator]
def clip_grads_with_norm_(
    parameters: Any, max_norm: float, total_norm: Any, foreach: bool | None = None
) -> None:
    """Scale the gradients, whose norm is `total_norm`, so that it is at most `max_norm`."""
    grads = [p.grad for p in _listed(parameters) if p.grad is not None]
    if not grads:
        return
    scale = ((total_norm + 1e-6).reciprocal() * float(max_norm)).clamp(max=1.0)
    for group in _grouped(grads):
        factor = scale.to(group[0].device) if storages else scale
        if foreach is not False:
            aten._foreach_mul_(group, factor)
            continue
        for grad in group:
            grad.mul_(factor)


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:  # fmt: skip
    """Scale the gradients so that their norm, taken together, is at most `max_norm`; return it."""
    params = _listed(parameters)
    if not params and isinstance(parameters, Iterator):
        text = "`parameters` is an empty generator, no gradient clipping will occur."
        warnings.warn(text, stacklevel=2)
    grads = [p.grad for p in params if p.grad is not None]
    total = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(params, max_norm, total, foreach)
    return total


@no_grad()  # type: ignore[untyped-decorator]
def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp the gradients to [-clip_value, clip_value]."""
    most = float(clip_value)
    for group in _grouped([p.grad for p in _listed(parameters) if p.grad is not None]):
        if foreach is not False:
            aten._foreach_clamp_min_(group, -most)
            aten._foreach_clamp_max_(group, most)
            continue
        for grad in group:
            grad.clamp_(-most, most)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Any:
    """Return all elements in one dimension."""
    return aten.cat([param.reshape(-1) for param in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Write parts of `vec` into each parameter's data: the reverse of `parameters_to_vector`."""
    start = 0
    for param in parameters:
        part = vec[start : start + param.numel()]
        param.data = part.view_as(param).data
        start += param.numel()
