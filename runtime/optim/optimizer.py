"""The base of the optimizers: groups of parameters, their state, and how a step walks them.

A subclass says how the state of one parameter starts (`_start`) and how one parameter is updated
(`_update`); algorithms.py has them. A class's options stand in its head: keywords, or positional in
that order. `differentiable` may not be True, nor `capturable` on devices; on the CPU a step refuses
that, as PyTorch's does.

Source: torch/optim/optimizer.py.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import wraps
from typing import Any, ClassVar

import numpy as np

from ..core.aten import aten
from ..core.storage import storages
from ..engine.grad_mode import _grad, enable_grad
from ..engine.hooks import Hook, HookDict, RemovableHandle, check, register
from ..engine.tensor import Tensor, bump_version
from ..observe.arrangement import active
from ..observe.record_function import record_function
from . import fused
from .forms import ArrayForm, TensorList

Group = dict[str, Any]
_QUIET = nullcontext()
_all_pre_hooks, _all_post_hooks = HookDict(), HookDict()  # of all optimizers


class Options:
    """Has options: `class Sub(Base, name=default)`; one whose default is `...` must be given."""

    options: ClassVar[Group] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__()
        new = {name: options[name] for name in options if name not in cls.options}
        cls.options = {**new, **cls.options, **options}

    def _given(self, args: tuple[Any, ...], kwargs: Group) -> Group:
        """All options, from a call's arguments; by position they are in the class's order."""
        fits = len(args) <= len(self.options)
        check(fits, f"{type(self).__name__} takes {len(self.options)} options", TypeError)
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
        before, after = self._pre_hooks, self._post_hooks
        if not (active or before or after or _all_pre_hooks or _all_post_hooks):
            return step(self, *args, **kwargs)
        args = (self, *args)
        with record_function(f"Optimizer.step#{type(self).__name__}.step"):
            for hook in (*_all_pre_hooks.values(), *before.values()):
                changed = hook(self, args, kwargs)
                changed = (args, kwargs) if changed is None else changed
                told = "a step's pre-hook must return None or a tuple of (new_args, new_kwargs)"
                check(isinstance(changed, tuple) and len(changed) == 2, told)
                args, kwargs = changed
            out = step(*args, **kwargs)
            for hook in (*after.values(), *_all_post_hooks.values()):
                hook(self, args, kwargs)
            return out

    return call


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(optimizer, (optimizer, ...), kwargs)` before each step; it may return new ones."""
    return register(_all_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """`hook(optimizer, args, kwargs)` runs after each step of each optimizer."""
    return register(_all_post_hooks, hook)


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required: Any = _Required()  # the default of an option that has to be given


class Optimizer:
    """Base of the optimizers; subclass with `_update` (and `_start`), or with `step`."""

    _opt_called = False  # for the schedulers' warning

    def __init_subclass__(cls) -> None:
        if "step" in cls.__dict__:
            cls.step = _observed(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: Any, defaults: Group) -> None:
        check(not defaults.get("differentiable"), "not supported: differentiable")
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
        lacking = [name for name, value in param_group.items() if value is required]
        check(not lacking, f"a parameter group lacks the required {lacking}", ValueError)
        if param_group.get("fused"):
            fused.refuse_unfit(param_group)
        fits = not param_group.get("capturable") or not any(p.is_cuda for p in params)
        check(fits, "not supported: capturable")
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
        fits = not group.get("capturable")
        check(fits, "If capturable=True, params must be on supported devices", AssertionError)
        together: dict[Any, list[Tensor]] = {}
        for p in group["params"]:
            if p._grad is None:
                continue
            if p._grad.is_sparse:
                kind = type(self).__name__
                refused = f"{kind} does not support sparse gradients, consider SparseAdam instead"
                check(self._takes_sparse, refused)
            state = self.state[p]
            first = not state
            if first:
                self._start(p, state, group)
            if group.get("foreach") or group.get("fused"):
                together.setdefault((p.array.dtype, p.device, first), []).append(p)
            elif p.array.dtype.kind == "c":
                self._update_complex(p, p._grad, state, group)
            elif self._unseen_on_arrays and not active and _plain(p, p._grad):
                self._update_arrays(p, p._grad, state, group)
            else:
                self._update(p, p._grad, state, group)
        for params in together.values():
            states = [self.state[p] for p in params]
            if group.get("fused"):
                fused.update(group, params, states)
                continue
            many = {key: TensorList(_real(s[key]) for s in states) for key in states[0]}
            lists = (params, (p._grad for p in params))
            self._update(*(TensorList(map(_real, x)) for x in lists), many, group)
            for key in many.keys() - states[0].keys():
                for p, state, one in zip(params, states, many[key].tensors, strict=True):
                    state[key] = aten.view_as_complex(one) if p.is_complex() else one

    _update: Callable[..., None]
    _takes_sparse = False
    _unseen_on_arrays = False  # whether `_update` may run on arrays where nobody observes it

    @np.errstate(all="ignore")
    def _update_arrays(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: Group) -> None:
        arrays = {key: ArrayForm(value.array) for key, value in state.items()}
        self._update(ArrayForm(p.array), ArrayForm(grad.array), arrays, group)
        for written in (p, *state.values()):
            bump_version(written)

    def _update_complex(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: Group) -> None:
        """Of complex numbers the real and imaginary parts are parameters."""
        real = {key: _real(value) for key, value in state.items()}
        before = dict(real)
        self._update(_real(p), _real(grad), real, group)
        for key, value in real.items():
            if value is not before.get(key):
                state[key] = aten.view_as_complex(value)

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


def _real(x: Any) -> Any:
    return aten.view_as_real(x) if x.is_complex() else x


def _goes_together(group: Group) -> bool:
    """Whether `foreach` was left open, and all is on devices. (_default_to_fused_or_foreach)"""
    if group.get("foreach", False) is not None or group.get("fused"):
        return False
    return all(p.is_cuda and (p.grad is None or not p.grad.is_sparse) for p in group["params"])


def _plain(param: Tensor, grad: Tensor) -> bool:
    """Whether the forms on arrays do what operators would: not with 16 bits, nor if sparse."""
    return not grad.is_sparse and param.array.dtype.char in "fd"


def _fitting(key: str, value: Any, param: Tensor, group: Group) -> Any:
    """A saved value of a parameter's state, on its device and in its dtype; of a list, each."""
    if isinstance(value, list):
        return [_fitting(key, one, param, group) for one in value]
    if not isinstance(value, Tensor):
        return value
    if key == "step":
        return value.to(param.device, np.float32) if group.get("fused") else value
    return value.to(param.device, param.array.dtype if param.is_floating_point() else None)
