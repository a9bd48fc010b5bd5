"""Which tensors are on which device: an array's memory is given to one, and back when it ends."""

from __future__ import annotations

from typing import Any

from ..core.storage import Storage, make_storage, owner_of, storage_of, storages
from ..engine.tensor import Tensor
from .modelled_device import devices
from .stream_timelines import StreamTimeline
from .streams import Stream


def place(tensor: Any, stream: Stream) -> Storage:
    """Return the storage of a tensor; one that has none gets memory of the stream's device."""
    array = tensor.array
    owner = array if array.base is None else owner_of(array)
    storage = storages.get(id(owner))
    if storage is None:
        device = stream.owner
        block = device.allocator.allocate(owner.nbytes, stream.number)
        storage = make_storage(owner, _freed, device.index, block)
    return storage


def _freed(storage: Storage) -> None:
    storages.pop(storage.key, None)
    if storage.device < len(devices):
        devices[storage.device].allocator.free(storage.block)


def device_number_of(tensor: Any) -> int | None:
    """Return the number of a tensor's device; None on the CPU, and for what is no tensor."""
    storage = storage_of(tensor) if isinstance(tensor, Tensor) else None
    return None if storage is None else storage.device


def record_stream(tensor: Any, stream: StreamTimeline) -> None:
    """Keep the tensor's memory, once it is given back, until `stream` has done its work."""
    storage = storage_of(tensor)
    if storage is not None:
        devices[storage.device].allocator.record_stream(storage.block, stream)
