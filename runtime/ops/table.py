"""The table of operators: how a row is written, and where what is made of it is found.

    [torch tensor float quiet in_place]
    exp(self) = np.exp(self) => grad * conj(result)
    atan2(self, other) = np.arctan2(self, other)
        self: grad * other / (self * self + other * other)
        other: -grad * self / (self * self + other * other)
    softplus_twice(self, *, beta: any = 1) := softplus(softplus(self, beta), beta)

A row is a signature, a forward on arrays (`=`), and a formula for the gradient of each
differentiable input (`=>` for `self`); or, with `:=`, an expression on tensors. Parameters without
a kind are tensors, those of kind `number` tensors or numbers; the others are attributes. `add.to`
is aten::add, known here as `add_to`. `-> (values, indices)` and `-> list` tell of several outputs.
Formulas may use `grad` (`grads` of several outputs), inputs, attributes, `result` or the outputs'
names, and `x_shape`, `x_strides`, `x_dtype` of an input. They are made of operators, so derivatives
of all orders come for free; what only needs arithmetic runs on the arrays alone when no graph is
recorded, and a formula on arrays may stand behind `||`. Broadcasting is undone by the engine.

A header says of the rows below it where they are public (torch, tensor, nn, linalg, fft), and:

    promote   two operands, tensors or numbers, that PyTorch's type promotion makes alike
    float     integers become the default floating dtype first
    quiet     no warnings of numpy's for overflow, division by zero and the like
    in_place  there is a form `name_` that writes to its first operand
    only_in_place  the same, and that form alone is public, as a method
    view      the result shares the input's memory
    make      makes a tensor of nothing: takes dtype, device, requires_grad and generator as well
    on_list   the first parameter is a list of tensors; its formula gives the list of gradients

Nothing is compiled before an operator's first call: see generate.py.

Source: aten/src/ATen/native/native_functions.yaml and tools/autograd/derivatives.yaml, which are to
PyTorch what this is here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..record_function import active
from ..tensor import Tensor
from .rows import Op

Call = Callable[..., Any]
PLACES = {"torch", "tensor", "nn", "linalg", "fft"}
PUBLIC: dict[str, dict[str, Call]] = {place: {} for place in PLACES}
TABLE: dict[str, Op] = {}


class Aten:
    """Every operator by its name here, for code that calls them: `aten.mm(a, b)`."""

    def __getattr__(self, name: str) -> Call:
        raise AttributeError(f"no operator {name!r} is declared")


aten = Aten()


def declare(space: dict[str, Any], text: str) -> None:
    """Make operators of rows. `space` is the declaring module's names, for their expressions."""
    from .generate import lazily

    flags: frozenset[str] = frozenset()
    for chunk in re.split(r"\n(?=\S)", text.strip()):
        if chunk.startswith("["):
            flags = frozenset(chunk[1:-1].split())
            continue
        key = chunk[: chunk.index("(")]
        op = Op(key, chunk.rstrip(), flags, space)
        _register(lazily(op), key, op.key, flags)
        if flags & {"in_place", "only_in_place"}:
            twin = Op(key, op.row, flags, space)
            twin.in_place, twin.name = True, f"{op.name}_"
            alone = "only_in_place" in flags
            shown = f"{op.base if alone else key}_"
            _register(lazily(twin), shown, f"{op.key}_", flags | {"tensor"} if alone else flags)


def _register(call: Call, key: str, known: str, flags: frozenset[str]) -> None:
    setattr(aten, known, call)
    TABLE[known] = call.op  # type: ignore[attr-defined]
    if "." in key or key.startswith("_"):
        return
    for place in flags & PLACES:
        PUBLIC[place][key] = call
        if place == "tensor":
            setattr(Tensor, key, call)


def composite(places: str = "", name: str | None = None) -> Callable[[Call], Call]:
    """An operator written in Python, of others: observers see it around them."""

    def decorate(function: Call) -> Call:
        known = function.__name__
        seen = name or f"aten::{known}"

        def call(*args: Any, **kwargs: Any) -> Any:
            if active:
                return active[0].op(seen, function, args, kwargs)
            return function(*args, **kwargs)

        call.__name__ = call.__qualname__ = known
        call.__doc__ = function.__doc__
        _public(places, known, call)
        return call

    return decorate


def function(places: str) -> Callable[[Call], Call]:
    """A function that is no operator itself: it prepares the arguments of one."""

    def decorate(function: Call) -> Call:
        _public(places, function.__name__, function)
        return function

    return decorate


def _public(places: str, name: str, call: Call) -> None:
    setattr(aten, name, call)
    for place in places.split():
        PUBLIC[place][name] = call
        if place == "tensor":
            setattr(Tensor, name, call)
