"""Which tensors are on which device: an array's memory is given to one, and back when it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..storage import Storage, make_storage, owner_of, storages
from ..tensor import Tensor
from .state import devices

if TYPE_CHECKING:
    from .streams import Stream


def place(tensor: Any, stream: Stream) -> Storage:
    """Give a tensor's memory to the device of a stream, unless it is on one."""
    array = tensor.array
    owner = array if array.base is None else owner_of(array)
    found = storages.get(id(owner))
    if found is None:
        device = stream.owner
        block = device.allocator.allocate(owner.nbytes, stream.number)
        found = make_storage(owner, _freed, device.index, block)
    return found


def _freed(storage: Storage) -> None:
    storages.pop(storage.key, None)
    if storage.device < len(devices):
        devices[storage.device].allocator.free(storage.block)


def device_of(tensor: Any) -> int | None:
    """The number of a tensor's device; None of the CPU, and of what is no tensor."""
    if not isinstance(tensor, Tensor):
        return None
    storage = storages.get(id(owner_of(tensor.array)))
    return None if storage is None else storage.device
