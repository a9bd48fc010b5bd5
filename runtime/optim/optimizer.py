"""Optimizers: groups of parameters, their state, how a step walks them, and the algorithms.

A subclass says how the state of one parameter starts (`_start`) and how one parameter is updated
(`_update`). With `foreach=True` that same update gets `TensorList`s, whose methods are the
`_foreach_` operators; `fused=True` is in fused.py. A class's options stand in its head: keywords,
or positional in that order; `capturable` and `differentiable` may not be True.

Source: torch/optim/optimizer.py, sgd.py, adam.py, adamw.py, rmsprop.py, adagrad.py.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import wraps
from typing import Any, ClassVar

import numpy as np

from ..grad_mode import _grad, enable_grad
from ..hooks import Hook, HookDict, RemovableHandle, check, register
from ..ops.creation import tensor
from ..ops.table import aten
from ..record_function import active, record_function
from ..storage import storages
from ..tensor import Tensor, bump_version
from . import fused
from .tensor_list import TensorList, each

Group = dict[str, Any]
_QUIET = nullcontext()


class Options:
    """Has options: `class Sub(Base, name=default)`; one whose default is `...` must be given."""

    options: ClassVar[Group] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__()
        new = {name: options[name] for name in options if name not in cls.options}
        cls.options = {**new, **cls.options, **options}

    def _given(self, args: tuple[Any, ...], kwargs: Group) -> Group:
        """All options, from a call's arguments; by position they are in the class's order."""
        found = {**self.options, **dict(zip(self.options, args, strict=False)), **kwargs}
        for name, value in found.items():
            known = name in self.options and value is not ...
            check(known, f"{type(self).__name__}: {name} is missing or unknown", TypeError)
        return found


def _observed(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step with its record and its hooks."""

    @wraps(step)
    def call(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        self._opt_called = True
        if not (active or self._pre_hooks or self._post_hooks):
            return step(self, *args, **kwargs)
        with record_function(f"Optimizer.step#{type(self).__name__}.step"):
            for hook in self._pre_hooks.values():
                args, kwargs = hook(self, args, kwargs) or (args, kwargs)
            out = step(self, *args, **kwargs)
            for hook in self._post_hooks.values():
                hook(self, args, kwargs)
            return out

    return call


class Optimizer:
    """Base of the optimizers; subclass with `_update` (and `_start`), or with `step`.

    `params` are tensors, or groups `{"params": tensors, option: value, ...}`; `defaults` are the
    options of groups that do not give their own.
    """

    _opt_called = False  # for the schedulers' warning

    def __init_subclass__(cls) -> None:
        if "step" in cls.__dict__:
            cls.step = _observed(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: Any, defaults: Group) -> None:
        unknown = [name for name in ("capturable", "differentiable") if defaults.get(name)]
        check(not unknown, f"not supported: {unknown}")
        check(not isinstance(params, Tensor), "params should be an iterable", TypeError)
        self.defaults, self.param_groups = defaults, list[Group]()
        self._pre_hooks, self._post_hooks = HookDict(), HookDict()
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        groups = list(params)
        check(bool(groups), "optimizer got an empty parameter list", ValueError)
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])

    def add_param_group(self, param_group: Group) -> None:
        """Optimize further leaves: `{"params": tensors, option: value, ...}`."""
        fits = isinstance(param_group, dict) and not isinstance(param_group["params"], set)
        check(fits, "param_group must be a dict, and its params ordered", TypeError)
        given = param_group["params"]
        params = [given] if isinstance(given, Tensor) else list(given)
        for p in params:
            check(isinstance(p, Tensor), f"can only optimize Tensors, not {type(p)}", TypeError)
            check(p.is_leaf or p.retains_grad, "can't optimize a non-leaf Tensor", ValueError)
        if len({id(p) for p in params}) != len(params):
            warnings.warn("a parameter group contains duplicate parameters", stacklevel=3)
        twice = {id(p) for p in params} & {id(p) for p in self._params()}
        check(not twice, "some parameters appear in more than one parameter group", ValueError)
        param_group |= {**self.defaults, **param_group, "params": params}
        if param_group.get("fused"):
            fused.refuse_unfit(param_group)
        self.param_groups.append(param_group)

    def _params(self) -> Iterator[Tensor]:
        return (p for group in self.param_groups for p in group["params"])

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Take the gradients away, or with `set_to_none=False` fill them with zeros."""
        kind = type(self).__name__
        with record_function(f"Optimizer.zero_grad#{kind}.zero_grad") if active else _QUIET:
            if set_to_none:
                for group in self.param_groups:
                    for p in group["params"]:
                        p._grad = None
                return
            grads = [p._grad for p in self._params() if p._grad is not None]
            for grad in grads:
                grad.detach_() if grad.grad_fn is not None else grad.requires_grad_(False)
            for one in [TensorList(grads)] if grads and self.defaults.get("foreach") else grads:
                one.zero_()

    @_observed
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient, and return the loss that `closure` gave."""
        loss = enable_grad()(closure)() if closure is not None else None
        token, update = _grad.set(False), self._step_group
        try:
            for group in self.param_groups:
                plain = isinstance(group["lr"], float)
                found = group if plain else {**group, "lr": float(group["lr"])}
                if storages and _goes_together(group):
                    found = {**found, "foreach": True}
                active[0].internal(update, found) if active else update(found)
        finally:
            _grad.reset(token)
        return loss

    def _step_group(self, group: Group) -> None:
        together: dict[Any, list[Tensor]] = {}
        for p in group["params"]:
            if p._grad is None:
                continue
            state = self.state[p]
            if group["foreach"] or group.get("fused"):
                together.setdefault((p.array.dtype, p.device, not state), []).append(p)
            if not state:
                self._start(p, state, group)
            if not (group["foreach"] or group.get("fused")):
                self._update(p, p._grad, state, group)
        for params in together.values():
            states = [self.state[p] for p in params]
            if group.get("fused"):
                fused.update(group, params, states)
                continue
            many = {key: TensorList(s[key] for s in states) for key in states[0]}
            self._update(TensorList(params), TensorList(p._grad for p in params), many, group)
            for key, value in many.items():
                for state, one in zip(states, value.tensors, strict=True):
                    state[key] = one

    _update: Callable[..., None]

    def _start(self, param: Tensor, state: dict[str, Any], group: Group) -> None:
        """Fill the state of a parameter before its first update."""

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` runs before a step; it may return new (args, kwargs)."""
        return register(self._pre_hooks, hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        return register(self._post_hooks, hook)

    def state_dict(self) -> Group:
        """`{"state": {number: state}, "param_groups": groups}`, parameters numbered in order."""
        number = {id(p): n for n, p in enumerate(self._params())}
        groups = [{**g, "params": [number[id(p)] for p in g["params"]]} for g in self.param_groups]
        state = {number.get(id(p), p): found for p, found in self.state.items() if found}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: Group) -> None:
        """Take over the options and the state of `state_dict`, for this optimizer's parameters."""
        saved = state_dict["param_groups"]
        sizes = [[len(group["params"]) for group in many] for many in (saved, self.param_groups)]
        check(sizes[0] == sizes[1], f"parameter groups of other sizes: {sizes}", ValueError)
        self.state.clear()
        numbers = [(number, group) for group in saved for number in group["params"]]
        for p, (number, group) in zip(self._params(), numbers, strict=True):
            for key, value in state_dict["state"].get(number, {}).items():
                self.state[p][key] = _fitting(key, value, p, group)
        for group, new in zip(self.param_groups, saved, strict=True):
            group.update({key: value for key, value in new.items() if key != "params"})


def _goes_together(group: Group) -> bool:
    """Whether `foreach` was left open, and all is on devices. (_default_to_fused_or_foreach)"""
    if group.get("foreach", False) is not None or group.get("fused"):
        return False
    return all(p.is_cuda and (p.grad is None or not p.grad.is_sparse) for p in group["params"])


def _fitting(key: str, value: Any, param: Tensor, group: Group) -> Any:
    """A saved value of a parameter's state, on its device and in its dtype."""
    if not isinstance(value, Tensor):
        return value
    if key == "step":
        return value.to(param.device, np.float32) if group.get("fused") else value
    return value.to(param.device, param.array.dtype)


_NOT_NEGATIVE = "lr eps momentum weight_decay alpha lr_decay initial_accumulator_value".split()
_COMMON: Group = {"maximize": False, "foreach": None, "differentiable": False}


class _Algorithm(Options, Optimizer):
    def __init__(self, params: Any, *args: Any, **kwargs: Any) -> None:
        found = self._given(args, kwargs)
        for name in _NOT_NEGATIVE:
            check(found.get(name, 0) >= 0, f"{name} should not be negative", ValueError)
        fits = not found.get("nesterov") or found["momentum"] > found["dampening"] == 0
        check(fits, "Nesterov momentum requires a momentum and zero dampening", ValueError)
        fits = all(0 <= beta < 1 for beta in found.get("betas", ()))
        check(fits, "betas should be at least 0 and below 1", ValueError)
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
        plain = not (group["momentum"] or group["weight_decay"] or group["maximize"])
        if not plain or group["foreach"] or group["fused"]:
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
        state["step"] = fused.step_zero(param, group)
        for name in ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")[: 3 if group["amsgrad"] else 2]:
            state[name] = aten.zeros_like(param)

    def _update(self, param: Any, grad: Any, state: Any, group: Group) -> None:
        grad, rate, (beta1, beta2) = _begin(param, grad, state, group), group["lr"], group["betas"]
        if group["weight_decay"] and group["decoupled_weight_decay"]:
            param.mul_(1 - rate * group["weight_decay"])
        if not (active or group["amsgrad"] or group["foreach"] or grad.is_sparse):
            self._on_arrays(param, grad, state, rate, beta1, beta2, group["eps"])
            return
        mean = state["exp_avg"].lerp_(grad, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if group["amsgrad"]:
            peak = state["max_exp_avg_sq"]
            square = peak.maximum_(square) if group["foreach"] else peak.maximum(square)
            state["max_exp_avg_sq"] = square
        correction = each(lambda t: (1 - beta2**t) ** 0.5, state["step"])
        spread = square.sqrt().div(correction).add_(group["eps"])
        param.addcdiv_(mean, spread, value=each(lambda t: -rate / (1 - beta1**t), state["step"]))

    @np.errstate(all="ignore")
    def _on_arrays(
        self, param: Any, grad: Any, state: Any, rate: float, beta1: float, beta2: float, eps: float
    ) -> None:
        """The same where nobody observes it."""
        mean, square, slope = state["exp_avg"], state["exp_avg_sq"], grad.array
        time = float(state["step"].array)
        work = np.empty_like(slope)
        np.subtract(slope, mean.array, out=work)
        work *= 1 - beta1
        np.add(mean.array, work, out=mean.array)
        np.multiply(slope, 1 - beta2, out=work)
        work *= slope
        np.multiply(square.array, beta2, out=square.array)
        np.add(square.array, work, out=square.array)
        np.sqrt(square.array, out=work)
        work /= (1 - beta2**time) ** 0.5
        work += eps
        change = np.multiply(mean.array, -rate / (1 - beta1**time))
        change /= work
        np.add(param.array, change, out=param.array)
        for changed in (param, mean, square):
            bump_version(changed)


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
        for option, name in (("momentum", "momentum_buffer"), ("centered", "grad_avg")):
            if group[option]:
                state[name] = aten.zeros_like(param)

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
        super().add_param_group(param_group)
        for p in param_group["params"]:
            total = aten.full_like(p, param_group["initial_accumulator_value"])
            self.state[p].update(step=fused.step_zero(p, param_group), sum=total)

    def _update(self, param: Any, grad: Any, state: Any, group: Group) -> None:
        grad, rate, decay = _begin(param, grad, state, group), -group["lr"], group["lr_decay"]
        slowed = each(lambda t: rate / (1 + (t - 1) * decay), state["step"])
        spread = state["sum"].addcmul_(grad, grad, value=1).sqrt().add_(group["eps"])
        if isinstance(param, TensorList):
            param.addcdiv_(grad.mul(slowed), spread)
        else:
            param.addcdiv_(grad, spread, value=slowed)
