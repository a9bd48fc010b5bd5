"""Names of a module that are loaded when they are first asked for; arguments by position."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from .other_paths import home_of

_PACKAGE = __name__.removesuffix(".core.later")


def later(face: str, homes: dict[str, str]) -> Callable[[str], Any]:
    """Return a module's `__getattr__`, which finds further paths of PyTorch's as well.

    Args:
        face: the module's name.
        homes: names, separated by spaces, by the module that has them, given as in an import; by
            "" those that are modules in `face` themselves. `Event=StreamEvent` has another name
            there.
    """
    known = dict[str, tuple[str, str]]()
    for home, names in homes.items():
        for each in names.split():
            name, _, inner = each.partition("=")
            known[name] = (home, inner or name)

    def find(name: str) -> Any:
        if name not in known:
            if home_of(f"{face}.{name}".removeprefix(f"{_PACKAGE}.")) is not None:
                return import_module(f"{face}.{name}")
            raise AttributeError(f"{face} has no {name!r}; docs/runtime.md lists what it has")
        home, inner = known[name]
        module = import_module(home or f".{name}", face)
        value = getattr(module, inner) if home else module
        setattr(sys.modules[face], name, value)
        return value

    return find


def bound(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], defaults: bool
) -> Any:
    """Return a call's arguments in their order, with `defaults` all; TypeError if unfit."""
    import inspect  # slow to load

    given = inspect.signature(function).bind(*args, **kwargs)
    if defaults:
        given.apply_defaults()
    if given.kwargs:
        raise TypeError(f"{function}: arguments without a position: {', '.join(given.kwargs)}")
    return given.args
