"""The nodes of declared operators. Each operator has a class of its own; see generate.py.

What a node saves is in slots `s_name`, each holding

    (tensor, version)            an input, and the version it had
    (array, counter, version)    the operator's result, without its grad_fn, which would be a cycle
    a SavedVariable              either of those, where there are saved-tensor hooks
    FREED                        any of those, after a backward that did not retain the graph
    anything else                an attribute, as it was
"""

from __future__ import annotations

from typing import Any

from ...engine.node import SECOND_BACKWARD, Node
from ...engine.saved_variable import SavedVariable


class Freed:
    """Stands where a saved tensor was."""


FREED = Freed()


class OpNode(Node):
    """The backward of a declared operator."""

    __slots__ = ()
    tensors: tuple[str, ...] = ()  # the names of what is freed
    second: Any = None  # the class for PyTorch's second overload

    def __getattr__(self, name: str) -> Any:
        """`_saved_other` and the like, as PyTorch shows them."""
        slot = f"s_{name[7:]}"
        if name.startswith("_saved_") and slot in type(self).__slots__:
            value = getattr(self, slot)
            return unpack(value, self) if name[7:] in self.tensors else value
        raise AttributeError(f"{self.name()!r} has no attribute {name!r}")


def unpack(value: Any, node: Node) -> Any:
    """Return a saved tensor for a formula; RuntimeError if it was freed or modified in place."""
    if value.__class__ is tuple:
        value = _as_saved_variable(*value)
    if value.__class__ is SavedVariable:
        return value.unpack(node)
    if value is FREED:
        raise RuntimeError(SECOND_BACKWARD)
    return value


def unpack_array(value: Any, node: Node) -> Any:
    """Return a saved tensor as a formula on arrays sees it; errors as `unpack`'s."""
    found = unpack(value, node)
    return getattr(found, "array", found)


def _as_saved_variable(first: Any, second: Any, version: int | None = None) -> SavedVariable:
    saved = object.__new__(SavedVariable)
    is_input = version is None
    saved.packed, saved.is_output, saved.output_nr = None, not is_input, 0
    saved.variable, saved.array = (first, None) if is_input else (None, first)
    saved.counter, saved.version = (first._counter, second) if is_input else (second, version)
    return saved
