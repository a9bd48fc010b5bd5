"""What all optimizers share: groups of parameters, their state, and how a step walks them.

A subclass says how the state of one parameter starts and how one parameter is updated. With
`foreach=True` that same update gets `TensorList`s, whose methods are the `_foreach_` operators.

Source: torch/optim/optimizer.py.
"""

from __future__ import annotations

import functools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any, ClassVar

from ..grad_mode import _grad
from ..hooks import Hook, HookDict, RemovableHandle, register
from ..ops.foreach import OPERATORS
from ..record_function import active, record_function
from ..tensor import Tensor

Group = dict[str, Any]


class TensorList:
    """Tensors with a tensor's methods, each of them one `_foreach_` operator on all.

    An `owned` list, which an operator made, is overwritten by the next one rather than copied.
    """

    def __init__(self, tensors: Any, owned: bool = False) -> None:
        self.tensors, self.owned = list(tensors), owned

    def __getattr__(self, name: str) -> Callable[..., TensorList]:
        in_place = self.owned or name.endswith("_")
        operator = OPERATORS[f"_foreach_{name.rstrip('_')}{'_' * in_place}"]

        def call(*args: Any, **kwargs: Any) -> TensorList:
            args = tuple(x.tensors if isinstance(x, TensorList) else x for x in args)
            found = operator(self.tensors, *args, **kwargs)
            return self if in_place else TensorList(found, owned=True)

        return call

    def clone(self) -> TensorList:
        """Copies, tensor by tensor: there is no operator for that."""
        return TensorList(x.clone() for x in self.tensors)


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
            if name not in self.options or value is ...:
                raise TypeError(f"{type(self).__name__}: argument {name!r} is missing or unknown")
        return found


def each(function: Callable[[Any], Any], tensor: Any) -> Any:
    """`function` of a tensor's one number; for a TensorList, the list of that."""
    if isinstance(tensor, TensorList):
        return [function(x.item()) for x in tensor.tensors]
    return function(tensor.item())


def _observed(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step with its record and its hooks."""

    @functools.wraps(step)
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

    Args:
        params: tensors, (name, tensor) pairs, or groups {"params": tensors, option: value, ...}.
        defaults: the options of groups that do not give their own.
    """

    _opt_called = False  # for the schedulers' warning

    def __init_subclass__(cls) -> None:
        if "step" in cls.__dict__:
            cls.step = _observed(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: Any, defaults: Group) -> None:
        for name in ("fused", "capturable", "differentiable"):
            if defaults.get(name):
                raise RuntimeError(f"{type(self).__name__}: {name}=True is not supported")
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable, not one")
        self.defaults = defaults
        self._pre_hooks, self._post_hooks = HookDict(), HookDict()
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[Group] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
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
        if not isinstance(param_group, dict) or isinstance(param_group["params"], set):
            raise TypeError("param_group must be a dict, and its params in an ordered collection")
        given = param_group["params"]
        params = [given] if isinstance(given, Tensor) else list(given)
        names = [p[0] for p in params if isinstance(p, tuple)]
        others = ["param_names" in group for group in self.param_groups]
        if len(names) not in {0, len(params)} or (not names) in others:
            raise ValueError("all optimizer params should be with/without names")
        if names:
            param_group["param_names"], params = names, [p[1] for p in params]
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one is {type(p)}")
            if not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        ids = {id(p) for p in params}
        if len(ids) != len(params):
            warnings.warn("a parameter group contains duplicate parameters", stacklevel=3)
        if any(id(p) in ids for p in self._params()):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)
        param_group["params"] = params
        for name, default in self.defaults.items():
            param_group.setdefault(name, default)

    def _params(self) -> Iterator[Tensor]:
        return (p for group in self.param_groups for p in group["params"])

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Take the gradients away, or with `set_to_none=False` fill them with zeros."""
        name = f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"
        with record_function(name) if active else nullcontext():
            if set_to_none:
                for p in self._params():
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
        token = _grad.set(True)
        try:
            loss = closure() if closure is not None else None
            _grad.set(False)
            for group in self.param_groups:
                plain = isinstance(group["lr"], float)
                self._step_group(group if plain else {**group, "lr": float(group["lr"])})
        finally:
            _grad.reset(token)
        return loss

    def _step_group(self, group: Group) -> None:
        together: dict[Any, list[Tensor]] = {}
        for p in group["params"]:
            if p._grad is None:
                continue
            state = self.state[p]
            if group["foreach"]:
                together.setdefault((p.array.dtype, not state), []).append(p)
            if not state:
                self._start(p, state, group)
            if not group["foreach"]:
                self._update(p, p._grad, state, group)
        for params in together.values():
            states = [self.state[p] for p in params]
            many = {key: TensorList(s[key] for s in states) for key in states[0]}
            self._update(TensorList(params), TensorList(p._grad for p in params), many, group)
            for key, value in many.items():
                for state, tensor in zip(states, value.tensors, strict=True):
                    state[key] = tensor

    def _start(self, param: Tensor, state: dict[str, Any], group: Group) -> None:
        """Fill the state of a parameter before its first update."""

    def _update(self, param: Any, grad: Any, state: Any, group: Group) -> None:
        """Update one parameter (a Tensor), or many (a TensorList)."""
        raise NotImplementedError

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` runs before a step; it may return new (args, kwargs)."""
        return register(self._pre_hooks, hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` runs after a step."""
        return register(self._post_hooks, hook)

    def state_dict(self) -> Group:
        """`{"state": {number: state}, "param_groups": groups}`, parameters numbered in order."""
        number: dict[int, int] = {}
        for p in self._params():
            number.setdefault(id(p), len(number))
        groups = [{**g, "params": [number[id(p)] for p in g["params"]]} for g in self.param_groups]
        state = {number.get(id(p), p): found for p, found in self.state.items() if found}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: Group) -> None:
        """Take over the options and the state of `state_dict`, for this optimizer's parameters."""
        saved = state_dict["param_groups"]
        if [len(g["params"]) for g in saved] != [len(g["params"]) for g in self.param_groups]:
            raise ValueError("loaded state dict has parameter groups of a different number or size")
        self.state.clear()
        numbers = [number for group in saved for number in group["params"]]
        for p, number in zip(self._params(), numbers, strict=True):
            for key, value in state_dict["state"].get(number, {}).items():
                fits = isinstance(value, Tensor) and key != "step"
                self.state[p][key] = value.to(p.array.dtype) if fits else value
        for group, new in zip(self.param_groups, saved, strict=True):
            group.update({key: value for key, value in new.items() if key != "params"})
