"""From a row of the table to a function and a node class: what PyTorch's code generators do.

Templates of what is made are in templates.py, whose head shows that for `mul`; function_source.py
and node_source.py fill them. To make an operator takes 0.5 to 0.8 ms, so it is done when
it is first called. Until then its function has the code of a stub, which puts the right code
in its own place and runs it: everybody may hold the function from the start (Tensor, modules,
users, the code of other operators), and a later call costs nothing more. The reasons are in
docs/decisions/code-generation.md.

Debuggers and tracebacks show the code under its file's name: `<operator aten::mul>`, and for the
node class `<operator aten::mul backward>`.
"""

# mypy: disable-error-code="attr-defined"

from __future__ import annotations

import builtins
import linecache
import types
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import dtypes, storage, thread_state
from ...core.aten import aten
from ...engine import grad_mode, node, saved_variable, tensor, view
from ...observe import arrangement, watched_operators
from ...observe.arrangement import active
from ...observe.bookkeeping import around
from . import arguments, op_node
from .rows import Op, names_in
from .table import TABLE

_STUB = (lambda *args, **kwargs: (_build(), _itself(*args, **kwargs))[1]).__code__  # type: ignore[name-defined]  # noqa: F821
_COMMON: dict[str, Any] = {"new": object.__new__, "np": np}  # what any generated source may name
for _module in (
    dtypes, storage, thread_state, grad_mode, node, saved_variable, tensor, view, arrangement,
    watched_operators, op_node,
):  # fmt: skip
    _COMMON |= {k: v for k, v in vars(_module).items() if k not in vars(builtins)}
_COMMON["aten"] = aten
_COMMON |= {name: getattr(arguments, name) for name in arguments.__all__}


def lazily(op: Op) -> Callable[..., Any]:
    """Return the operator's function; its code is made when it is first called."""
    space: dict[str, Any] = {}
    function = types.FunctionType(_STUB, space, op.key)
    space["_build"], space["_itself"] = lambda: _build_now(op, function, space), function
    function.__doc__ = op.row
    function.op = op
    return function


def node_class(op: Op) -> Any:
    """Return the class of an operator's nodes, one for it and its in-place form.

    None for an operator without a derivative, or that is made of others.
    """
    base = TABLE[op.key[:-1]].parse() if op.in_place else op
    if base.is_composite or not base.differentiable:
        return None
    if base.node_class is None:
        from .node_source import node_source  # not needed before an operator is called

        made = _execute(node_source(base), base, "backward", {})[base.title]
        if base.is_second:
            made.second = type(f"{base.title[:-1]}1", (made,), {"__slots__": ()})
        base.node_class = made
    return base.node_class


def _build_now(op: Op, function: Any, space: dict[str, Any]) -> None:
    op.parse()
    space |= {"NAME": op.name, "_itself": function, "active": active, op.title: node_class(op)}
    if op.outputs:
        space["Outputs"] = namedtuple(op.key.partition("_")[0], op.outputs)
    made = _with_inner(op, "", space)
    function.__defaults__, function.__kwdefaults__ = made.__defaults__, made.__kwdefaults__
    function.__code__ = made.__code__


def _bare(op: Op) -> Any:
    """An operator for formulas whose values alone matter: no graph, no views, but an observer."""
    if op.bare is None:
        space = {"NAME": op.name, "active": active}
        op.bare = _with_inner(op, "bare", space)
    return op.bare


def _with_inner(op: Op, part: str, space: dict[str, Any]) -> Any:
    """An operator's function, and as `inner` beside it the same function for observers to run."""
    from .function_source import function_source

    made = _execute(function_source(op, bare=part == "bare"), op, part, space)[op.key]
    hidden = {**space, "active": ()}
    hidden["_itself"] = inner = _by_position(made, hidden, op)
    space["inner"] = around(op.name, inner)
    return made


def _by_position(made: Any, space: dict[str, Any], op: Op) -> Any:
    """The function in another namespace, and taking all arguments by position if it can."""
    defaults, by_name = made.__defaults__, made.__kwdefaults__
    code = made.__code__.replace()  # a copy: the interpreter caches global names in the code
    if by_name and not op.takes_any_number:
        count = code.co_argcount + code.co_kwonlyargcount
        names = code.co_varnames[code.co_argcount : count]
        code = code.replace(co_argcount=count, co_kwonlyargcount=0)
        defaults, by_name = (*(defaults or ()), *[by_name.get(name) for name in names]), None
    function: Any = types.FunctionType(code, space, op.key, defaults)
    function.__kwdefaults__ = by_name
    return function


def _execute(source: str, op: Op, part: str, space: dict[str, Any]) -> dict[str, Any]:
    """Run generated source; what it defines.

    Args:
        part: what of the operator it is, where that is not its function.
        space: its global names, to which are added those that it uses: of the engine (_COMMON),
            of operators, and of the module that declares the row.
    """
    file = op.file(part)
    code = compile(source, file, "exec")
    space["__name__"] = "tidy.runtime.operators"  # where a warning is said to come from
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    for name in names_in(code):
        if name.startswith("bare_"):
            space.setdefault(name, _bare(TABLE[name[5:]]))
        for known in (_COMMON, aten.__dict__, op.space):
            if name in known:
                space.setdefault(name, known[name])
                break
    defined: dict[str, Any] = {}
    exec(code, space, defined)  # noqa: S102
    return defined
