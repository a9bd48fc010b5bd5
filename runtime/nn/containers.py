"""Modules that hold modules or parameters. Source: torch/nn/modules/container.py."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from ..tensor import Tensor, shape_name
from .module import Module, T
from .parameter import Parameter


class _Held(Module):
    """One of its registries is the container."""

    _kind = "_modules"

    def __len__(self) -> int:
        return len(self.__dict__[self._kind])

    def _put(self, name: str, value: Any) -> None:
        plain = isinstance(value, Tensor) and not isinstance(value, Parameter)
        self._register(self._kind, name, Parameter(value) if plain else value)

    def _check(self, values: Any, what: str) -> None:
        if not isinstance(values, Iterable):
            told = f"should be called with an iterable{what}, but got {type(values).__name__}"
            raise TypeError(f"{type(self).__name__}.{'update' if what else 'extend'} {told}")

    def extra_repr(self) -> str:
        """One line for each parameter."""
        return "\n".join(
            f"  ({key}): Parameter containing: [{self._dtype(x)} of size "
            f"{'x'.join(map(str, x.array.shape))}]"
            for key, x in self._parameters.items()
        )

    def _dtype(self, x: Any) -> str:
        return f"torch.{x.array.dtype}"


class _List(_Held):
    """Values named "0", "1", ..., used as a list."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.extend(() if values is None else values)

    def _key(self, index: Any) -> str:
        names, place = list(self.__dict__[self._kind]), operator.index(index)
        if not -len(names) <= place < len(names):
            raise IndexError(f"index {place} is out of range")
        return str(names[place])

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self.__dict__[self._kind].values()))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self.__dict__[self._kind][self._key(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._put(self._key(index), value)

    def __delitem__(self, index: Any) -> None:
        values = list(self)
        del values[index]
        self._refill(values)

    def _refill(self, values: list[Any]) -> None:
        for name in list(self.__dict__[self._kind]):
            del self.__dict__[self._kind][name]
        self.extend(values)

    def __add__(self, other: Iterable[Any]) -> Any:
        return self[:].extend(other)

    def append(self: T, value: Any) -> T:
        """Add one at the end."""
        self._put(str(len(self)), value)
        return self

    def extend(self: T, values: Iterable[Any]) -> T:
        """Add all at the end."""
        self._check(values, "")
        for value in values:
            self.append(value)
        return self

    def insert(self: T, index: int, value: Any) -> T:
        """Put one before `index`."""
        values: list[Any] = list(self)
        if not -len(values) <= index <= len(values):
            raise IndexError(f"Index out of range: {index}")
        values.insert(index, value)
        self._refill(values)
        return self

    def pop(self, key: Any = -1) -> Any:
        """Remove one, and give it."""
        found = self[key]
        del self[key]
        return found


class Sequential(_List):
    """Calls its modules one after the other. Takes them as arguments, or in an OrderedDict."""

    def __init__(self, *args: Any) -> None:
        named = len(args) == 1 and isinstance(args[0], OrderedDict)
        super().__init__(() if named else args)
        for name, module in args[0].items() if named else ():
            self.add_module(name, module)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return super().__getitem__(index)

    def forward(self, input: Any) -> Any:  # noqa: A002
        for module in self._modules.values():
            input = module(input)  # noqa: A001
        return input


class ModuleList(_List):
    """A list of modules."""

    def __repr__(self) -> str:
        lines, start = [self._get_name() + "("], 0
        for text, group in groupby(map(repr, self)):
            count = len(list(group))
            many = f"{start}-{start + count - 1}): {count} x " if count > 1 else f"{start}): "
            lines.append(f"({many}{text}".replace("\n", "\n  "))
            start += count
        return "\n  ".join(lines) + ("\n)" if start else ")")


class ParameterList(_List):
    """A list of parameters; tensors become such."""

    _kind = "_parameters"


class ModuleDict(_Held):
    """A dict of modules."""

    def __init__(self, values: Any = None) -> None:
        super().__init__()
        self.update({} if values is None else values)

    def __getitem__(self, key: str) -> Any:
        return self.__dict__[self._kind][key]

    def __delitem__(self, key: str) -> None:
        del self.__dict__[self._kind][key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__[self._kind])

    def __setitem__(self, key: str, value: Any) -> None:
        self._put(key, value)

    def keys(self) -> Any:
        """As a dict's; so also the three below."""
        return self.__dict__[self._kind].keys()

    def values(self) -> Any:
        return self.__dict__[self._kind].values()

    def items(self) -> Any:
        return self.__dict__[self._kind].items()

    def pop(self, key: str) -> Any:
        return self.__dict__[self._kind].pop(key)

    def update(self, values: Any) -> None:
        """Add all of a dict, or of pairs."""
        self._check(values, " of key/value pairs")
        for key, value in dict(values).items():
            self[key] = value


class ParameterDict(ModuleDict):
    """A dict of parameters; tensors become such."""

    _kind = "_parameters"

    def _dtype(self, x: Any) -> str:
        return shape_name(x.array).split()[0]
