"""The tensors among an operator's arguments: where they are, and whether they go together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..storage import Storage, owner_of, storages
from ..tensor import Tensor
from .placement import place
from .state import current_stream, depth
from .streams import Stream

_TAKES_HOST_OPERANDS = {"aten::index", "aten::index_put_", "aten::index_put"}


class Operands:
    """Tensors of an operator's arguments, in order, lists of them in their place.

    `device` is where they are, None on the CPU; `host` are those that are on the CPU all the same.

    Raises:
        RuntimeError: they are not all on one device, but for numbers (0-dim ones on the CPU).
    """

    __slots__ = ("arrays", "device", "host", "storages")

    def __init__(self, name: str, args: Any, kwargs: dict[str, Any]) -> None:
        self.arrays: list[Any] = []
        self.storages: list[Storage | None] = []
        self.device: int | None = None
        self.host: list[Any] = []
        self._look_at(args, name)
        if kwargs:
            self._look_at(kwargs.values(), name)
        if self.host and depth.inside == 0:
            self._refuse_host(name)

    def _look_at(self, values: Iterable[Any], name: str) -> None:
        device = self.device
        for x in values:
            if isinstance(x, Tensor):
                array = x.array
                found = storages.get(id(array if array.base is None else owner_of(array)))
                self.arrays.append(array)
                self.storages.append(found)
                if found is None:
                    if array.ndim and not x.is_sparse:
                        self.host.append(x)
                elif device is None:
                    self.device = device = found.device
                elif device != found.device:
                    raise RuntimeError(_apart(name, f"cuda:{device}", f"cuda:{found.device}"))
            elif x.__class__ is list or isinstance(x, tuple):
                self._look_at(x, name)
                device = self.device

    def _refuse_host(self, name: str) -> None:
        if self.device is not None and name not in _TAKES_HOST_OPERANDS:
            raise RuntimeError(_apart(name, f"cuda:{self.device}", "cpu"))

    def take_over(self, stream: Stream) -> None:
        """What formulas have made of nothing is on the device; see dispatch.py."""
        for x in self.host:
            found = place(x, stream)
            self.storages = [
                found if a is x.array else s
                for a, s in zip(self.arrays, self.storages, strict=True)
            ]


NONE = Operands("", (), {})


def _apart(name: str, one: str, other: str) -> str:
    return (
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{one} and {other}! (when checking the arguments of {name})"
    )


def tensors_in(values: Iterable[Any]) -> Iterator[Any]:
    """The tensors among values and lists of values."""
    for x in values:
        if isinstance(x, Tensor):
            yield x
        elif x.__class__ is list or isinstance(x, tuple):
            yield from tensors_in(x)


def note_streams(tensors: Iterable[Any]) -> None:
    """Tell new nodes which stream they were made on: backward runs them there."""
    for x in tensors:
        node = x._node
        if node is None:
            continue
        above = None if x._view is None else x._view.base._node
        if node.stream is not None and (above is None or above.stream is not None):
            continue
        storage = storages.get(id(owner_of(x.array)))
        if storage is None:
            continue
        stream = current_stream(storage.device)
        if node.stream is None:
            node.stream = stream
        if above is not None and above.stream is None:
            above.stream = stream
