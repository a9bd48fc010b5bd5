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

    Exp.apply(x)

`ctx` is the node itself, so what is put on it lives as long as the graph.

Source: torch/autograd/function.py, torch/csrc/autograd/python_function.cpp.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from .grad_mode import _grad, is_grad_enabled
from .node import NO_EDGE, SECOND_BACKWARD, Grads, Node
from .record_function import RecordScope, active, begin, end
from .saved_variable import SavedVariable
from .tensor import Tensor, bump_version, gradient_edge, wrap
from .view import check_inplace, rebase_history


class FunctionCtx(Node):
    """The node of one call of a Function, and what its forward and backward share."""

    __slots__ = ()
    function: ClassVar[type[Function]]
    needs: tuple[bool, ...]

    def __init__(self) -> None:
        super().__init__(())
        self._to_save: tuple[Any, ...] = ()
        self._saved: list[SavedVariable | None] | None = []
        self._dirty: tuple[Tensor, ...] = ()
        self._plain: tuple[Tensor, ...] = ()
        self._materialize = True
        self._count = 0  # of forward's arguments
        self._places: list[int] = []  # of the tensors among them

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
    def needs_input_grad(self) -> tuple[bool, ...]:
        """For each argument of forward, whether it is a tensor that requires a gradient."""
        return self.needs

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What save_for_backward kept.

        Raises:
            RuntimeError: freed by an earlier backward, or modified in place since.
        """
        if self._saved is None:
            raise RuntimeError(SECOND_BACKWARD)
        return tuple(None if s is None else s.unpack(self) for s in self._saved)

    def apply(self, grads: Grads) -> Grads:
        """The user's backward, with its results checked."""
        seen: list[Any] = list(grads)
        if self._materialize:
            for i, (shape, dtype) in enumerate(self.input_metadata):
                if seen[i] is None:
                    seen[i] = wrap(np.zeros(shape, dtype))
        found = self.function.backward(self, *seen)
        given = list(found) if isinstance(found, (tuple, list)) else [found]
        name = self.name()
        while len(given) > self._count and given[-1] is None:
            given.pop()
        if len(given) != self._count:
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients "
                f"(expected {self._count}, got {len(given)})"
            )
        for place, grad in enumerate(given):
            if grad is None:
                continue
            if not isinstance(grad, Tensor):
                raise TypeError(
                    f"function {name} returned a gradient of type {type(grad).__name__} at "
                    f"position {place}, but a Tensor or None was expected"
                )
            if place not in self._places:
                raise RuntimeError(
                    f"function {name} returned a gradient different from None at position "
                    f"{place + 1}, but the corresponding forward input was not a Variable"
                )
        return [given[place] for place in self._places]

    def release_variables(self) -> None:
        """Free what was saved."""
        if self._saved:
            self._saved = None

    def _finish(  # noqa: PLR0912
        self, args: tuple[Any, ...], outputs: list[Any], recording: bool
    ) -> None:
        """Tie the outputs to the node, and keep what was to be saved."""
        dirty = {id(t) for t in self._dirty}
        plain = {id(t) for t in self._plain}
        inputs = {id(a) for a in args if isinstance(a, Tensor)}
        for tensor in self._dirty:
            check_inplace(tensor, recording)
        if recording:
            self.next_edges = tuple(
                gradient_edge(args[i]) if self.needs[i] else NO_EDGE for i in self._places
            )
        for tensor in self._dirty:
            bump_version(tensor)
        saved = [id(t) for t in self._to_save]
        before = list(outputs)
        metadata = []
        for number, out in enumerate(outputs):
            if not isinstance(out, Tensor):
                metadata.append(((), np.dtype("float32")))
                continue
            metadata.append((out.array.shape, out.array.dtype))
            if not recording or id(out) in plain or out.array.dtype.kind not in "fc":
                continue
            if id(out) in dirty:
                rebase_history(out, self)
            else:
                if id(out) in inputs:  # handed through: a tensor of its own, on the same memory
                    alias = wrap(out.array)
                    alias._counter = out._counter
                    outputs[number] = out = alias  # noqa: PLW2901
                out._rg, out._node, out.output_nr = True, self, number
        self.input_metadata = tuple(metadata)
        made = {id(b): o for b, o in zip(before, outputs, strict=True) if isinstance(o, Tensor)}
        self._saved = []
        for place, key in enumerate(saved):
            tensor = self._to_save[place]
            if tensor is None or not recording:
                self._saved.append(None if tensor is None else SavedVariable(tensor))
            elif key in made and (key not in inputs or key in dirty):
                self._saved.append(SavedVariable(made[key], made[key]._node is self))
            else:
                self._saved.append(SavedVariable(tensor))
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
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom Function to use "
            "it with backward mode AD."
        )

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run forward outside autograd, and record backward."""
        if not active:
            return cls._apply(args)
        running = begin(cls.__name__, RecordScope.FUNCTION, args)
        try:
            return cls._apply(args)
        finally:
            end(running)

    @classmethod
    def _apply(cls, args: tuple[Any, ...]) -> Any:
        ctx = cls._node()
        recording = is_grad_enabled()
        ctx.needs = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        ctx._count = len(args)
        ctx._places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        recording = recording and any(ctx.needs)
        token = _grad.set(False)
        try:
            if cls.setup_context is Function.setup_context:
                output = cls.forward(ctx, *args)
            else:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
        finally:
            _grad.reset(token)
        outputs = list(output) if isinstance(output, (tuple, list)) else [output]
        ctx._finish(args, outputs, recording)
        return tuple(outputs) if isinstance(output, (tuple, list)) else outputs[0]


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """For a backward that is not itself differentiable: its results say so when differentiated."""

    @functools.wraps(function)
    def call(ctx: Any, *grads: Any) -> Any:
        token = _grad.set(False)
        try:
            found = function(ctx, *grads)
        finally:
            _grad.reset(token)
        if not is_grad_enabled() or not any(isinstance(g, Tensor) and g._rg for g in grads):
            return found
        outputs = list(found) if isinstance(found, (tuple, list)) else [found]
        for i, out in enumerate(outputs):
            if isinstance(out, Tensor):
                outputs[i] = fresh = wrap(out.array)
                fresh._rg, fresh._node = True, _NotTwice(fresh)
        return tuple(outputs) if isinstance(found, (tuple, list)) else outputs[0]

    return call


class _NotTwice(Node):
    """Stands where a second derivative would be."""

    __slots__ = ()

    def __init__(self, tensor: Tensor) -> None:
        super().__init__((), ((tensor.array.shape, tensor.array.dtype),))

    def name(self) -> str:
        return "Error"

    def apply(self, grads: Grads) -> Grads:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )
