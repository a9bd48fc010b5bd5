"""The tensors among an operator's arguments: where they are, and whether they go together."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any

from ..core.storage import Storage, owner_of, storages
from ..engine.tensor import Tensor
from .placement import place
from .streams import Stream, current_stream

_TAKES_HOST_OPERANDS = {"aten::index", "aten::index_put_", "aten::index_put", "aten::ctc_loss"}


class _Nesting(threading.local):
    depth = 0  # operators and backwards that this thread is in


nesting = _Nesting()


class Operands:
    """The tensors of an operator's arguments, in order, those of lists in the place of the list.

    `device` is the number of the device that they are on, None for the CPU. `host` are those with
    dimensions that are on the CPU.

    Raises:
        RuntimeError: they are on several devices. Numbers (tensors without dimensions) may be on
            the CPU, and so may what formulas make inside another operator or in backward.
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
        if self.host and nesting.depth == 0:
            self._refuse_host(name)

    def _look_at(self, values: Iterable[Any], name: str) -> None:
        device = self.device
        for x in values:
            if isinstance(x, Tensor):
                array = x.array
                storage = storages.get(id(array if array.base is None else owner_of(array)))
                self.arrays.append(array)
                self.storages.append(storage)
                if storage is None:
                    if array.ndim and not x.is_sparse:
                        self.host.append(x)
                elif device is None:
                    self.device = device = storage.device
                elif device != storage.device:
                    raise RuntimeError(_apart(name, f"cuda:{device}", f"cuda:{storage.device}"))
            elif x.__class__ is list or isinstance(x, tuple):
                self._look_at(x, name)
                device = self.device

    def _refuse_host(self, name: str) -> None:
        if self.device is not None and name not in _TAKES_HOST_OPERANDS:
            raise RuntimeError(_apart(name, f"cuda:{self.device}", "cpu"))

    def take_over(self, stream: Stream) -> None:
        """Give the device those that are on the CPU: formulas made them (see dispatch.py)."""
        for x in self.host:
            storage, pairs = place(x, stream), zip(self.arrays, self.storages, strict=True)
            self.storages = [storage if a is x.array else s for a, s in pairs]


NONE = Operands("", (), {})


def _apart(name: str, one: str, other: str) -> str:
    return (
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{one} and {other}! (when checking the arguments of {name})"
    )


def tensors_in(values: Iterable[Any]) -> Iterator[Any]:
    """Return the tensors among values and lists of values."""
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
