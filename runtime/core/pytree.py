"""Dicts, lists and tuples with values in them: their values, and the same with other values.

What is in no container is a leaf, None too. Source: torch/utils/_pytree.py.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import copy
from typing import Any

_Build = Callable[[list[Any]], Any]


def _parts(tree: Any) -> tuple[list[Any], _Build] | None:
    """What is in a container, and how one alike is made of other parts; None for a leaf."""
    kind = type(tree)
    if kind in (tuple, list):
        return [*tree], kind
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return [*tree], lambda parts: kind(*parts)
    if kind not in (dict, OrderedDict, defaultdict):
        return None

    def build(parts: list[Any]) -> Any:
        made = copy(tree)
        made.update(zip(tree, parts, strict=True))
        return made

    return [*tree.values()], build


def tree_map(func: Callable[[Any], Any], tree: Any) -> Any:
    """Return the same containers, with `func` of each value."""
    found = _parts(tree)
    if found is None:
        return func(tree)
    parts, build = found
    return build([tree_map(func, each) for each in parts])


def tree_leaves(tree: Any) -> list[Any]:
    """Return the values in the order in which they stand."""
    found = _parts(tree)
    return [tree] if found is None else [x for part in found[0] for x in tree_leaves(part)]


def tree_like(tree: Any, leaves: Iterable[Any]) -> Any:
    """Return the same containers with other values, as many as `tree_leaves` gives."""
    rest = iter(leaves)
    return tree_map(lambda _: next(rest), tree)


def broadcast_prefix(prefix: Any, tree: Any) -> list[Any] | None:
    """Return the prefix's value for each leaf of the tree; None if it does not fit.

    A value of the prefix holds for all that stands in the tree at its place.
    """
    outer, inner = _parts(prefix), _parts(tree)
    if outer is None:
        return [prefix] * len(tree_leaves(tree))
    if inner is None or type(prefix) is not type(tree) or len(inner[0]) != len(outer[0]):
        return None
    found = [broadcast_prefix(*each) for each in zip(outer[0], inner[0], strict=True)]
    return None if None in found else [x for part in found for x in part or ()]
