"""`tensor.untyped_storage()`: the memory that a tensor, and all views of it, see.

Source: torch/storage.py.
"""

from __future__ import annotations

from typing import Any

from ..core.storage import owner_of
from ..engine.tensor import Tensor
from .make import function


class UntypedStorage:
    """Memory in elements of `itemsize` bytes; it is kept while this is."""

    def __init__(self, tensor: Tensor, itemsize: int = 1) -> None:
        self._owner, self.device, self._itemsize = owner_of(tensor.array), tensor.device, itemsize

    def data_ptr(self) -> int:
        """Return the address of the first byte, which tells one storage from another."""
        return int(self._owner.ctypes.data)

    _cdata = property(data_ptr)

    def nbytes(self) -> int:
        """Return how many bytes it has."""
        return int(self._owner.nbytes)

    def __len__(self) -> int:
        return self.nbytes() // self._itemsize

    size = __len__

    def tolist(self) -> list[Any]:
        """Return its elements in the order that they lie in."""
        flat = self._owner.ravel("K")
        return list((flat.view("u1") if self._itemsize == 1 else flat).tolist())


@function("tensor")
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory, in bytes."""
    return UntypedStorage(self)


@function("tensor")
def storage(self: Tensor) -> UntypedStorage:
    """The memory, in elements of the tensor."""
    return UntypedStorage(self, self.array.itemsize)
