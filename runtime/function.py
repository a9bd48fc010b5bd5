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
from collections.abc import Callable
from itertools import compress
from typing import Any, ClassVar

import numpy as np

from .grad_mode import is_grad_enabled, without_grad
from .hooks import check
from .node import NO_EDGE, SECOND_BACKWARD, Grads, Node
from .record_function import RecordScope, active, begin, during
from .saved_variable import SavedVariable
from .tensor import Tensor, bump_version, gradient_edge, wrap
from .view import check_inplace, rebase_history

_NO_BACKWARD = (
    "You must implement either the backward or vjp method for your custom Function to use it with "
    "backward mode AD."
)


def _as_list(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (tuple, list)) else [given]


class FunctionCtx(Node):
    """The node of one call of a Function, and what its forward and backward share.

    `needs_input_grad` says for each argument of forward whether it requires a gradient.
    """

    __slots__ = ()
    function: ClassVar[type[Function]]

    def __init__(self, args: tuple[Any, ...]) -> None:
        super().__init__(())
        self._to_save: tuple[Any, ...] = ()
        self._saved: list[SavedVariable | None] | None = []
        self._dirty: tuple[Tensor, ...] = ()
        self._plain: tuple[Tensor, ...] = ()
        self._materialize = True
        self._is_tensor = [isinstance(a, Tensor) for a in args]
        self.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs or outputs (only those, and only here) for backward."""
        self._to_save = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Forward modified these inputs in place."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """These outputs have no gradient."""
        self._plain = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward sees zeros (the default) or None for an output nobody used."""
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What save_for_backward kept.

        Raises:
            RuntimeError: freed by an earlier backward, or modified in place since.
        """
        check(self._saved is not None, SECOND_BACKWARD)
        return tuple(None if s is None else s.unpack(self) for s in self._saved or ())

    def apply(self, grads: Grads) -> Grads:
        """The user's backward, with its results checked."""
        seen: list[Any] = list(grads)
        if self._materialize:
            for i, (shape, dtype) in enumerate(self.input_metadata):
                if seen[i] is None:
                    seen[i] = wrap(np.zeros(shape, dtype))
        given = _as_list(self.function.backward(self, *seen))
        who, count = f"function {self.name()} returned", len(self._is_tensor)
        while len(given) > count and given[-1] is None:
            given.pop()
        if len(given) != count:
            raise RuntimeError(
                f"{who} an incorrect number of gradients (expected {count}, got {len(given)})"
            )
        for place, (grad, is_tensor) in enumerate(zip(given, self._is_tensor, strict=True)):
            if grad is not None and not isinstance(grad, Tensor):
                raise TypeError(
                    f"{who} a gradient of type {type(grad).__name__} at position {place}, but a "
                    "Tensor or None was expected"
                )
            if grad is not None and not is_tensor:
                raise RuntimeError(
                    f"{who} a gradient different from None at position {place + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
        return list(compress(given, self._is_tensor))

    def release_variables(self) -> None:
        if self._saved:
            self._saved = None

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
        metadata = []
        for number, out in enumerate(outputs):
            array = out.array if isinstance(out, Tensor) else np.empty((), "float32")
            metadata.append((array.shape, array.dtype))
            if not recording or not isinstance(out, Tensor) or array.dtype.kind not in "fc":
                continue
            if id(out) in dirty and id(out) not in plain:
                rebase_history(out, self)
            if id(out) in dirty or id(out) in plain:
                continue
            if id(out) in inputs:  # handed through: a tensor of its own, on the same memory
                outputs[number] = alias = wrap(out.array)
                alias._counter = out._counter
                out = alias  # noqa: PLW2901
            out._rg, out._node, out.output_nr = True, self, number
        self.input_metadata = tuple(metadata)
        self._saved = [
            None if t is None else SavedVariable(t, t._node is self) for t in self._to_save
        ]
        self._to_save = self._dirty = self._plain = ()


class Function:
    """Subclass with static `forward(ctx, *args)` (or `forward(*args)` and
    `setup_context(ctx, inputs, output)`) and `backward(ctx, *grads)`; call as `Sub.apply(*args)`.
    """

    _node: ClassVar[type[FunctionCtx]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._node = type(f"{cls.__name__}Backward", (FunctionCtx,), {"function": cls})

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The result, from the arguments."""
        raise NotImplementedError("You must implement the forward function for custom Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Fill ctx, where forward does not take it."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """One gradient (or None) per argument of forward."""
        raise NotImplementedError(_NO_BACKWARD)

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run forward outside autograd, and record backward."""
        if not active:
            return cls._apply(args)
        return during(begin(cls.__name__, RecordScope.FUNCTION, args), cls._apply, args)

    @classmethod
    def _apply(cls, args: tuple[Any, ...]) -> Any:
        ctx = cls._node(args)
        if cls.setup_context is Function.setup_context:
            output = without_grad(cls.forward, ctx, *args)
        else:
            output = without_grad(cls.forward, *args)
            without_grad(cls.setup_context, ctx, args, output)
        outputs = _as_list(output)
        ctx._finish(args, outputs)
        return tuple(outputs) if isinstance(output, (tuple, list)) else outputs[0]


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """For a backward that is not itself differentiable: its results say so when differentiated."""

    @functools.wraps(function)
    def call(ctx: Any, *grads: Any) -> Any:
        found = without_grad(function, ctx, *grads)
        if not is_grad_enabled() or not any(isinstance(g, Tensor) and g._rg for g in grads):
            return found
        outputs = _as_list(found)
        for i, out in enumerate(outputs):
            if isinstance(out, Tensor):
                outputs[i] = fresh = wrap(out.array)
                fresh._rg = True
                fresh._node = Error((), ((out.array.shape, out.array.dtype),))
        return tuple(outputs) if isinstance(found, (tuple, list)) else outputs[0]

    return call


class Error(Node):
    """Stands where a second derivative would be."""

    __slots__ = ()

    def apply(self, grads: Grads) -> Grads:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )
