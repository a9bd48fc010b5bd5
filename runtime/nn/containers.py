"""Modules that hold modules. Source: torch/nn/modules/container.py."""

# mypy: disable-error-code="attr-defined"

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from itertools import groupby
from typing import Any

from ..engine.hooks import check
from ..engine.tensor import Tensor
from .module import Module
from .parameter import Parameter


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


class _Parameters(Module):
    """What holds parameters, or anything else, under names."""

    def _put(self, name: str, value: Any) -> None:
        learned = isinstance(value, Tensor) and not isinstance(value, Parameter)
        setattr(self, name, Parameter(value) if learned else value)

    def _lines(self, pairs: Iterable[tuple[Any, Any]], kind: Callable[[Any], str]) -> str:
        told = []
        for key, value in pairs:
            text = f"Object of type: {type(value).__name__}"
            if isinstance(value, Tensor):
                size = "x".join(map(str, value.shape))
                text = f"Parameter containing: [{kind(value)} of size {size}]"
            told.append(f"  ({key}): {text}")
        return "\n".join(told)


class ParameterList(_Parameters):
    """A list of parameters; tensors become some."""

    def __init__(self, values: Any = None) -> None:
        super().__init__()
        self._size = 0
        self.extend(() if values is None else values)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, str(i)) for i in range(self._size))

    def _place(self, index: Any) -> str:
        return str(range(self._size)[index])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return getattr(self, self._place(index))

    def __setitem__(self, index: int, value: Any) -> None:
        self._put(self._place(index), value)

    def append(self, value: Any) -> Any:
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Any) -> Any:
        told = f"ParameterList.extend should be called with an iterable, but got {type(values)}"
        check(isinstance(values, Iterable) and not isinstance(values, Tensor), told, TypeError)
        for value in values:
            self.append(value)
        return self

    __iadd__ = extend

    def extra_repr(self) -> str:
        return self._lines(enumerate(self), lambda value: f"torch.{value.dtype}")


class ParameterDict(_Parameters, MutableMapping[str, Any]):
    """A dict of parameters; tensors become some."""

    __eq__, __hash__ = object.__eq__, object.__hash__

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        self.update({} if parameters is None else parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)

    def update(self, parameters: Any = (), /) -> None:  # type: ignore[override]
        """Add all of a plain dict, in the order of its names, or of what has an order to keep."""
        pairs = dict(parameters)
        plain = isinstance(parameters, Mapping) and not isinstance(
            parameters, (OrderedDict, ParameterDict)
        )
        for key in sorted(pairs) if plain else pairs:
            self[key] = pairs[key]

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default  # noqa: SIM401

    def __setitem__(self, key: str, value: Any) -> None:
        told = f"Index given to ParameterDict is not a string: {key!r}"
        check(isinstance(key, str), told, TypeError)
        self._keys[key] = None
        self._put(key, value)

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def setdefault(self, key: str, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self) -> tuple[str, Any]:
        check(len(self) > 0, "popitem(): dictionary is empty", KeyError)
        key = next(reversed(self))
        return key, self.pop(key)

    def copy(self) -> ParameterDict:
        return ParameterDict(OrderedDict(self))  # a plain dict's names would be sorted

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        return ParameterDict((key, default) for key in keys)

    def __or__(self, other: Any) -> ParameterDict:
        copy = self.copy()
        copy.update(other)
        return copy

    def __ror__(self, other: Any) -> Any:
        copy = other.copy()
        copy.update(self)
        return copy

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        return self._lines(self.items(), lambda value: value.type())
