"""torch.autograd.graph's names. Source: torch/autograd/graph.py."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..core.thread_state import thread
from ..engine.graph_task import GraphTask
from ..engine.hooks import RemovableHandle, check
from ..engine.node import GradientEdge, Node
from ..engine.saved_variable import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from ..engine.tensor import Tensor, gradient_edge

__all__ = ["GradientEdge", "GraphTask", "Node", "disable_saved_tensors_hooks"]
__all__ += ["get_gradient_edge", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks"]


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the edge along which the gradient flows; RuntimeError if there is none."""
    node, number = gradient_edge(tensor)
    told = "It is not possible to get the gradient edge of a Tensor that does not require gradients"
    check(node is not None, told)
    return GradientEdge(node, number)  # type: ignore[arg-type]


class _Handles(RemovableHandle):
    """Removes all hooks of several tensors."""

    def __init__(self, handles: Sequence[Any]) -> None:
        self._handles = handles

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all"
) -> _Handles:
    """Call `fn` once in each backward, with the gradients, None for those that do not come.

    With `mode="any"` it gets the first that comes alone.
    """
    told = f"Expects mode to be one of ('all', 'any') but got {mode}"
    check(mode in ("all", "any"), told, ValueError)
    nodes = [get_gradient_edge(tensor).node for tensor in tensors]
    running: weakref.WeakKeyDictionary[GraphTask, list[Any]] = weakref.WeakKeyDictionary()

    def came(place: int, grad: Any) -> None:
        task = thread.task
        if task not in running:
            left = sum(task.will_run(node) for node in nodes) if mode == "all" else 1
            running[task] = [left, [None] * len(nodes)]
        found = running[task]
        found[0] -= 1
        found[1][place] = grad
        if found[0] == 0:
            if mode == "all":
                del running[task]  # what comes now, of a root, begins anew
            fn(found[1] if mode == "all" else grad)

    return _Handles([t.register_hook(functools.partial(came, n)) for n, t in enumerate(tensors)])
