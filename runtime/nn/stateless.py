"""A module called with other parameters than its own. Source: torch/nn/utils/stateless.py."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from ..core.aten import aten
from ..engine.hooks import check
from ..engine.tensor import Tensor
from .module import Module

_Place = tuple[dict[str, Any], str]


def _places(module: Module) -> dict[str, _Place]:
    """Where each parameter and buffer is kept, by its name; what is tied has several."""
    found: dict[str, _Place] = {}
    for prefix, inner in module.named_modules(remove_duplicate=False):
        for kept in (inner._parameters, inner._buffers):
            for name, value in kept.items():
                if value is not None:
                    found[f"{prefix}.{name}".lstrip(".")] = (kept, name)
    return found


@contextlib.contextmanager
def _with(module: Module, given: dict[str, Any], tie_weights: bool, strict: bool) -> Iterator[None]:
    places = _places(module)
    wanted = {name: value for name, value in given.items() if name in places}
    if tie_weights:
        own = {name: id(kept[key]) for name, (kept, key) in places.items()}
        values = dict[int, Any]()
        for name, value in wanted.items():
            other = values.setdefault(own[name], value)
            check(other is value, f"{name} is tied to a parameter given another value", ValueError)
        wanted = {name: values[own[name]] for name in places if own[name] in values}
    if strict:
        left, more = sorted(places.keys() - wanted.keys()), sorted(given.keys() - places.keys())
        check(not left and not more, f"functional_call: missing {left}, unexpected {more}")
    before = [(kept, key, kept[key]) for kept, key in places.values()]
    try:
        for name, value in wanted.items():
            kept, key = places[name]
            kept[key] = value
        yield
        for name, value in wanted.items():
            kept, key = places[name]
            if name in given and kept.get(key) is not value:
                given[name] = kept.get(key)  # a module that assigns a buffer gives it a new value
    finally:
        for kept, key, value in before:
            kept[key] = value


def functional_call(
    module: Module, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Any = None, *,
    tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """Call `module(*args, **kwargs)` with these tensors in place of those of the same names."""
    given = parameter_and_buffer_dicts
    if not isinstance(given, dict):
        several = isinstance(given, Sequence) and all(isinstance(each, dict) for each in given)
        told = f"Expected parameter_and_buffer_dicts to be a dict or dicts, not {type(given)}"
        check(several, told, ValueError)
        names = [name for each in given for name in each]
        told = "a name appears in more than one of the dicts; functional_call is ambiguous"
        check(len(names) == len(set(names)), told, ValueError)
        given = {name: value for each in given for name, value in each.items()}
    inputs = () if args is None else args if isinstance(args, tuple) else (args,)
    with _with(module, given, tie_weights, strict):
        return module(*inputs, **(kwargs or {}))


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Parameters and buffers of modules that are alike, stacked by name."""
    check(len(models) > 0, "stack_module_state: Expected at least one model, got 0.")
    alike = len({type(model) for model in models}) == 1
    check(alike, "stack_module_state: Expected all models to be of the same class.")
    modes = len({model.training for model in models}) == 1
    check(modes, "stack_module_state: Expected all models to be in one mode, training or not.")
    found = list[dict[str, Tensor]]()
    for kind in ("named_parameters", "named_buffers"):
        states = [dict(getattr(model, kind)()) for model in models]
        stacked = dict[str, Tensor]()
        for name, first in states[0].items():
            one = aten.stack([state[name] for state in states])
            stacked[name] = one.detach().requires_grad_(first.requires_grad)
        found.append(stacked)
    return found[0], found[1]
