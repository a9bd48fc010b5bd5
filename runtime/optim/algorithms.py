"""The optimizers. Each `_update` is written once, for a Tensor and for a TensorList.

A class's options stand in its head: keywords, or positional in that order. `fused`, `capturable`
and `differentiable` may not be True.

Source: torch/optim/sgd.py, adam.py, adamw.py, rmsprop.py, adagrad.py.
"""

from __future__ import annotations

from typing import Any

from ..ops.creation import tensor
from ..ops.table import aten
from ..tensor import Tensor
from .optimizer import Group, Optimizer, Options, TensorList, each

_NAMES = {"lr": "learning rate", "eps": "epsilon value"}
_NOT_NEGATIVE = "lr eps momentum weight_decay alpha lr_decay initial_accumulator_value".split()
_COMMON: Group = {"maximize": False, "foreach": None, "differentiable": False}


class _Algorithm(Options, Optimizer):
    def __init__(self, params: Any, *args: Any, **kwargs: Any) -> None:
        found = self._given(args, kwargs)
        for name in _NOT_NEGATIVE:
            if not found.get(name, 0) >= 0:
                raise ValueError(f"Invalid {_NAMES.get(name, f'{name} value')}: {found[name]}")
        if found.get("nesterov") and not found["momentum"] > found["dampening"] == 0:
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        for index, beta in enumerate(found.get("betas", ())):
            if not 0 <= beta < 1:
                raise ValueError(f"Invalid beta parameter at index {index}: {beta}")
        super().__init__(params, found)


def _begin(param: Any, grad: Any, state: Any, group: Group) -> Any:
    """Count the step; give the gradient to descend along (with weight decay, as an L2 penalty)."""
    if group["maximize"]:
        grad = grad.neg()
    if "step" in state:
        state["step"].add_(1.0)
    if group["weight_decay"] and not group.get("decoupled_weight_decay"):
        grad = grad.add(param, alpha=group["weight_decay"])
    return grad


class SGD(
    _Algorithm,
    **{"lr": 1e-3, "momentum": 0, "dampening": 0, "weight_decay": 0, "nesterov": False},
    **{"fused": None, **_COMMON},
):
    """Gradient descent; with momentum, the rate stays outside the buffer."""

    def _step_group(self, group: Group) -> None:
        if any(group[name] for name in ("momentum", "weight_decay", "maximize", "foreach")):
            super()._step_group(group)
            return
        rate = -group["lr"]
        for p in group["params"]:
            if p._grad is not None:
                p.add_(p._grad, alpha=rate)

    def _update(self, param: Any, grad: Any, state: Any, group: Group) -> None:
        grad, momentum = _begin(param, grad, state, group), group["momentum"]
        if momentum:
            if "momentum_buffer" in state:
                buffer = state["momentum_buffer"].mul_(momentum)
                buffer.add_(grad, alpha=1 - group["dampening"])
            else:
                state["momentum_buffer"] = buffer = grad.clone()
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        param.add_(grad, alpha=-group["lr"])


class Adam(
    _Algorithm,
    **{"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0, "amsgrad": False},
    **{"capturable": False, "fused": None, "decoupled_weight_decay": False, **_COMMON},
):
    """Adam (Kingma and Ba, 2014), and AMSGrad (Reddi et al., 2018)."""

    def _start(self, param: Tensor, state: dict[str, Any], group: Group) -> None:
        state.update(
            step=tensor(0.0), exp_avg=aten.zeros_like(param), exp_avg_sq=aten.zeros_like(param)
        )
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = aten.zeros_like(param)

    def _update(self, param: Any, grad: Any, state: Any, group: Group) -> None:
        grad, rate, (beta1, beta2) = _begin(param, grad, state, group), group["lr"], group["betas"]
        if group["weight_decay"] and group["decoupled_weight_decay"]:
            param.mul_(1 - rate * group["weight_decay"])
        mean = state["exp_avg"].lerp_(grad, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if group["amsgrad"]:
            peak = state["max_exp_avg_sq"]
            square = peak.maximum_(square) if group["foreach"] else peak.maximum(square)
            state["max_exp_avg_sq"] = square
        correction = each(lambda t: (1 - beta2**t) ** 0.5, state["step"])
        spread = square.sqrt().div(correction).add_(group["eps"])
        param.addcdiv_(mean, spread, value=each(lambda t: -rate / (1 - beta1**t), state["step"]))


class AdamW(Adam, weight_decay=1e-2, decoupled_weight_decay=True):
    """Adam with weight decay apart from the gradient (Loshchilov and Hutter, 2017)."""


class RMSprop(
    _Algorithm,
    **{"lr": 1e-2, "alpha": 0.99, "eps": 1e-8, "weight_decay": 0, "momentum": 0},
    **{"centered": False, "capturable": False, **_COMMON},
):
    """RMSprop (Hinton's lecture 6e), centered as in Graves, 2013."""

    def _start(self, param: Tensor, state: dict[str, Any], group: Group) -> None:
        state.update(step=tensor(0.0), square_avg=aten.zeros_like(param))
        if group["momentum"]:
            state["momentum_buffer"] = aten.zeros_like(param)
        if group["centered"]:
            state["grad_avg"] = aten.zeros_like(param)

    def _update(self, param: Any, grad: Any, state: Any, group: Group) -> None:
        grad, alpha = _begin(param, grad, state, group), group["alpha"]
        square = state["square_avg"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"].lerp_(grad, 1 - alpha)
            square = square.addcmul(mean, mean, value=-1)
        spread = (square.sqrt_() if group["centered"] else square.sqrt()).add_(group["eps"])
        if group["momentum"]:
            buffer = state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, spread)
            param.add_(buffer, alpha=-group["lr"])
        else:
            param.addcdiv_(grad, spread, value=-group["lr"])


class Adagrad(
    _Algorithm,
    **{"lr": 1e-2, "lr_decay": 0, "weight_decay": 0, "initial_accumulator_value": 0, "eps": 1e-10},
    **{"fused": None, **_COMMON},
):
    """Adagrad (Duchi et al., 2011)."""

    def add_param_group(self, param_group: Group) -> None:
        """As for every optimizer; the state is there from the start."""
        super().add_param_group(param_group)
        for p in param_group["params"]:
            total = aten.full_like(p, param_group["initial_accumulator_value"])
            self.state[p].update(step=tensor(0.0), sum=total)

    def _update(self, param: Any, grad: Any, state: Any, group: Group) -> None:
        grad, rate, decay = _begin(param, grad, state, group), -group["lr"], group["lr_decay"]
        slowed = each(lambda t: rate / (1 + (t - 1) * decay), state["step"])
        spread = state["sum"].addcmul_(grad, grad, value=1).sqrt().add_(group["eps"])
        if isinstance(param, TensorList):
            param.addcdiv_(grad.mul(slowed), spread)
        else:
            param.addcdiv_(grad, spread, value=slowed)
