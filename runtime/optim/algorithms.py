"""The optimizers: their options, and the state that they start with.

How each updates a parameter is in updates.py.

Source: torch/optim/sgd.py, adam.py, adamw.py, rmsprop.py, adagrad.py, adadelta.py, adamax.py,
nadam.py, radam.py, rprop.py, asgd.py, sparse_adam.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor
from ..ops.creation import as_tensor, tensor
from . import fused, updates
from .optimizer import Group, Optimizer, Options

_NOT_NEGATIVE = "lr eps momentum weight_decay lr_decay initial_accumulator_value momentum_decay"
_BOUNDS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(_NOT_NEGATIVE.split(), lambda value: value >= 0),
    "betas": lambda betas: all(0 <= beta < 1 for beta in betas),
    "rho": lambda rho: 0 <= rho <= 1,
    "etas": lambda etas: 0 < etas[0] < 1 < etas[1],
}
_COMMON: Group = {"maximize": False, "foreach": None, "differentiable": False}
_LATER: Group = {"foreach": None, "capturable": False, "maximize": False, "differentiable": False}
_ADAM: Group = {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0}


class _Algorithm(Options, Optimizer):
    _zeros: tuple[str, ...] = ()  # states that start as zeros of the parameter's shape
    _bounds: dict[str, Callable[[Any], bool]] = {}  # noqa: RUF012  (of the class's own)

    def __init__(self, params: Any, *args: Any, **kwargs: Any) -> None:
        found = self._given(args, kwargs)
        single = not isinstance(found["lr"], Tensor) or found["lr"].numel() == 1
        check(single, "Tensor lr must be 1-element", ValueError)
        for name, fits in {**_BOUNDS, **self._bounds}.items():
            valid = name not in found or fits(found[name])
            check(valid, f"Invalid {name}: {found.get(name)}", ValueError)
        valid = not (found.get("nesterov") and "dampening" in found)
        valid = valid or found["momentum"] > found["dampening"] == 0
        check(valid, "Nesterov momentum requires a momentum and zero dampening", ValueError)
        super().__init__(params, found)

    def _start(self, param: Tensor, state: dict[str, Any], group: Group) -> None:
        if self._zeros:
            state["step"] = fused.step_zero(param, group)
        for name in self._zeros:
            state[name] = aten.zeros_like(param)


class SGD(
    _Algorithm,
    **{"lr": 1e-3, "momentum": 0, "dampening": 0, "weight_decay": 0, "nesterov": False},
    **{"fused": None, **_COMMON},
):
    """Gradient descent; with momentum, the rate stays outside the buffer."""

    def _step_group(self, group: Group) -> None:
        plain = not (group["momentum"] or group["weight_decay"] or group["maximize"])
        if not plain or group["foreach"] or group["fused"]:
            super()._step_group(group)
            return
        rate = -group["lr"]
        for p in group["params"]:
            if p._grad is not None:
                p.add_(p._grad, alpha=rate)

    _update = staticmethod(updates.sgd)
    _takes_sparse = True


class Adam(
    _Algorithm,
    **{"lr": 1e-3, **_ADAM, "amsgrad": False},
    **{"capturable": False, "fused": None, "decoupled_weight_decay": False, **_COMMON},
):
    """Adam (Kingma and Ba, 2014), and AMSGrad (Reddi et al., 2018)."""

    def _start(self, param: Tensor, state: dict[str, Any], group: Group) -> None:
        super()._start(param, state, group)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = aten.zeros_like(param)

    _zeros = fused.MOMENTS[:2]
    _update = staticmethod(updates.adam)
    _unseen_on_arrays = True


class AdamW(Adam, weight_decay=1e-2, decoupled_weight_decay=True):
    """Adam with weight decay apart from the gradient (Loshchilov and Hutter, 2017)."""


class RMSprop(
    _Algorithm,
    **{"lr": 1e-2, "alpha": 0.99, "eps": 1e-8, "weight_decay": 0, "momentum": 0},
    **{"centered": False, "capturable": False, **_COMMON},
):
    """RMSprop (Hinton's lecture 6e), centered as in Graves, 2013."""

    def _start(self, param: Tensor, state: dict[str, Any], group: Group) -> None:
        super()._start(param, state, group)
        for option, name in (("momentum", "momentum_buffer"), ("centered", "grad_avg")):
            if group[option]:
                state[name] = aten.zeros_like(param)

    _zeros = ("square_avg",)
    _bounds = {"alpha": lambda alpha: alpha >= 0}  # noqa: RUF012
    _update = staticmethod(updates.rmsprop)


class Adagrad(
    _Algorithm,
    **{"lr": 1e-2, "lr_decay": 0, "weight_decay": 0, "initial_accumulator_value": 0, "eps": 1e-10},
    **{"fused": None, **_COMMON},
):
    """Adagrad (Duchi et al., 2011)."""

    def add_param_group(self, param_group: Group) -> None:
        super().add_param_group(param_group)
        for p in param_group["params"]:
            total = aten.full_like(p, param_group["initial_accumulator_value"])
            self.state[p].update(step=fused.step_zero(p, param_group), sum=total)

    _update = staticmethod(updates.adagrad)
    _takes_sparse = True


class Adadelta(_Algorithm, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, **_LATER):
    """Adadelta (Zeiler, 2012)."""

    _zeros = ("square_avg", "acc_delta")
    _update = staticmethod(updates.adadelta)


class Adamax(_Algorithm, lr=2e-3, **_ADAM, **_LATER):
    """Adamax (Kingma and Ba, 2014)."""

    _zeros = ("exp_avg", "exp_inf")
    _update = staticmethod(updates.adamax)


class NAdam(
    _Algorithm, lr=2e-3, **_ADAM, momentum_decay=4e-3, decoupled_weight_decay=False, **_LATER
):
    """Adam with Nesterov momentum (Dozat, 2016)."""

    def _start(self, param: Tensor, state: dict[str, Any], group: Group) -> None:
        super()._start(param, state, group)
        state["mu_product"] = tensor(1.0)

    _zeros = fused.MOMENTS[:2]
    _update = staticmethod(updates.nadam)


class RAdam(_Algorithm, lr=1e-3, **_ADAM, decoupled_weight_decay=False, **_LATER):
    """Rectified Adam (Liu et al., 2019)."""

    _zeros = fused.MOMENTS[:2]
    _update = staticmethod(updates.radam)


class Rprop(_Algorithm, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), **_LATER):
    """Resilient backpropagation (Riedmiller and Braun, 1993)."""

    def _start(self, param: Tensor, state: dict[str, Any], group: Group) -> None:
        super()._start(param, state, group)
        rate = group["lr"]
        both = complex(rate, rate) if param.is_complex() else rate
        state["step_size"] = aten.full_like(param._grad, both)

    _zeros = ("prev",)
    _update = staticmethod(updates.rprop)


class ASGD(_Algorithm, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, **_LATER):
    """Averaged gradient descent (Polyak and Juditsky, 1992)."""

    def _start(self, param: Tensor, state: dict[str, Any], group: Group) -> None:
        for name, value in (("step", 0.0), ("eta", group["lr"]), ("mu", 1.0)):
            state[name] = as_tensor(value, device=param.device)
        state["ax"] = aten.zeros_like(param)

    _update = staticmethod(updates.asgd)


class SparseAdam(_Algorithm, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
    """Adam of the rows that a sparse gradient has; the moments of others wait."""

    def _start(self, param: Tensor, state: dict[str, Any], group: Group) -> None:
        super()._start(param, state, group)
        state["step"] = 0

    _zeros = fused.MOMENTS[:2]
    _bounds = {"lr": lambda lr: lr > 0, "eps": lambda eps: eps > 0}  # noqa: RUF012
    _update = staticmethod(updates.sparse_adam)
    _takes_sparse = True
