"""From a declaration to a function: the code that PyTorch's generator would write for it.

For `addmm` that is

    def call(self, mat1, mat2, beta, alpha):
        if active: return interpose(...)
        out = wrap(forward(self.array, ...))
        n0, n1, n2 = which of self, mat1, mat2 need a gradient
        if (n0 or n1 or n2) and is_grad_enabled():
            values = {}
            if n1: values["mat2"] = SavedVariable(mat2); values["alpha"] = alpha
            ...
            out._node = node_class(edges, metadata, values)
        return out

Compiling takes 0.2 ms, so it is done at an operator's first call: until then its function has the
code of a stub, which puts the right code in its own place.
"""

# mypy: disable-error-code="no-any-return,has-type,call-overload"

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from ..dtypes import SCALARS, promote, to_float
from ..grad_mode import is_grad_enabled
from ..node import NO_EDGE
from ..record_function import active
from ..saved_variable import SavedVariable
from ..tensor import Tensor, gradient_edge, wrap
from ..view import late_grad

Call = Callable[..., Any]
_STUB = (lambda *args, **kwargs: (_build(), _itself(*args, **kwargs))[1]).__code__  # type: ignore[name-defined]  # noqa: F821
_COMMON: dict[str, Any] = {
    "SCALARS": SCALARS,
    "NO_EDGE": NO_EDGE,
    "SavedVariable": SavedVariable,
    "Tensor": Tensor,
    "gradient_edge": gradient_edge,
    "is_grad_enabled": is_grad_enabled,
    "late_grad": late_grad,
    "promote": promote,
    "to_float": to_float,
    "wrap": wrap,
}

BINARY = """
    if other.__class__ in SCALARS and isinstance(self, Tensor):
        a, b = self.array, other
        if a.dtype.kind != "f" or b.__class__ is complex:
            a, b = promote(a, b)
    elif isinstance(other, Tensor) and isinstance(self, Tensor):
        a, b = self.array, other.array
        if a.dtype is not b.dtype:
            a, b = promote(a, b)
    else:
        return _itself(*as_tensors(name, self, other))
"""
BINARY_FLOATING = """
    if a.dtype.kind not in "fc":
        a, b = to_float(a), to_float(asarray(b))
"""


def lazily(name: str, source: Callable[[], str], namespace: dict[str, Any]) -> Call:
    """A function whose code is compiled from `source()` when it is first called."""
    namespace = {**_COMMON, **namespace}
    function = types.FunctionType(_STUB, namespace, name)

    def build() -> None:
        exec(compile(source(), f"<operator {name}>", "exec"), namespace)  # noqa: S102
        made = namespace.pop("call", None)
        if made is not None:  # another thread may have been first
            function.__code__, function.__defaults__ = made.__code__, made.__defaults__

    namespace["_build"], namespace["_itself"] = build, function
    return function


def operator(op: Any, interpose: Call, extra: dict[str, Any], head: str = "") -> Call:
    """The function of a declared operator with one output, and inside it a twin that nobody sees.

    Args:
        head: what makes `a` and `b`, the operands, of `self` and `other`; without it each argument
            is given to the forward as it is, tensors as their arrays.
    """
    defaults = getattr(op.forward, "__defaults__", None) or ()
    space = {
        "forward": op.forward,
        "interpose": interpose,
        "name": op.name,
        "node_class": op.node_class,
        **{f"default{i}": value for i, value in enumerate(defaults)},
        **extra,
    }
    count = 0 if head else len(defaults)

    def source() -> str:
        return _source(op, count, head)

    twin = lazily(op.name, source, {**space, "active": (), "inner": None})
    return lazily(op.name, source, {**space, "active": active, "inner": twin})


def _source(op: Any, defaults: int, head: str) -> str:
    params: tuple[str, ...] = op.params
    first = len(params) - defaults
    shown = [p if i < first else f"{p}=default{i - first}" for i, p in enumerate(params)]
    every = ", ".join(params)
    lines = [
        f"def call({', '.join(shown)}):",
        f"    if active: return interpose(name, inner, ({every},))",
    ]
    tensors = [p for p in params if p in op.inputs]
    if head:
        lines.append(head)
        operands = "a, b"
    else:
        operands = ", ".join(f"({p}.array if isinstance({p}, Tensor) else {p})" for p in params)
    lines += [
        "    try:",
        f"        _out = wrap(forward({operands}))",
        "    except (ValueError, TypeError) as error:",
        "        raise RuntimeError(f'{name}: {error}') from None",
    ]
    wanted = [(i, p, op.plans[i]) for i, p in enumerate(tensors) if op.plans[i]]
    if not wanted:
        return "\n".join([*lines, "    return _out"])
    for i, p, _ in wanted:
        lines.append(
            f"    n{i} = isinstance({p}, Tensor) and "
            f"({p}._rg or ({p}._view is not None and late_grad({p})))"
        )
    any_needed = " or ".join(f"n{i}" for i, _, _ in wanted)
    lines += [f"    if ({any_needed}) and is_grad_enabled():", "        _values = {}"]
    for i, _, plan in wanted:
        if plan[1]:
            lines.append(f"        if n{i}:")
        for key in plan[1]:
            lines.append(f"            _values['{key}'] = {_saved(key, params)}")
    has = {i for i, _, _ in wanted}
    edges = ", ".join(
        f"gradient_edge({p}) if n{i} else NO_EDGE" if i in has else "NO_EDGE"
        for i, p in enumerate(tensors)
    )
    lines += [
        "        _array = _out.array",
        f"        _out._node = node_class(({edges},), ((_array.shape, _array.dtype),), _values)",
        "        _out._rg = True",
        "    return _out",
    ]
    return "\n".join(lines)


def _saved(key: str, params: tuple[str, ...]) -> str:
    """What `_values[key]` is."""
    if key == "result":
        return "SavedVariable(_out, True)"
    if key in params:
        return f"SavedVariable({key}) if isinstance({key}, Tensor) else {key}"
    owner, _, what = key.rpartition("_")
    assert owner in params, f"a formula asks for {key}"
    assert what in {"shape", "strides"}, f"a formula asks for {key}"
    return f"{owner}.array.{what} if isinstance({owner}, Tensor) else ()"
