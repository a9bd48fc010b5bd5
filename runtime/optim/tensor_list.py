"""Tensors taken as one: what an update written for a tensor does to many of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops.foreach import OPERATORS


class TensorList:
    """Tensors with a tensor's methods, each of them one `_foreach_` operator on all.

    An `owned` list, which an operator made, is overwritten by the next one rather than copied.
    """

    def __init__(self, tensors: Any, owned: bool = False) -> None:
        self.tensors, self.owned = list(tensors), owned

    def __getattr__(self, name: str) -> Callable[..., TensorList]:
        in_place = self.owned or name.endswith("_")
        operator = OPERATORS[f"_foreach_{name.rstrip('_')}{'_' * in_place}"]

        def call(*args: Any, **kwargs: Any) -> TensorList:
            args = tuple(x.tensors if isinstance(x, TensorList) else x for x in args)
            found = operator(self.tensors, *args, **kwargs)
            return self if in_place else TensorList(found, owned=True)

        return call

    def clone(self) -> TensorList:
        return TensorList(x.clone() for x in self.tensors)


def each(function: Callable[[Any], Any], value: Any) -> Any:
    """`function` of a tensor's one number; for a TensorList, the list of that."""
    many = isinstance(value, TensorList)
    return [function(x.item()) for x in value.tensors] if many else function(value.item())
