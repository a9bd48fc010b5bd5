"""Hooks, and the order they run in.

For one node: tensor pre-hooks (in the order they were registered, output by output), then
retain_grad's, then node pre-hooks, the node itself, and node post-hooks; for a leaf the node is
AccumulateGrad, and post-accumulate-grad hooks follow. What `grad()` captures it captures before all
of them, unless the node itself is not run: then after the tensor pre-hooks.
Source: torch/csrc/autograd/function_hook.h, torch/utils/hooks.py.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

Hook = Callable[..., Any]
Grads = list[Any]  # tensors, or None where there is no gradient; hooks know no Tensor
_ids = itertools.count()


def check(holds: bool, message: str, kind: type[Exception] = RuntimeError) -> None:
    if not holds:
        raise kind(message)


class HookDict(dict[int, Hook]):
    """Hooks by id, in order of registration. (A class, so that a handle can refer to it weakly.)"""

    __slots__ = ("__weakref__",)


class RemovableHandle:
    """Removes its hook by `remove()` (once; again does nothing), or at the end of a `with`."""

    def __init__(self, hooks: HookDict) -> None:
        self.id, self._hooks = next(_ids), weakref.ref(hooks)

    def remove(self) -> None:
        (self._hooks() or HookDict()).pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def register(hooks: HookDict, hook: Hook) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


class NodeHooks:
    """All hooks of one node (or of one leaf, which lends them to its AccumulateGrad)."""

    __slots__ = ("post", "pre", "retain", "tensor_pre")

    def __init__(self) -> None:
        self.tensor_pre: dict[int, HookDict] = {}  # by output number
        self.retain: dict[int, weakref.ref[Any]] = {}
        self.pre, self.post = HookDict(), HookDict()

    def call_tensor_pre(self, grads: Grads) -> Grads:
        """Tensor pre-hooks may replace their gradient; retain_grad only looks."""
        grads = list(grads)
        for index, hooks in self.tensor_pre.items():
            for hook in list(hooks.values()):
                grads[index] = call_single(hook, grads[index])
        for index, ref in self.retain.items():
            tensor, grad = ref(), grads[index]
            if tensor is not None and grad is not None:
                grad = grad if grad.is_sparse else grad.clone(memory_format="contiguous_format")
                tensor._grad = grad if tensor._grad is None else tensor._grad + grad
        return grads


def call_all(hooks: HookDict, grads: Grads, *seen: tuple[Any, ...]) -> Grads:
    """`hook(grads, *seen)` of each; what it gives back replaces `grads`."""
    for hook in list(hooks.values()):
        changed = hook(tuple(grads), *seen)
        if changed is not None:
            wrong = f"expected tuple, but hook returned {type(changed).__name__!r}"
            check(isinstance(changed, tuple), wrong, TypeError)
            who = f"hook {getattr(hook, '__name__', hook)!r} has returned an incorrect number of"
            wrong = f"{who} values (got {len(changed)}, but expected {len(grads)})"
            check(len(changed) == len(grads), wrong)
            for each in changed:
                wrong = f"expected Variable, but hook returned {type(each).__name__!r}"
                check(each is None or hasattr(each, "array"), wrong, TypeError)
            grads = list(changed)
    return grads


def call_single(hook: Hook, grad: Any) -> Any:
    """Call a tensor hook, which may only give None, or a tensor of the gradient's own shape and
    dtype.

    The gradient is None where the node runs and none came for this output.
    """
    replaced = hook(grad)
    if replaced is None:
        return grad
    check(grad is not None, "can't replace a None gradient with a non-None value")
    who, kind = f"hook {getattr(hook, '__name__', hook)!r}", type(replaced).__name__
    check(hasattr(replaced, "array"), f"expected Variable, but hook returned {kind!r}", TypeError)
    check(replaced.array.dtype == grad.array.dtype, f"{who} has changed the type of value")
    check(replaced.array.shape == grad.array.shape, f"{who} has changed the size of value")
    return replaced
