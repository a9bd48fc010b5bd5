"""The table of operators, the names under which they are public, and how Python code adds to it.

    TABLE["mul"]              the row of an operator that is declared (an Op), by its name here
    PUBLIC["nn"]["linear"]    what is public in torch.nn.functional; see PLACES for the others
    aten.mul(a, b)            any operator, for code of the runtime that calls it

Most operators are rows, which declare.py takes. An operator that has to be written in Python is a
function under the decorator `composite`; what only prepares the arguments of one, and is not shown
to observers, is under `function`.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any

from ...core.aten import aten
from ...engine.tensor import Tensor
from ...observe.arrangement import active
from ...observe.bookkeeping import around
from .rows import Op

Call = Callable[..., Any]
PLACES = ("torch", "tensor", "nn", "linalg", "fft")
_MODULES = {"torch": "tidy.runtime", "nn": "tidy.runtime.nn.functional"}
_MODULES |= {name: f"tidy.runtime.{name}" for name in ("linalg", "fft")}
PUBLIC: dict[str, dict[str, Call]] = {place: {} for place in PLACES}
TABLE: dict[str, Op] = {}


def publish(call: Call, name: str, places: Iterable[str]) -> None:
    """Make a function public under a name: in modules, and as a method of Tensor."""
    for place in places:
        PUBLIC[place][name] = call
        if place in _MODULES and call.__class__ is types.FunctionType:
            call.__module__, call.__qualname__ = _MODULES[place], name  # pickle finds it there
        if place == "tensor":
            setattr(Tensor, name, call)


def composite(places: str = "", name: str | None = None) -> Callable[[Call], Call]:
    """Decorate an operator written in Python, of others: observers see it around them.

    Args:
        places: where it is public, separated by spaces.
        name: the ATen name that observers see; by default that of the function.
    """

    def decorate(function: Call) -> Call:
        known = function.__name__
        seen = name or f"aten::{known}"
        shown = around(seen, function)

        def call(*args: Any, **kwargs: Any) -> Any:
            if active:
                return active[0].op(seen, shown, args, kwargs)
            return function(*args, **kwargs)

        call.__name__ = call.__qualname__ = known
        call.__doc__ = function.__doc__
        call.__wrapped__, call.seen = function, seen  # type: ignore[attr-defined]
        setattr(aten, known, call)
        publish(call, known, places.split())
        return call

    return decorate


def function(places: str) -> Callable[[Call], Call]:
    """Decorate a function that is no operator itself, but prepares the arguments of one."""

    def decorate(function: Call) -> Call:
        setattr(aten, function.__name__, function)
        publish(function, function.__name__, places.split())
        return function

    return decorate
