"""Nodes as the operators of a captured graph need them, which run again after backward is over."""

from __future__ import annotations

from typing import Any

from ..engine.node import Node
from ..engine.tensor import wrap
from ..ops.make.op_node import OpNode


def keep(node: Node) -> None:
    """Have a node keep what is saved in it, because a replay reads what is there by then.

    Backward frees nothing of it, and no version is checked: static inputs are written to.
    """
    if not isinstance(node, OpNode):
        return
    for name in node.tensors:
        setattr(node, f"s_{name}", _without_version(getattr(node, f"s_{name}")))
    vars(node)["release_variables"] = _nothing


def _without_version(saved: Any) -> Any:
    """A saved input or result; see op_node.py."""
    if saved.__class__ is not tuple:
        return saved
    if len(saved) == 2:  # an input, else a result
        return (wrap(saved[0].array), 0)
    return (saved[0], [0], 0)


def _nothing() -> None:
    pass
