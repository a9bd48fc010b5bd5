# mypy: disable-error-code="no-any-return"
"""The nodes of declared operators: they run the formulas of the edges that are wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..grad_mode import is_grad_enabled
from ..node import SECOND_BACKWARD, Edge, Grads, InputMetadata, Node, thread
from ..record_function import active
from ..saved_variable import SavedVariable
from ..tensor import Tensor, wrap

Formula = Callable[..., Any]
Plan = tuple[Formula, tuple[str, ...]]


class _Freed(dict[str, Any]):
    def __missing__(self, key: str) -> Any:
        raise RuntimeError(SECOND_BACKWARD)


FREED = _Freed()


class OpNode(Node):
    """The backward of a declared operator: runs the formulas of the edges that are wanted."""

    __slots__ = ("values",)
    plans: tuple[Plan | None, ...] = ()
    array_plans: tuple[Plan | None, ...] | None = None
    saves = True  # whether it keeps tensors, not only sizes and numbers

    def __init__(
        self,
        next_edges: tuple[Edge, ...],
        metadata: tuple[InputMetadata, ...],
        values: dict[str, Any],
    ) -> None:
        self.next_edges = next_edges
        self.input_metadata = metadata
        self.values = values
        self.hooks = None
        self.sequence_nr = thread.sequence_nr
        thread.sequence_nr += 1

    def apply(self, grads: Grads) -> Grads:
        """One formula per wanted edge."""
        grad = grads[0]
        if grad is None:
            return [None] * len(self.next_edges)
        if self.array_plans is not None and not active and not is_grad_enabled():
            return self._apply_arrays(grad)
        values = self.values
        exec_info = thread.exec_info
        found: Grads = []
        for (node, _), plan in zip(self.next_edges, self.plans):  # noqa: B905
            if node is None or plan is None or (exec_info is not None and node not in exec_info):
                found.append(None)
                continue
            formula, names = plan
            args = [values[name] for name in names]
            for place, value in enumerate(args):
                if value.__class__ is SavedVariable:
                    args[place] = value.unpack(self)
            found.append(formula(grad, *args))
        return found

    def _apply_arrays(self, grad: Tensor) -> Grads:
        """The same, on arrays: one tensor made per gradient, and none in between."""
        values, array = self.values, grad.array
        exec_info = thread.exec_info
        found: Grads = []
        for (node, _), plan in zip(self.next_edges, self.array_plans):  # type: ignore[arg-type]  # noqa: B905
            if node is None or plan is None or (exec_info is not None and node not in exec_info):
                found.append(None)
                continue
            formula, names = plan
            if names:
                args = [values[name] for name in names]
                for place, value in enumerate(args):
                    if value.__class__ is SavedVariable:
                        args[place] = value.unpack_array(self)
                result = formula(array, *args)
            else:
                result = formula(array)
            found.append(grad if result is array else wrap(result))
        return found

    def release_variables(self) -> None:
        """Free what was saved; a later use is an error."""
        if self.saves:
            self.values = FREED

    def unpacked(self, name: str) -> Any:
        """A saved value as the formulas see it."""
        value = self.values[name]
        return value.unpack(self) if isinstance(value, SavedVariable) else value

    def __getattr__(self, name: str) -> Any:
        """`_saved_other` and the like, as PyTorch shows them."""
        if name.startswith("_saved_") and (self.values is FREED or name[7:] in self.values):
            return self.unpacked(name[7:])
        raise AttributeError(f"{self.name()!r} has no attribute {name!r}")


class ListNode(OpNode):
    """The backward of an operator with several outputs (formulas get `grads`), or of one on a list
    of tensors (its one formula gives a list).
    """

    __slots__ = ()
    on_list = False
    several = False

    def apply(self, grads: Grads) -> Grads:
        """As OpNode's, for lists."""
        if all(g is None for g in grads):
            return [None] * len(self.next_edges)
        seen: Any = grads if self.several else grads[0]
        found: Grads = []
        for index, plan in enumerate(self.plans):
            if plan is None or not (self.on_list or self.task_should_compute_output(index)):
                found.append(None)
                continue
            formula, names = plan
            result = formula(seen, *[self.unpacked(name) for name in names])
            if self.on_list:
                return list(result)
            found.append(result)
        return found
