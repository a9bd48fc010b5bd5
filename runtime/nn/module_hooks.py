"""What runs around a module's forward, and around its part of a backward.

Source: torch/nn/modules/module.py, torch/utils/hooks.py.
"""

from __future__ import annotations

import warnings
from typing import Any

from ..engine.function import Function
from ..engine.grad_mode import is_grad_enabled
from ..engine.hooks import Hook, HookDict, RemovableHandle, check, register
from ..engine.tensor import Tensor

Grads = tuple[Any, ...]


class ModuleHooks:
    """The hooks of one module by their kind, each in the order they are called in."""

    def __init__(self) -> None:
        self.forward_pre, self.forward = HookDict(), HookDict()
        self.backward_pre, self.backward = HookDict(), HookDict()
        self.state_dict_pre, self.state_dict = HookDict(), HookDict()
        self.load_pre, self.load_post = HookDict(), HookDict()
        self.with_kwargs: set[int] = set()

    def add(self, kind: str, hook: Hook, prepend: bool, with_kwargs: bool) -> RemovableHandle:
        hooks: HookDict = getattr(self, kind)
        others = list(hooks) if prepend else []
        handle = register(hooks, hook)
        if with_kwargs:
            self.with_kwargs.add(handle.id)
        for key in others:
            hooks[key] = hooks.pop(key)
        return handle

    def call(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the module's forward, between the hooks."""
        for key, hook in tuple(self.forward_pre.items()):
            if key in self.with_kwargs:
                found = hook(module, args, kwargs)
                pair = found is None or (isinstance(found, tuple) and len(found) == 2)
                check(pair, f"a forward pre-hook must return None or (args, kwargs), not {found}")
                args, kwargs = found or (args, kwargs)
            elif (found := hook(module, args)) is not None:
                args = found if isinstance(found, tuple) else (found,)
        watched = self.backward or self.backward_pre
        backward = _BackwardHooks(self, module, args) if watched else None
        if backward:
            args = _Border.apply(backward.on_inputs, *args)
        out = module.forward(*args, **kwargs)
        for key, hook in tuple(self.forward.items()):
            found = hook(module, args, *((kwargs, out) if key in self.with_kwargs else (out,)))
            out = out if found is None else found
        if backward and isinstance(out, tuple):
            made = _Border.apply(backward.on_outputs, *out)
            return type(out)(*made) if hasattr(out, "_fields") else made
        if backward and isinstance(out, Tensor):
            return _Border.apply(backward.on_outputs, out)[0]
        if backward:
            warnings.warn(f"backward hooks need Tensors as outputs, not {type(out)}", stacklevel=3)
        return out


class _Border(Function):
    """The identity, where a backward enters or leaves a module: `run` sees the gradients."""

    @staticmethod
    def forward(ctx: Any, run: Any, *values: Any) -> Any:
        ctx.run = run
        ctx.set_materialize_grads(False)
        tensors = [x for x in values if isinstance(x, Tensor)]
        ctx.mark_non_differentiable(*[x for x in tensors if not x.requires_grad])
        return values

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, *ctx.run(grads)


class _BackwardHooks:
    """The backward hooks of one call. The pre-hooks run when the gradients of the outputs have
    come; the others when those of the inputs have too, or at once if no input needs one.
    """

    grad_outputs: Grads | None = None

    def __init__(self, hooks: ModuleHooks, module: Any, args: tuple[Any, ...]) -> None:
        self.pre, self.post = tuple(hooks.backward_pre.values()), tuple(hooks.backward.values())
        self.module, self.count = module, len(args)
        needs = any(isinstance(x, Tensor) and x.requires_grad for x in args)
        self.inputs_need = needs and is_grad_enabled()

    def on_outputs(self, grads: Grads) -> Grads:
        for hook in self.pre:
            grads = _changed(hook(self.module, grads), grads)
        self.grad_outputs = grads
        if not self.inputs_need:
            self.on_inputs((None,) * self.count)
        return grads

    def on_inputs(self, grads: Grads) -> Grads:
        if self.grad_outputs is None:
            return grads  # they came past the outputs
        for hook in self.post:
            grads = _changed(hook(self.module, grads, self.grad_outputs), grads)
            none = self.inputs_need or all(x is None for x in grads)
            check(none, "where no input requires gradient, a backward hook should return None")
        self.grad_outputs = None
        return grads


def _changed(found: Any, grads: Grads) -> Grads:
    found = grads if found is None else found if isinstance(found, tuple) else (found,)
    fits = len(found) == len(grads)
    check(fits, f"a backward hook returned {len(found)} gradients, but expected {len(grads)}")
    return found
