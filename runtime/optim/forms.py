"""The forms in which an update runs: it is written once, with a tensor's methods (updates.py).

    Tensor        each method is an operator, which observers see
    TensorList    many tensors taken as one: each method is one `_foreach_` operator
    ArrayForm     a tensor's array, of 16 bits one in float32: for the `_fused_` operators, and
                  where nobody observes

All give the same numbers to the last bit, but for the `_foreach_` forms of `addcmul` and `addcdiv`,
which multiply in another order, as PyTorch's do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

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
            made = operator(self.tensors, *args, **kwargs)
            return self if in_place else TensorList(made, owned=True)

        return call

    def clone(self) -> TensorList:
        return TensorList(x.clone() for x in self.tensors)


class ArrayForm:
    """An array with those of a tensor's methods that Adam, SGD and Adagrad use.

    What `sqrt`, `neg`, `add` and `clone` give is a new array, which `div` overwrites.
    """

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def add(self, other: ArrayForm, *, alpha: float) -> ArrayForm:
        return ArrayForm(self.array + other.array * alpha)

    def add_(self, other: Any, *, alpha: float = 1) -> ArrayForm:
        more = other.array if isinstance(other, ArrayForm) else other
        self.array += more if alpha == 1 else more * alpha
        return self

    def mul_(self, factor: float) -> ArrayForm:
        self.array *= factor
        return self

    def div(self, divisor: float) -> ArrayForm:
        self.array /= divisor
        return self

    def lerp_(self, end: ArrayForm, weight: float) -> ArrayForm:
        change = end.array - self.array
        change *= weight
        self.array += change
        return self

    def addcmul_(self, one: ArrayForm, two: ArrayForm, *, value: float) -> ArrayForm:
        product = one.array * value
        product *= two.array
        self.array += product
        return self

    def addcdiv_(self, one: ArrayForm, two: ArrayForm, *, value: float) -> ArrayForm:
        quotient = one.array * value
        quotient /= two.array
        self.array += quotient
        return self

    def maximum_(self, other: ArrayForm) -> ArrayForm:
        np.maximum(self.array, other.array, out=self.array)
        return self

    def sqrt(self) -> ArrayForm:
        return ArrayForm(np.sqrt(self.array))

    def neg(self) -> ArrayForm:
        return ArrayForm(np.negative(self.array))

    def clone(self) -> ArrayForm:
        return ArrayForm(self.array.copy())

    def item(self) -> float:
        return float(self.array)


def each(function: Callable[[float], float], value: Any) -> Any:
    """`function` of the one number that a form holds; for a TensorList, the list of that."""
    if isinstance(value, TensorList):
        return [function(x.item()) for x in value.tensors]
    return function(value if value.__class__ is float else value.item())
