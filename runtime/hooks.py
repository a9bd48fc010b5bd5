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
    from .tensor import Tensor

Hook = Callable[..., Any]
_ids = itertools.count()


class HookDict(dict[int, Hook]):
    """Hooks by id, in order of registration. (A class, so that a handle can refer to it weakly.)"""

    __slots__ = ("__weakref__",)


class RemovableHandle:
    """Removes its hook by `remove()`, or at the end of a `with`."""

    def __init__(self, hooks: HookDict) -> None:
        self.id = next(_ids)
        self._hooks = weakref.ref(hooks)

    def remove(self) -> None:
        """Remove the hook; a second time does nothing."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

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

    def call_tensor_pre(self, grads: list[Tensor | None]) -> list[Tensor | None]:
        """Tensor pre-hooks may replace their gradient; retain_grad only looks."""
        grads = list(grads)
        for index, hooks in self.tensor_pre.items():
            for hook in list(hooks.values()):
                grad = grads[index]
                if grad is None:
                    break
                changed = hook(grad)
                if changed is not None:
                    grads[index] = check_hook_result(hook, grad, changed)
        for index, ref in self.retain.items():
            tensor, grad = ref(), grads[index]
            if tensor is not None and grad is not None:
                if tensor._grad is None:
                    tensor._grad = grad
                else:
                    tensor._grad = tensor._grad + grad
        return grads

    def call_pre(self, grads: list[Tensor | None]) -> list[Tensor | None]:
        """Node pre-hooks see and may replace the tuple of gradients."""
        for hook in list(self.pre.values()):
            changed = hook(tuple(grads))
            if changed is not None:
                grads = as_grads(changed, len(grads), hook)
        return grads

    def call_post(
        self, outputs: list[Tensor | None], inputs: list[Tensor | None]
    ) -> list[Tensor | None]:
        """Node post-hooks see (what the node gave, what it got) and may replace the first."""
        for hook in list(self.post.values()):
            changed = hook(tuple(outputs), tuple(inputs))
            if changed is not None:
                outputs = as_grads(changed, len(outputs), hook)
        return outputs


def as_grads(changed: Any, count: int, hook: Hook) -> list[Tensor | None]:
    """What a node hook gave back, as a list of the right length."""
    found = list(changed) if isinstance(changed, (tuple, list)) else [changed]
    if len(found) != count:
        name = getattr(hook, "__name__", repr(hook))
        raise RuntimeError(
            f"hook '{name}' has returned an incorrect number of values "
            f"(got {len(found)}, but expected {count})"
        )
    return found


def check_hook_result(hook: Hook, before: Tensor, after: Any) -> Tensor:
    """A tensor hook may only give a tensor of the gradient's own shape and dtype."""
    name = getattr(hook, "__name__", repr(hook))
    if not hasattr(after, "array"):
        raise TypeError(f"hook '{name}' must give a Tensor or None, not {type(after).__name__}")
    if after.array.dtype != before.array.dtype:
        raise RuntimeError(
            f"hook '{name}' has changed the type of value "
            f"(was {before.dtype} got {after.array.dtype})"
        )
    if after.array.shape != before.array.shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value")
    found: Tensor = after
    return found
