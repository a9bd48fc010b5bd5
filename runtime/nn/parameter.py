"""Tensors that a module learns. Source: torch/nn/parameter.py."""

from __future__ import annotations

from typing import Any

from ..core.aten import aten
from ..core.storage import storages
from ..engine.hooks import check
from ..engine.tensor import Tensor, wrap


class Parameter(Tensor):
    """A leaf on the memory of `data`; assigned to a Module it is one of its parameters."""

    __slots__ = ()

    def __new__(cls, data: Any = None, requires_grad: bool = True, **_: Any) -> Any:
        """Made here only for a subclass with a `__new__` of its own, which calls this one."""
        made = object.__new__(cls)
        if cls.__new__ is not Parameter.__new__:
            made._fill(data, requires_grad)
        return made

    def __init__(self, data: Any = None, requires_grad: bool = True, **others: Any) -> None:
        if type(self).__new__ is Parameter.__new__:
            check(not others, f"Parameter() got unexpected arguments: {[*others]}", TypeError)
            self._fill(data, requires_grad)

    def _fill(self, data: Any, requires_grad: bool) -> None:
        data = aten.empty(0) if data is None else data
        wanted = f"Parameter's data should be a Tensor, not {type(data).__name__}"
        check(isinstance(data, Tensor), wanted, TypeError)
        self._become(wrap(data.array))
        self.requires_grad = requires_grad

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.detach().cpu(), self._rg)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        copy = self.detach().clone() if storages else wrap(self.array.copy())
        memo[id(self)] = made = type(self)(copy, self._rg)
        return made
