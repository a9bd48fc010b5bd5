"""Hooks, and the order they run in.

For one node: tensor pre-hooks (in the order they were registered, output by output), then
retain_grad's, then node pre-hooks, the node itself, and node post-hooks. What `grad()` captures it
captures before all of them, unless the node itself is not run: then after the tensor pre-hooks.
For a leaf the last step is `AccumulateGrad`, followed by post-accumulate-grad hooks.

Source: torch/csrc/autograd/function_hook.h, torch/utils/hooks.py.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .node import Grads
    from .tensor import Tensor

Hook = Callable[..., Any]
_ids = itertools.count()


def check(holds: bool, message: str, kind: type[Exception] = RuntimeError) -> None:
    """Raise `kind(message)` unless it holds."""
    if not holds:
        raise kind(message)


class HookDict(dict[int, Hook]):
    """Hooks by id, in order of registration. (A class, so that a handle can refer to it weakly.)"""

    __slots__ = ("__weakref__",)


class RemovableHandle:
    """Removes its hook by `remove()` (once; again does nothing), or at the end of a `with`."""

    def __init__(self, hooks: HookDict) -> None:
        self.id = next(_ids)
        self._hooks = weakref.ref(hooks)

    def remove(self) -> None:
        (self._hooks() or {}).pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def register(hooks: HookDict, hook: Hook) -> RemovableHandle:
    """Add `hook` behind the others."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


class NodeHooks:
    """All hooks of one node (or of one leaf, which lends them to its AccumulateGrad)."""

    __slots__ = ("post", "pre", "retain", "tensor_pre")

    def __init__(self) -> None:
        self.tensor_pre: dict[int, HookDict] = {}  # by output number
        self.retain: dict[int, weakref.ref[Tensor]] = {}
        self.pre = HookDict()
        self.post = HookDict()

    def call_tensor_pre(self, grads: Grads) -> Grads:
        """Tensor pre-hooks may replace their gradient; retain_grad only looks."""
        grads = list(grads)
        for index, hooks in self.tensor_pre.items():
            for hook in list(hooks.values()):
                grad = grads[index]
                if grad is None:
                    break
                changed = hook(grad)
                if changed is not None:
                    grads[index] = _like(grad, changed, hook)
        for index, ref in self.retain.items():
            tensor, grad = ref(), grads[index]
            if tensor is not None and grad is not None:
                tensor._grad = grad if tensor._grad is None else tensor._grad + grad
        return grads


def call_all(hooks: HookDict, grads: Grads, *seen: tuple[Tensor | None, ...]) -> Grads:
    """`hook(grads, *seen)` of each; what it gives back replaces `grads`."""
    for hook in list(hooks.values()):
        changed = hook(tuple(grads), *seen)
        if changed is not None:
            found = list(changed) if isinstance(changed, (tuple, list)) else [changed]
            check(
                len(found) == len(grads),
                f"hook '{_name(hook)}' has returned an incorrect number of values "
                f"(got {len(found)}, but expected {len(grads)})",
            )
            grads = found
    return grads


def _name(hook: Hook) -> str:
    return str(getattr(hook, "__name__", repr(hook)))


def _like(before: Tensor, after: Any, hook: Hook) -> Tensor:
    """A tensor hook may only give a tensor of the gradient's own shape and dtype."""
    who, kind = f"hook '{_name(hook)}'", type(after).__name__
    check(hasattr(after, "array"), f"{who} must give a Tensor or None, not {kind}", TypeError)
    dtype = after.array.dtype
    if dtype != before.array.dtype:  # (to write a dtype takes long)
        changed = f"the type of value (was {before.dtype} got {dtype})"
        raise RuntimeError(f"{who} has changed {changed}")
    check(after.array.shape == before.array.shape, f"{who} has changed the size of value")
    return after  # type: ignore[no-any-return]
