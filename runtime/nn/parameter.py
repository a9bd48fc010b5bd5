"""Parameter: a tensor that a Module counts as its own."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor, wrap


class Parameter(Tensor):
    """A leaf on the memory of `data`; assigned to a Module it is one of its parameters."""

    __slots__ = ()

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        super().__init__([] if data is None else data.detach(), requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (wrap(self.array), self._rg)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        memo[id(self)] = made = type(self)(wrap(self.array.copy()), self._rg)
        return made
