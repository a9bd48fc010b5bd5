"""The nodes of declared operators. Each operator has a class of its own; see generate.py."""

from __future__ import annotations

from typing import Any

from ..node import SECOND_BACKWARD, Node
from ..saved_variable import SavedVariable


class Freed:
    """Stands where a saved tensor was, after a backward that did not retain the graph."""


FREED = Freed()


class OpNode(Node):
    """Saved values are in slots `s_name`: SavedVariables, or attributes as they were."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        """`_saved_other` and the like, as PyTorch shows them."""
        slot = f"s_{name[7:]}"
        if name.startswith("_saved_") and slot in type(self).__slots__:
            return unpack(getattr(self, slot), self)
        raise AttributeError(f"{self.name()!r} has no attribute {name!r}")


def unpack(value: Any, node: Node) -> Any:
    """A saved value as a formula on tensors sees it.

    Raises:
        RuntimeError: it was freed, or modified in place.
    """
    if value.__class__ is SavedVariable:
        return value.unpack(node)
    if value is FREED:
        raise RuntimeError(SECOND_BACKWARD)
    return value


def unpack_array(value: Any, node: Node) -> Any:
    """A saved value as a formula on arrays sees it; errors as `unpack`'s."""
    if value.__class__ is SavedVariable:
        return value.unpack_array(node)
    if value is FREED:
        raise RuntimeError(SECOND_BACKWARD)
    return value
