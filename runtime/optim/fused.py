"""`fused=True`: one operator updates all parameters of a group that share a device and a dtype.

The operators are `_fused_adam_`, `_fused_adamw_`, `_fused_sgd_` and `_fused_adagrad_`. They compute
on arrays what optimizer.py does with an operator for each step of the formula, in the same order,
so that both give the same numbers to the last bit. Each gives the tensors that it wrote to.

`step` of a fused Adam or Adagrad lies on the parameter's device: nothing on the host reads it.

Source: torch/optim/adam.py, sgd.py, adagrad.py; native/cuda/fused_adam_impl.cu, FusedSgdKernel.cu.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..hooks import check
from ..ops.creation import tensor
from ..ops.foreach import OPERATORS
from ..ops.table import aten, composite
from ..tensor import Tensor, bump_version

Group = dict[str, Any]
Tensors = Sequence[Tensor]


def refuse_unfit(group: Group) -> None:
    """Check the options of a group that asks for `fused=True`, and its parameters.

    Raises:
        RuntimeError: it asks for `foreach` as well, or has parameters that are not floating point.
    """
    check(not group.get("foreach"), "`fused` and `foreach` cannot be `True` together.")
    for p in group["params"]:
        text = "`fused=True` requires all the params to be floating point Tensors"
        check(p.is_floating_point(), f"{text}, but one is {p.dtype} and {p.device}")


def step_zero(param: Tensor, group: Group) -> Tensor:
    """The number of steps done, before the first."""
    if not group.get("fused"):
        return tensor(0.0)
    found: Tensor = aten.zeros((), dtype=np.float32, device=param.device)
    return found


def update(group: Group, params: list[Tensor], states: list[dict[str, Any]]) -> None:
    """One step of parameters of one device and dtype, whose states have the same keys.

    Raises:
        RuntimeError: a gradient is sparse.
    """
    grads: list[Any] = [p._grad for p in params]
    check(not any(g.is_sparse for g in grads), "`fused` does not support sparse gradients")
    shared = {key: group[key] for key in ("lr", "weight_decay", "maximize")}
    if "betas" in group:
        _adam(group, params, grads, states, shared)
    elif "lr_decay" in group:
        steps = [state["step"] for state in states]
        OPERATORS["_foreach_add_"](steps, 1)
        rest = {key: group[key] for key in ("lr_decay", "eps")}
        _fused_adagrad_(params, grads, [s["sum"] for s in states], steps, **shared, **rest)
    else:
        _sgd(group, params, grads, states, shared)


def _adam(group: Group, params: Any, grads: Any, states: Any, shared: Group) -> None:
    steps = [state["step"] for state in states]
    OPERATORS["_foreach_add_"](steps, 1)
    lists = [
        [state[key] for state in states if key in state]
        for key in ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
    ]
    operator = _fused_adamw_ if group["decoupled_weight_decay"] else _fused_adam_
    beta1, beta2 = group["betas"]
    rest = {"beta1": beta1, "beta2": beta2, "eps": group["eps"], "amsgrad": group["amsgrad"]}
    operator(params, grads, *lists, steps, **shared, **rest)


def _sgd(group: Group, params: Any, grads: Any, states: Any, shared: Group) -> None:
    buffers = []
    first = bool(group["momentum"]) and "momentum_buffer" not in states[0]
    if first:
        for state, grad in zip(states, grads, strict=True):
            state["momentum_buffer"] = aten.empty_like(grad)
    if group["momentum"]:
        buffers = [state["momentum_buffer"] for state in states]
    rest = {key: group[key] for key in ("momentum", "dampening", "nesterov")}
    _fused_sgd_(params, grads, buffers, **shared, **rest, is_first_step=first)


def _slope(grad: Tensor, param: Any, weight_decay: float, maximize: bool) -> Any:
    """What to descend along, with the weight decay as an L2 penalty."""
    slope = np.negative(grad.array) if maximize else grad.array
    return slope + param * weight_decay if weight_decay else slope


def _wrote(*lists: Tensors) -> list[Tensor]:
    every = [one for tensors in lists for one in tensors]
    for one in every:
        bump_version(one)
    return every


def _adam_step(
    params: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_avg_sqs: Tensors,
    max_exp_avg_sqs: Tensors,
    state_steps: Tensors,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
    decoupled: bool,
) -> list[Tensor]:
    peaks: Sequence[Any] = max_exp_avg_sqs if amsgrad else [None] * len(params)
    rows = zip(params, grads, exp_avgs, exp_avg_sqs, peaks, state_steps, strict=True)
    for p, grad, exp_avg, exp_avg_sq, most, step in rows:
        param, mean, square, time = p.array, exp_avg.array, exp_avg_sq.array, float(step.array)
        slope = _slope(grad, param, 0 if decoupled else weight_decay, maximize)
        if decoupled and weight_decay:
            param *= 1 - lr * weight_decay
        mean += (1 - beta1) * (slope - mean)
        square *= beta2
        square += (1 - beta2) * slope * slope
        peak = square
        if most is not None:
            peak = np.maximum(most.array, square, out=most.array)
        spread = np.sqrt(peak) / (1 - beta2**time) ** 0.5 + eps
        param += -lr / (1 - beta1**time) * mean / spread
    return _wrote(params, exp_avgs, exp_avg_sqs, max_exp_avg_sqs if amsgrad else ())


@composite("torch", "aten::_fused_adam_")
@np.errstate(all="ignore")
def _fused_adam_(*lists: Tensors, **options: Any) -> list[Tensor]:
    """Adam: params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps."""
    return _adam_step(*lists, **options, decoupled=False)


@composite("torch", "aten::_fused_adamw_")
@np.errstate(all="ignore")
def _fused_adamw_(*lists: Tensors, **options: Any) -> list[Tensor]:
    """AdamW, on the same."""
    return _adam_step(*lists, **options, decoupled=True)


@composite("torch", "aten::_fused_sgd_")
@np.errstate(all="ignore")
def _fused_sgd_(
    params: Tensors,
    grads: Tensors,
    momentum_buffer_list: Tensors,
    *,
    weight_decay: float,
    momentum: float,
    lr: float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
) -> list[Tensor]:
    """SGD; without momentum the list of buffers is empty."""
    for number, (p, grad) in enumerate(zip(params, grads, strict=True)):
        slope = _slope(grad, p.array, weight_decay, maximize)
        if momentum:
            buffer = momentum_buffer_list[number].array
            if is_first_step:
                buffer[...] = slope
            else:
                buffer *= momentum
                buffer += slope * (1 - dampening)
            slope = slope + buffer * momentum if nesterov else buffer
        array = p.array
        array += slope * -lr
    return _wrote(params, momentum_buffer_list)


@composite("torch", "aten::_fused_adagrad_")
@np.errstate(all="ignore")
def _fused_adagrad_(
    params: Tensors,
    grads: Tensors,
    state_sums: Tensors,
    state_steps: Tensors,
    *,
    lr: float,
    lr_decay: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> list[Tensor]:
    """Adagrad."""
    for p, grad, total, step in zip(params, grads, state_sums, state_steps, strict=True):
        param, square = p.array, total.array
        slope = _slope(grad, param, weight_decay, maximize)
        square += slope * slope
        spread = np.sqrt(square) + eps
        param += -lr / (1 + (float(step.array) - 1) * lr_decay) * slope / spread
    return _wrote(params, state_sums)
