"""Modules that hold modules. Source: torch/nn/modules/container.py."""

# mypy: disable-error-code="attr-defined"

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

from .module import Module


def _of_registry(name: str) -> Callable[..., Any]:
    return lambda self, *args: getattr(self._modules, name)(*args)


class _List(Module):
    """Modules named "0", "1", and so on."""

    def __init__(self, modules: Iterable[Any] = ()) -> None:
        super().__init__()
        self.extend(modules)

    __len__ = _of_registry("__len__")

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._modules.values()))

    def __getitem__(self, index: Any) -> Any:
        found = list(self._modules.values())[index]
        return type(self)(found) if isinstance(index, slice) else found

    def __setitem__(self, index: int, module: Any) -> None:
        self._register("_modules", list(self._modules)[index], module)

    def __delitem__(self, index: Any) -> None:
        modules = list(self)
        del modules[index]
        self._refill(modules)

    def _refill(self, modules: list[Any]) -> Any:
        for name in list(self._modules):
            del self._modules[name]
        return self.extend(modules)

    def __add__(self, other: Iterable[Any]) -> Any:
        return self[:].extend(other)

    def append(self, module: Any) -> Any:
        self.add_module(str(len(self._modules)), module)
        return self

    def extend(self, modules: Iterable[Any]) -> Any:
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Any) -> Any:
        modules = list(self)
        modules.insert(index, module)
        return self._refill(modules)

    def pop(self, index: Any = -1) -> Any:
        found = self[index]
        del self[index]
        return found


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

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleDict(Module):
    """A dict of modules."""

    def __init__(self, modules: Any = ()) -> None:
        super().__init__()
        self.update(modules)

    __len__, __iter__, __getitem__, __delitem__, keys, values, items, pop = map(
        _of_registry, "__len__ __iter__ __getitem__ __delitem__ keys values items pop".split()
    )

    def __setitem__(self, key: str, module: Any) -> None:
        self._register("_modules", key, module)

    def update(self, modules: Any) -> None:
        """Add all of a dict, or of pairs."""
        for key, module in dict(modules).items():
            self[key] = module
