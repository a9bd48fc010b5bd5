"""Function: operators of the user's own.

    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            (y,) = ctx.saved_tensors
            return grad * y

`Exp.apply(x)` runs it; `ctx` is the node itself, so what is put on it lives as long as the graph.
Source: torch/autograd/function.py, torch/csrc/autograd/python_function.cpp.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import partial
from itertools import compress
from typing import Any, ClassVar

import numpy as np

from ..core.aten import aten
from ..core.later import bound
from ..observe.arrangement import active
from .grad_mode import is_grad_enabled, without_grad
from .hooks import check
from .node import NO_EDGE, SECOND_BACKWARD, Grads, Node
from .saved_variable import SavedVariable
from .tensor import Tensor, bump_version, gradient_edge, wrap
from .view import check_inplace, rebase_history


def _as_list(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (tuple, list)) else [given]


def _as_given(outputs: list[Any], given: Any) -> Any:
    return tuple(outputs) if isinstance(given, (tuple, list)) else outputs[0]


def _missing(name: str) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"You must implement the {name} function for custom Function.")

    return staticmethod(call)


def _setter(name: str) -> Callable[..., None]:
    return lambda ctx, *tensors: setattr(ctx, name, tensors)


class FunctionCtx(Node):
    __slots__ = ()
    function: ClassVar[type[Function]]
    _to_save = _dirty = _plain = tuple[Any, ...]()  # tensors
    _saved: Sequence[SavedVariable | None] | None = ()
    _materialize = _materialize_non_diff_grads = True

    def __init__(self, args: tuple[Any, ...]) -> None:
        super().__init__(())
        self._is_tensor = [isinstance(a, Tensor) for a in args]
        self.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)

    save_for_backward = _setter("_to_save")  # inputs or outputs, and only those
    mark_dirty = _setter("_dirty")  # the inputs that forward modified in place
    mark_non_differentiable = _setter("_plain")  # the outputs that have no gradient

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether backward sees zeros (the default) or None for an output nobody used."""
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What save_for_backward kept; an error if it was freed, or modified in place since."""
        check(self._saved is not None, SECOND_BACKWARD)
        return tuple(None if s is None else s.unpack(self) for s in self._saved or ())

    def apply(self, grads: Grads) -> Grads:
        """Call the user's backward, and check its results."""
        seen: list[Any] = list(grads)
        for i, (shape, dtype) in enumerate(self.input_metadata):
            if seen[i] is None and self._materialize and dtype is not None:
                if self.stream is None:
                    seen[i] = wrap(np.zeros(shape, dtype))
                else:
                    seen[i] = aten.zeros(shape, dtype=dtype, device=self.stream.device)
        given = _as_list(self.function.backward(self, *seen))
        who, count = f"function {self.name()} returned", len(self._is_tensor)
        while len(given) > count and given[-1] is None:
            given.pop()
        got = f"(expected {count}, got {len(given)})"
        check(len(given) == count, f"{who} an incorrect number of gradients {got}")
        for place, (grad, is_tensor) in enumerate(zip(given, self._is_tensor, strict=True), 1):
            if grad is not None and not (is_tensor and isinstance(grad, Tensor)):
                wanted = "Tensor or None" if is_tensor else "None, as the input is no Tensor"
                got = f"{type(grad).__name__} at position {place}"
                raise RuntimeError(f"{who} {got}, not {wanted}")
        return list(compress(given, self._is_tensor))

    def release_variables(self) -> None:
        self._saved = self._saved and None

    def _finish(self, args: tuple[Any, ...], outputs: list[Any]) -> None:
        """Tie the outputs to the node, and keep what was to be saved."""
        recording = is_grad_enabled() and any(self.needs_input_grad)
        inputs = {id(a) for a in compress(args, self._is_tensor)}
        dirty, plain = {id(t) for t in self._dirty}, {id(t) for t in self._plain}
        for tensor in self._dirty:
            check_inplace(tensor, recording)
        if recording:
            needs = zip(args, self.needs_input_grad, strict=True)
            edges = [gradient_edge(a) if need else NO_EDGE for a, need in needs]
            self.next_edges = tuple(compress(edges, self._is_tensor))
        for tensor in self._dirty:
            bump_version(tensor)
        self.input_metadata = metadata = list[Any]()
        for number, out in enumerate(outputs):
            if not isinstance(out, Tensor):
                metadata.append(((), None))  # it has no gradient, and none comes in its place
                continue
            array = out.array
            varies = array.dtype.kind in "fcV" and id(out) not in plain
            seen = varies or self._materialize_non_diff_grads
            metadata.append((array.shape, array.dtype if seen else None))
            if id(out) in inputs and id(out) not in dirty:
                outputs[number] = wrap(array)  # handed through: a tensor of its own on this memory
                outputs[number]._counter = out._counter
            if not (recording and varies):
                continue
            if id(out) in dirty:
                rebase_history(out, self)
                continue
            made = outputs[number]
            made._rg, made._node, made.output_nr = True, self, number
        self._saved = [t if t is None else SavedVariable(t, t._node is self) for t in self._to_save]
        self._to_save = self._dirty = self._plain = ()


class Function:
    """Subclass it with static methods `forward` and `backward`, and call `Sub.apply(*args)`."""

    _node: ClassVar[type[FunctionCtx]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._node = type(f"{cls.__name__}Backward", (FunctionCtx,), {"function": cls})

    forward = _missing("forward")  # (ctx, *args), or just (*args) beside a setup_context
    setup_context = _missing("setup_context")  # (ctx, inputs, output)
    backward = _missing("backward")  # (ctx, *grads): a gradient, or None, for each of args

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward outside autograd, and record backward."""
        if cls.setup_context is not Function.setup_context:
            args = bound(cls.forward, args, kwargs, defaults=True)
        elif kwargs:
            args = bound(partial(cls.forward, None), args, kwargs, defaults=False)
        return active[0].op(cls.__name__, cls._apply, args) if active else cls._apply(*args)

    @classmethod
    def _apply(cls, *args: Any) -> Any:
        ctx = cls._node(args)
        if cls.setup_context is Function.setup_context:
            output = without_grad(cls.forward, ctx, *args)
        else:
            output = without_grad(cls.forward, *args)
            without_grad(cls.setup_context, ctx, args, output)
        outputs = _as_list(output)
        ctx._finish(args, outputs)
        return _as_given(outputs, output)


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a backward that is not itself differentiable: its results say so when differentiated."""

    @functools.wraps(function)
    def call(ctx: Any, *grads: Any) -> Any:
        result = without_grad(function, ctx, *grads)
        if not is_grad_enabled() or not any(isinstance(g, Tensor) and g._rg for g in grads):
            return result
        outputs = _as_list(result)
        for i, out in enumerate(outputs):
            if isinstance(out, Tensor):
                outputs[i] = fresh = wrap(out.array)
                fresh._rg, fresh._node = True, Error((), ((out.array.shape, out.array.dtype),))
        return _as_given(outputs, result)

    return call


class Error(Node):
    __slots__ = ()

    def apply(self, grads: Grads) -> Grads:
        raise RuntimeError("trying to differentiate twice a function marked @once_differentiable")
