"""From a row of the table to a function and a node class: what PyTorch's code generators do.

For `mul(self, other) = np.multiply(self, other)` that is, shortened,

    def call(input, other):
        if active: return active[0].op("aten::mul", inner, (input, other))
        self, other_t, other = input.array, other, other.array
        if self.dtype is not other.dtype: self, other = promote(self, other)
        out = wrap(np.multiply(self, other))
        n0, n1 = needs_grad(input), needs_grad(other_t)
        if (n0 or n1) and is_grad_enabled():
            node = new(MulBackward0)
            node.next_edges = (gradient_edge(input) if n0 else NO_EDGE, ...)
            if n0: node.s_other = SavedVariable(other_t)
            ...
            out._node, out._rg = node, True
        return out

    class MulBackward0(OpNode):
        def apply(node, grads): ...  # each wanted formula, on arrays where that will do

Compiling takes half a millisecond, so it is done at an operator's first call: until then its
function has the code of a stub, which puts the right code in its own place.
"""

# mypy: disable-error-code="attr-defined"

from __future__ import annotations

import builtins
import types
from collections import namedtuple
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from ..record_function import active
from . import arguments, observe, op_node
from .call_source import bare_source, call_source, takes_any_number
from .node_source import node_source
from .rows import Op, names_in
from .table import aten

_STUB = (lambda *args, **kwargs: (_build(), _itself(*args, **kwargs))[1]).__code__  # type: ignore[name-defined]  # noqa: F821
_COMMON: dict[str, Any] = {"new": object.__new__, "np": np}
for _name in "dtypes node grad_mode saved_variable storage tensor view record_function".split():
    _found = vars(import_module(f"...{_name}", __name__))
    _COMMON |= {k: v for k, v in _found.items() if k not in vars(builtins)}
_COMMON |= {
    **vars(observe),
    **vars(op_node),
    **{name: getattr(arguments, name) for name in arguments.__all__},
}


def lazily(op: Op) -> Callable[..., Any]:
    """The operator's function; its code is made when it is first called."""
    space: dict[str, Any] = {}
    function = types.FunctionType(_STUB, space, op.key)
    space["_build"], space["_itself"] = lambda: _build_now(op, function, space), function
    function.__doc__ = op.row
    function.op = op
    return function


def node_class(op: Op) -> Any:
    """The class of an operator's nodes; None without a derivative."""
    op.parse()
    if not op.differentiable:
        return None
    space = dict[str, Any]()
    _execute(node_source(op), op, space)
    return space[op.title]


def _build_now(op: Op, function: Any, space: dict[str, Any]) -> None:
    op.parse()
    space |= {"NAME": op.name, "_itself": function, "active": active}
    if not op.is_composite:
        base = getattr(aten, op.key).op
        if not hasattr(base, "node_class"):  # shared with the in-place form
            base.node_class = node_class(base)
        space["Node_"] = base.node_class
    if op.outputs:
        space["Outputs"] = namedtuple(op.key.partition("_")[0], op.outputs)
    _execute("\n".join(call_source(op)), op, space)
    made = space.pop("call")
    hidden = {**space, "active": ()}
    hidden["_itself"] = space["inner"] = _by_position(made, hidden, op)
    function.__defaults__, function.__kwdefaults__ = made.__defaults__, made.__kwdefaults__
    function.__code__ = made.__code__


def _by_position(made: Any, space: dict[str, Any], op: Op) -> Any:
    """The function in another namespace, and taking all arguments by position if it can."""
    code, defaults, by_name = made.__code__, made.__defaults__, made.__kwdefaults__
    if by_name and not takes_any_number(op):
        count = code.co_argcount + code.co_kwonlyargcount
        names = code.co_varnames[code.co_argcount : count]
        code = code.replace(co_argcount=count, co_kwonlyargcount=0)
        defaults, by_name = (*(defaults or ()), *[by_name.get(name) for name in names]), None
    found: Any = types.FunctionType(code, space, op.key, defaults)
    found.__kwdefaults__ = by_name
    return found


def _execute(source: str, op: Op, space: dict[str, Any]) -> None:
    """Run generated code, with whatever it names from the table, its module and here."""
    code = compile(source, f"<operator {op.name}>", "exec")
    for name in names_in(code):
        if name.startswith("bare_"):
            space.setdefault(name, _bare(getattr(aten, name[5:]).op))
        for known in (_COMMON, aten.__dict__, op.space):
            if name in known:
                space.setdefault(name, known[name])
                break
    exec(code, space)  # noqa: S102


def _bare(op: Op) -> Callable[..., Any]:
    """An operator for formulas whose values alone matter: no graph, no views, but an observer."""
    if not hasattr(op, "bare"):
        space = {"NAME": op.name, "active": active}
        _execute("\n".join(bare_source(op)), op, space)
        space["_itself"] = _by_position(space["inner"], space, op)
        op.bare = space["call"]
    return op.bare
