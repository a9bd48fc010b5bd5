"""torch.compile, torch.compiler and torch.jit: what they are given runs as it is."""

from __future__ import annotations

import typing
import warnings
from collections.abc import Callable
from typing import Any

from .core.faces import refusing

_said = set[str]()


def _as_it_is(name: str) -> Callable[..., Any]:
    def call(obj: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Return the same object, with a note once."""
        if name not in _said:
            _said.add(name)
            warnings.warn(f"{name} changes nothing here: it runs as it is", stacklevel=2)
        return (lambda one: one) if obj is None else obj

    return call


compile, script = _as_it_is("torch.compile"), _as_it_is("torch.jit.script")
freeze = optimize_for_inference = _as_it_is("torch.jit.freeze")
trace = _as_it_is("torch.jit.trace")


def ignore(drop: Any = None, *args: Any, **_: Any) -> Any:
    """Return the function; or a decorator, which gives it back."""
    return drop if callable(drop) else lambda one: one


export = unused = script_method = script_if_tracing = interface = ignore
disable = allow_in_graph = assume_constant_result = ignore
is_scripting = is_tracing = is_compiling = lambda: False
is_dynamo_compiling = is_exporting = is_compiling
Final = typing.Final


class ScriptModule:
    """No module is one: for `isinstance`."""


def reset() -> None:
    """There is nothing to forget."""


cudagraph_mark_step_begin = reset
save = load = refusing("torch.jit.save and load", "tidy.runtime has no compiled models")
