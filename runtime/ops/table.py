"""How an operator is declared, and what is made of a declaration.

    tanh = unary("aten::tanh", np.tanh, lambda grad, result: tanh_backward(grad, result))
    mul = binary("aten::mul", np.multiply,
                 self=lambda grad, other: grad * other,
                 other=lambda grad, self: grad * self)

A declaration is an ATen name, a forward on arrays, and one formula per differentiable input. The
names of a formula's parameters say what it needs: `grad`, inputs and attributes by their names in
the forward, `result`, and `x_shape` for the shape of input x. Only what the formulas of the inputs
that need a gradient ask for is saved. Formulas are made of operators, so derivatives of all orders
come for free; the engine sums a gradient over broadcast dimensions, so formulas need not.

The makers below differ only in how much they know of the operator beforehand, and so in speed:
`unary`, `binary`, `view`, `inplace`, and `op` for all the rest.

Source: tools/autograd/derivatives.yaml and its code generator, which do this for PyTorch.
"""


# mypy: disable-error-code="no-any-return,has-type,call-overload"

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import anomaly
from ..dtypes import result_dtype, to_float
from ..grad_mode import is_grad_enabled, is_inference_mode_enabled
from ..node import thread
from ..record_function import RecordScope, active, begin, end
from ..saved_variable import SavedVariable
from ..tensor import Tensor, gradient_edge, wrap
from ..view import ViewInfo, late_grad
from . import generate
from .op_node import Formula, ListNode, OpNode, Plan

Call = Callable[..., Any]

TABLE: dict[str, Op] = {}
_NOTHING: dict[str, Any] = {}


class Op:
    """One row of the table."""

    __slots__ = ("forward", "inputs", "name", "node_class", "params", "plans", "source")

    def __init__(self, name: str, forward: Call, inputs: tuple[str, ...], formulas: dict[str, Any]):
        self.name = name
        self.forward = forward
        self.inputs = inputs
        code = getattr(forward, "__code__", None)
        self.params = code.co_varnames[: code.co_argcount] if code and code.co_argcount else inputs
        self.source: Call | None = None
        self.plans: tuple[Plan | None, ...] = tuple(_plan(formulas.get(i)) for i in inputs)
        self.node_class: type[OpNode] = OpNode
        if any(self.plans):
            title = name.partition("::")[2].strip("_").title().replace("_", "") + "Backward0"
            named = {name for plan in self.plans if plan for name in plan[1]}
            saves = bool(named & {*inputs, "result", "results"})
            body = {"__slots__": (), "plans": self.plans, "saves": saves}
            self.node_class = type(title, (OpNode,), body)
        TABLE[name] = self


def _plan(formula: Formula | None) -> Plan | None:
    if formula is None:
        return None
    code = formula.__code__
    return formula, code.co_varnames[1 : code.co_argcount]


# What every maker uses.


def bind(forward: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All of the forward's arguments, by position."""
    import inspect  # slow to load, and seldom needed

    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return tuple(bound.arguments.values())


def interpose(name: str, inner: Call, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None):  # type: ignore[no-untyped-def]
    """Run an operator for those who watch it, and in inference and anomaly mode."""
    recording = is_grad_enabled() and any(isinstance(x, Tensor) and x._rg for x in args)
    number = thread.sequence_nr
    running = begin(name, RecordScope.FUNCTION, args, number if recording else -1)
    try:
        out = inner(*args, **kwargs) if kwargs else inner(*args)
    finally:
        end(running)
    for one in out if isinstance(out, (tuple, list)) else (out,):
        if not isinstance(one, Tensor):
            continue
        node = one._node
        if node is not None and node.sequence_nr >= number:
            node.__dict__["thread_id"] = threading.get_ident()
            anomaly.note(node)
        own = one._view is None or one._view.base._counter is None
        if own and is_inference_mode_enabled() and not any(one is x for x in args):
            one._counter = None
            one._view = None
    return out


def needs_grad(x: Any) -> bool:
    """Whether it is a tensor that requires a gradient."""
    return isinstance(x, Tensor) and (x._rg or (x._view is not None and late_grad(x)))


def _save(value: Any) -> Any:
    return SavedVariable(value) if isinstance(value, Tensor) else value


def gather(op: Op, args: tuple[Any, ...], needs: list[bool], copy_self: bool) -> dict[str, Any]:
    """What the wanted formulas ask for, except `result`."""
    values: dict[str, Any] = {}
    params = op.params
    for plan, needed in zip(op.plans, needs, strict=True):
        if plan is None or not needed:
            continue
        for name in plan[1]:
            if name in values or name in {"result", "results"}:
                continue
            if name in params:
                value = args[params.index(name)]
                if copy_self and name == "self":
                    value = value.clone()  # what it was; with its graph, for double backward
                values[name] = _save(value)
            elif name.endswith("_strides"):
                values[name] = args[params.index(name[:-8])].array.strides
            else:  # x_shape
                value = args[params.index(name[:-6])]
                values[name] = value.array.shape if isinstance(value, Tensor) else ()
    return values


def _save_result(op: Op, needs: list[bool], values: dict[str, Any], out: Tensor) -> None:
    for plan, needed in zip(op.plans, needs, strict=True):
        if needed and plan is not None and "result" in plan[1]:
            values["result"] = SavedVariable(out, True)
            return


def raw(x: Any) -> Any:
    """A tensor's array; anything else as it is."""
    return x.array if isinstance(x, Tensor) else x


def _finished(op: Op, make: Callable[[Any, Call | None], Call], doc: str | None = None) -> Call:
    """The operator: `make`'s function, with one twin inside that never looks for observers."""
    return _named(op, make(active, make((), None)), doc)


def _named(op: Op, call: Call, doc: str | None = None) -> Call:
    call.__name__ = call.__qualname__ = op.name.partition("::")[2]
    call.__doc__ = doc or op.forward.__doc__ if not isinstance(op.forward, np.ufunc) else op.name
    call.op = op  # type: ignore[attr-defined]
    return call


# The makers.


def unary(
    name: str,
    forward: Call,
    formula: Formula | None,
    *,
    floating: bool = True,
    arrays: Formula | None = None,
) -> Call:
    """An operator of one tensor and nothing else.

    Args:
        floating: integers become the default floating dtype first.
        arrays: the formula on arrays; see `op`.
    """
    op = Op(name, forward, ("self",), {"self": formula} if formula else {})
    op.params = ("self",)
    if arrays:
        op.node_class.array_plans = (_plan(arrays),)
    plan = op.plans[0]
    wanted = plan[1] if plan else ()
    saves_self, saves_result = "self" in wanted, "result" in wanted
    saves_shape = "self_shape" in wanted
    node_class = op.node_class

    def make(active: Any, inner: Call | None) -> Call:
        def call(self: Tensor) -> Tensor:
            if active:
                return interpose(name, inner, (self,))  # type: ignore[arg-type]
            array = self.array
            if floating and array.dtype.kind != "f":
                array = to_float(array)
            try:
                out = wrap(forward(array))
            except TypeError as error:
                raise RuntimeError(f"{name}: {error}") from None
            if (
                (self._rg or (self._view is not None and late_grad(self)))
                and plan is not None
                and is_grad_enabled()
            ):
                if saves_result:
                    values = {"result": SavedVariable(out, True)}
                elif saves_self:
                    values = {"self": SavedVariable(self)}
                else:
                    values = {"self_shape": array.shape} if saves_shape else _NOTHING
                array = out.array
                out._node = node_class(
                    (gradient_edge(self),), ((array.shape, array.dtype),), values
                )
                out._rg = True
            return out

        return call

    return _finished(op, make)


def binary(
    name: str,
    forward: Call,
    *,
    self: Formula | None = None,
    other: Formula | None = None,
    floating: bool = False,
    arrays: bool = False,
) -> Call:
    """An operator of two tensors, or of a tensor and a number, that broadcast and promote.

    Args:
        floating: integers become the default floating dtype first.
        arrays: the formulas work on arrays just as well; then they are run on those when nobody
            watches and no graph is recorded.
    """
    formulas = {k: f for k, f in (("self", self), ("other", other)) if f}
    op = Op(name, forward, ("self", "other"), formulas)
    op.params = ("self", "other")

    if arrays:
        op.node_class.array_plans = op.plans
    head = generate.BINARY + (generate.BINARY_FLOATING if floating else "")
    extra = {"as_tensors": as_tensors, "asarray": np.asarray}
    return _named(op, generate.operator(op, interpose, extra, head))


def as_tensors(name: str, *operands: Any) -> tuple[Tensor, ...]:
    """Numbers and arrays as tensors.

    Raises:
        TypeError: one is neither.
    """
    found = []
    for x in operands:
        if isinstance(x, Tensor):
            found.append(x)
        elif isinstance(x, (bool, int, float, complex)):
            tensor = wrap(np.asarray(x, result_dtype(x)))
            found.append(tensor)
        elif isinstance(x, (np.ndarray, np.generic)):
            found.append(wrap(x))
        else:
            raise TypeError(f"{name}: expected a Tensor or a number, got {type(x).__name__}")
    return tuple(found)


def op(
    name: str,
    forward: Call,
    *inputs: str,
    arrays: dict[str, Formula] | None = None,
    **formulas: Formula,
) -> Call:
    """Any operator with one output. `inputs` are the forward's parameters that are tensors.

    Args:
        arrays: the formulas again, on arrays: run in place of the others when nobody watches and no
            graph is recorded. Same parameters.
    """
    declared = Op(name, forward, inputs, formulas)
    if arrays:
        declared.node_class.array_plans = tuple(_plan(arrays.get(i)) for i in inputs)
    return _named(declared, generate.operator(declared, interpose, {}))


def op_list(
    name: str,
    forward: Call,
    formula: Formula | None = None,
    *,
    on_list: bool,
    several: bool = False,
) -> Call:
    """An operator on a list of tensors (`on_list`), or with several outputs (`several`).

    The formula's first parameter is the gradient, or the list of all outputs' gradients; on a list
    it gives the list of the tensors' gradients. The forward's first parameter is named `self`.
    """
    declared = Op(name, forward, ("self",), {"self": formula} if formula else {})
    if formula is not None:
        declared.node_class = type(
            declared.node_class.__name__,
            (ListNode,),
            {"__slots__": (), "plans": declared.plans, "on_list": on_list, "several": several},
        )
    wanted = declared.plans[0][1] if declared.plans[0] else ()

    def make(active: Any, inner: Call | None) -> Call:
        def call(*args: Any, **kwargs: Any) -> Any:
            if kwargs or len(args) < len(declared.params):
                args = bind(forward, args, kwargs)
            if active:
                return interpose(name, inner, args)  # type: ignore[arg-type]
            tensors = tuple(args[0]) if on_list else (args[0],)
            needs = [needs_grad(x) for x in tensors]
            shown = [x.array for x in tensors] if on_list else args[0].array
            try:
                made = forward(shown, *[raw(x) for x in args[1:]])
            except ValueError as error:
                raise RuntimeError(f"{name}: {error}") from None
            outs = [wrap(x) for x in made] if several else [wrap(made)]
            if formula is not None and True in needs and is_grad_enabled():
                values: dict[str, Any] = {}
                for key in wanted:
                    if key == "self_shapes":
                        values[key] = [x.array.shape for x in tensors]
                    elif key == "self_shape":
                        values[key] = tensors[0].array.shape
                    elif key == "results":
                        values[key] = tuple(SavedVariable(o, True) for o in outs)
                    elif key == "self" and on_list:
                        values[key] = tensors
                    else:
                        values[key] = _save(args[declared.params.index(key)])
                edges = tuple(gradient_edge(x) if n else (None, 0) for x, n in zip(tensors, needs))  # noqa: B905
                metadata = tuple((o.array.shape, o.array.dtype) for o in outs)
                node = declared.node_class(edges, metadata, values)
                for number, out in enumerate(outs):
                    if out.array.dtype.kind in "fcV":
                        out._rg, out._node, out.output_nr = True, node, number
            return tuple(outs) if several else outs[0]

        return call

    return _finished(declared, make)


def view(name: str, forward: Call, formula: Formula, arrays: Formula | None = None) -> Call:
    """An operator whose result shares its input's memory: `forward(self, *attributes)`."""
    declared = Op(name, forward, ("self",), {"self": formula})
    if arrays:
        declared.node_class.array_plans = (_plan(arrays),)
    node_class, params, plan = declared.node_class, declared.params, declared.plans[0]
    assert plan is not None
    names = plan[1]

    def make(active: Any, inner: Call | None) -> Call:
        def call(self: Tensor, *args: Any) -> Tensor:
            if active:
                return interpose(name, inner, (self, *args))  # type: ignore[arg-type]
            array = self.array
            try:
                out = wrap(forward(array, *args))
            except ValueError as error:
                raise RuntimeError(f"{name}: {error}") from None
            out._counter = self._counter
            recorded = is_grad_enabled()
            out._view = ViewInfo(self, call, args, recorded)
            out._rg = self._rg  # with gradients off too, as in PyTorch
            if recorded and (self._rg or (self._view is not None and late_grad(self))):
                values = _NOTHING
                if names:
                    values = {
                        n: array.shape if n == "self_shape" else args[params.index(n) - 1]
                        for n in names
                    }
                array = out.array
                out._node = node_class(
                    (gradient_edge(self),), ((array.shape, array.dtype),), values
                )
                out._rg = True  # a late one's
            return out

        return call

    return _finished(declared, make)
