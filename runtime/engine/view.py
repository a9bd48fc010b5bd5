"""Views, and what modifying one in place does to the graph.

A view remembers its base (never itself a view) and the operators that lead from one to the other.
An in-place operator on a view gives the *base* a new grad_fn, CopySlices: it takes the base's
gradient, lets the operator's own node work on the part that the view sees, and passes the rest on.
Every view of that base then has a stale grad_fn and, when next asked, replays its operators.
Source: torch/csrc/autograd/variable.cpp, functions/tensor.cpp (CopySlices), VariableTypeUtils.h.
"""

from __future__ import annotations

from typing import Any

from ..core.thread_state import thread
from .grad_mode import enable_grad
from .hooks import check
from .node import SECOND_BACKWARD, Grads, Node
from .tensor import Tensor, gradient_edge, late_grad  # noqa: F401  (operators look for it here)

_SEVERAL = (
    "Output {} of {} is a view and is being modified inplace. It is one of several; clone it."
)
_NO_GRAD = (
    "A view was created in no_grad mode and is being modified inplace outside; do both there."
)


class ViewInfo:
    __slots__ = ("base", "multi", "recorded", "steps", "version")

    def __init__(self, source: Tensor, call: Any, args: tuple[Any, ...], recorded: bool) -> None:
        before = source._view
        self.base: Tensor = source if before is None else before.base
        self.steps: tuple[Any, ...] = (*(before.steps if before else ()), (call, args))
        self.recorded: bool = recorded and (before is None or before.recorded)  # with gradients on
        self.multi: Node | None = None  # the node, if it is one of several views made at once
        self.version = source._counter[0] if source._counter else 0  # that its grad_fn is good for

    def regenerate(self, view: Tensor) -> None:
        """Give the view a grad_fn that goes through its base's present one."""
        self.version = view._counter[0]
        if self.base._rg:
            with enable_grad():
                again = replay(self.steps, self.base)
            _set_history(view, again._node, again.output_nr)


def replay(steps: tuple[Any, ...], tensor: Tensor) -> Tensor:
    """Return the view that these operators make, of another tensor of the base's shape."""
    for call, args in steps:
        tensor = call(tensor, *args)
    return tensor


def _set_history(tensor: Tensor, node: Node | None, output_nr: int) -> None:
    if tensor._retains_grad and tensor._node is not None and node is not None:
        hooks = tensor._node.own_hooks().retain
        node.own_hooks().retain[output_nr] = hooks.pop(tensor.output_nr)
    tensor._rg, tensor._node, tensor.output_nr = True, node, output_nr


def check_inplace(tensor: Tensor, recording: bool) -> None:
    """Refuse to modify a leaf that requires a gradient, or a view that autograd cannot follow."""
    if not recording:
        return
    view = tensor._view
    what, base = ("a", tensor) if view is None else ("a view of a", view.base)
    if base._node is None and (base._rg or tensor._rg):
        operation = "is being used in an in-place operation."
        raise RuntimeError(f"{what} leaf Variable that requires grad {operation}")
    if view is not None and view.multi is not None:
        raise RuntimeError(_SEVERAL.format(tensor.output_nr, view.multi.name()))
    check(view is None or view.recorded, _NO_GRAD)


def rebase_history(tensor: Tensor, node: Node) -> None:
    """`tensor` was modified in place: `node` is what made it now."""
    view = tensor._view
    if view is None:
        _set_history(tensor, node, 0)
    else:
        _set_history(view.base, CopySlices(view.base, view, node), 0)
        view.regenerate(tensor)


class CopySlices(Node):
    """The base's gradient, with an in-place operator's node applied to the part a view saw.

    It keeps how the view was made and not the base, which keeps this node.
    """

    __slots__ = ("node", "steps")
    node: Node | None

    def __init__(self, base: Tensor, view: ViewInfo, node: Node) -> None:
        edges = (gradient_edge(base), *node.next_edges[1:])
        super().__init__(edges, ((base.array.shape, base.array.dtype),))
        self.steps, self.node = view.steps, node

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    def apply(self, grads: Grads) -> Grads:
        """Gradients for the base as it was, and for the operator's other inputs."""
        if self.node is None:
            raise RuntimeError(SECOND_BACKWARD)
        if grads[0] is None:
            return [None] * len(self.next_edges)
        result = grads[0].clone()
        part = replay(self.steps, result)
        exec_info, thread.exec_info = thread.exec_info, None
        try:
            first, *others = self.node.apply([part.clone()])
        finally:
            thread.exec_info = exec_info
        part.zero_() if first is None else part.copy_(first)
        return [result, *others]

    def release_variables(self) -> None:
        if self.node is not None:
            self.node.release_variables()
            self.node = None
