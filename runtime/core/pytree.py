"""Dicts, lists and tuples with values in them, taken apart and put together again.

What is in no container is a leaf, None too. Source: torch/utils/_pytree.py.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

_Parts = tuple[list[Any], Any]


def _items(x: dict[Any, Any]) -> _Parts:
    return [*x.values()], [*x]


_makers: dict[type, tuple[Callable[[Any], _Parts], Callable[[Any, Any], Any]]] = {
    tuple: (lambda x: ([*x], None), lambda values, _: tuple(values)),
    list: (lambda x: ([*x], None), lambda values, _: [*values]),
    deque: (lambda x: ([*x], x.maxlen), deque),
    dict: (_items, lambda values, keys: dict(zip(keys, values, strict=True))),
    OrderedDict: (_items, lambda values, keys: OrderedDict(zip(keys, values, strict=True))),
    defaultdict: (
        lambda x: ([*x.values()], (x.default_factory, [*x])),
        lambda values, how: defaultdict(how[0], zip(how[1], values, strict=True)),
    ),
}


class TreeSpec(NamedTuple):
    """How a container is built: its kind, what is no value in it, and its parts."""

    type: Any
    context: Any
    children_specs: tuple[TreeSpec, ...]

    @property
    def num_leaves(self) -> int:
        return 1 if self.is_leaf() else sum(each.num_leaves for each in self.children_specs)

    def is_leaf(self) -> bool:
        return self.type is None


_LEAF = TreeSpec(None, None, ())


def _parts(tree: Any) -> tuple[Any, list[Any], Any] | None:
    kind = type(tree)
    if kind in _makers:
        return kind, *_makers[kind][0](tree)
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return kind, [*tree], None
    return None


def tree_flatten(tree: Any, is_leaf: Any = None) -> tuple[list[Any], TreeSpec]:
    """The values in the order in which they stand, and how to put such together again."""
    parts = None if is_leaf is not None and is_leaf(tree) else _parts(tree)
    if parts is None:
        return [tree], _LEAF
    leaves, specs = list[Any](), list[TreeSpec]()
    for each in parts[1]:
        inner, spec = tree_flatten(each, is_leaf)
        leaves += inner
        specs.append(spec)
    return leaves, TreeSpec(parts[0], parts[2], tuple(specs))


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """Containers as `treespec` says, with these values.

    Raises:
        ValueError: too few or too many of them.
    """
    values = [*leaves]
    if len(values) != treespec.num_leaves:
        wanted = f"{treespec.num_leaves} leaves are wanted, not {len(values)}"
        raise ValueError(f"tree_unflatten: {wanted}")
    return _built(iter(values), treespec)


def _built(values: Any, spec: TreeSpec) -> Any:
    if spec.is_leaf():
        return next(values)
    parts = [_built(values, each) for each in spec.children_specs]
    if spec.type in _makers:
        return _makers[spec.type][1](parts, spec.context)
    return spec.type(*parts)


def tree_leaves(tree: Any, is_leaf: Any = None) -> list[Any]:
    return tree_flatten(tree, is_leaf)[0]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """The same containers, with `func` of each value; of several trees, of those that match."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_leaves(each, is_leaf) for each in rests]
    return tree_unflatten([func(*each) for each in zip(leaves, *others, strict=True)], spec)


def broadcast_prefix(prefix: Any, tree: Any) -> list[Any] | None:
    """The prefix's value for each leaf of the tree; None where it does not fit.

    A value of the prefix holds for all that stands in the tree at its place.
    """
    outer = _parts(prefix)
    if outer is None:
        return [prefix] * len(tree_leaves(tree))
    inner = _parts(tree)
    if inner is None or inner[0] is not outer[0] or len(inner[1]) != len(outer[1]):
        return None
    found = [broadcast_prefix(*each) for each in zip(outer[1], inner[1], strict=True)]
    return None if None in found else [x for part in found for x in part or ()]
