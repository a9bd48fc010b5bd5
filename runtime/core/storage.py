"""Where tensors' memory is: on a modelled device, or else on the CPU.

A storage is memory of a device. Here that is a numpy array which owns its memory, and whatever sees
that memory is on the device: views, detached tensors, what nodes have saved. The storage ends with
the array. Nothing is kept of the CPU's arrays but which are pinned.
Source: c10/core/StorageImpl.h.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

_numbers = itertools.count(1)


class Storage(weakref.ref):  # type: ignore[type-arg]
    """Memory of device `device`, found by its owner's identity.

    `number` is never given again; `block` is the allocator's.
    """

    __slots__ = ("block", "device", "key", "number")

    key: int
    device: int
    number: int
    block: Any


def make_storage(owner: Any, freed: Callable[[Storage], None], device: int, block: Any) -> Storage:
    """Return the storage of an array that owns its memory; `freed` is called at its end."""
    made = Storage(owner, freed)
    made.key = key = id(owner)
    made.device, made.block, made.number = device, block, next(_numbers)
    storages[key] = made
    return made


storages: dict[int, Storage] = {}  # by the owner's identity; empty while no device is used
pinned: dict[int, weakref.ref[Any]] = {}


def owner_of(array: Any) -> Any:
    """Return the array that owns the memory which `array` sees."""
    try:
        while (base := array.base) is not None:
            array = base
    except (AttributeError, NotImplementedError):  # somebody else's buffer; a sparse tensor
        pass
    return array


def storage_of(tensor: Any) -> Storage | None:
    """Return the device memory of a tensor; None on the CPU."""
    return storages.get(id(owner_of(tensor.array))) if storages else None


def pin(tensor: Any) -> None:
    """Note that the tensor's memory on the CPU is page-locked."""
    owner = owner_of(tensor.array)
    key = id(owner)
    try:
        pinned[key] = weakref.ref(owner, lambda _: pinned.pop(key, None))
    except TypeError:  # a buffer that knows no weak references
        tensor.__dict__["_pinned"] = True


def is_pinned(tensor: Any) -> bool:
    """Tell whether it is on the CPU, in page-locked memory."""
    return id(owner_of(tensor.array)) in pinned or "_pinned" in tensor.__dict__
