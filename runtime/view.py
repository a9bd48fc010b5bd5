"""Views, and what modifying one in place does to the graph.

A view remembers its base (never itself a view) and the operators that lead from one to the other.
An in-place operator on a view gives the *base* a new grad_fn, CopySlices: it takes the base's
gradient, lets the operator's own node work on the part that the view sees, and passes the rest on.
Every view of that base then has a stale grad_fn and, when next asked, replays its operators.

Source: torch/csrc/autograd/variable.cpp, functions/tensor.cpp (CopySlices), VariableTypeUtils.h.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .grad_mode import enable_grad
from .hooks import check
from .node import SECOND_BACKWARD, Grads, Node, thread
from .tensor import Tensor, gradient_edge, late_grad  # noqa: F401  (operators look for it here)

Step = tuple[Callable[..., Tensor], tuple[Any, ...]]

_LEAF = "a {}leaf Variable that requires grad is being used in an in-place operation."
_ONE_OF_SEVERAL = (
    "Output {} of {} is a view and is being modified inplace. This view is the output of a "
    "function that returns multiple views. Such functions do not allow the output views to be "
    "modified inplace. You should replace the inplace operation by an out-of-place one."
)
_MADE_IN_NO_GRAD = (
    "A view was created in no_grad mode and is being modified inplace with grad mode enabled. "
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the no_grad block (if you "
    "don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
)


class ViewInfo:
    """How a view came from its base."""

    __slots__ = ("base", "multi", "recorded", "steps", "version")

    def __init__(
        self, source: Tensor, call: Callable[..., Any], args: tuple[Any, ...], recorded: bool
    ) -> None:
        before = source._view
        step: Step = (call, args)
        self.base = source if before is None else before.base
        self.steps: tuple[Step, ...] = (step,) if before is None else (*before.steps, step)
        self.recorded = recorded and (before is None or before.recorded)  # while gradients were on
        self.multi: Node | None = None  # the node, if it is one of several views made at once
        self.version = source._counter[0] if source._counter else 0  # that its grad_fn is good for

    def replay(self, tensor: Tensor) -> Tensor:
        """The same view, of another tensor of the base's shape."""
        for call, args in self.steps:
            tensor = call(tensor, *args)
        return tensor

    def regenerate(self, view: Tensor) -> None:
        """Give the view a grad_fn that goes through its base's present one."""
        self.version = view._counter[0]
        if self.base._rg:
            with enable_grad():
                again = self.replay(self.base)
            _set_history(view, again._node, again.output_nr)


def _set_history(tensor: Tensor, node: Node | None, output_nr: int) -> None:
    if tensor._retains_grad and tensor._node is not None and node is not None:
        hooks = tensor._node.own_hooks().retain
        node.own_hooks().retain[output_nr] = hooks.pop(tensor.output_nr)
    tensor._rg = True
    tensor._node = node
    tensor.output_nr = output_nr


def check_inplace(tensor: Tensor, recording: bool) -> None:
    """Refuse an in-place operator that autograd could not follow.

    Raises:
        RuntimeError: a leaf that requires a gradient, a view of one, or a view it cannot follow.
    """
    view = tensor._view
    if not recording:
        return
    base = tensor if view is None else view.base
    if base._rg and base._node is None:
        raise RuntimeError(_LEAF.format("" if view is None else "view of a "))
    if view is not None:
        if view.multi is not None:
            raise RuntimeError(_ONE_OF_SEVERAL.format(tensor.output_nr, view.multi.name()))
        check(view.recorded, _MADE_IN_NO_GRAD)


def rebase_history(tensor: Tensor, node: Node) -> None:
    """`tensor` was modified in place: `node` is what made it now."""
    view = tensor._view
    if view is None:
        _set_history(tensor, node, 0)
    else:
        _set_history(view.base, CopySlices(view.base, view, node), 0)
        view.regenerate(tensor)


class CopySlices(Node):
    """The base's gradient, with an in-place operator's node applied to the part a view saw."""

    __slots__ = ("node", "view")
    node: Node | None

    def __init__(self, base: Tensor, view: ViewInfo, node: Node) -> None:
        edges = (gradient_edge(base), *node.next_edges[1:])
        super().__init__(edges, ((base.array.shape, base.array.dtype),))
        self.view, self.node = view, node

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    def apply(self, grads: Grads) -> Grads:
        """Gradients for the base as it was, and for the operator's other inputs."""
        grad = grads[0]
        if self.node is None:
            raise RuntimeError(SECOND_BACKWARD)
        if grad is None:
            return [None] * len(self.next_edges)
        result = grad.clone()
        part = self.view.replay(result)
        exec_info, thread.exec_info = thread.exec_info, None
        try:
            found = self.node.apply([part.clone()])
        finally:
            thread.exec_info = exec_info
        if found[0] is None:
            part.zero_()
        else:
            part.copy_(found[0])
        return [result, *found[1:]]

    def release_variables(self) -> None:
        """The operator's node frees what it saved, and goes."""
        if self.node is not None:
            self.node.release_variables()
            self.node = None
