"""`tensor.untyped_storage()`: the memory that a tensor, and all views of it, see.

Source: torch/storage.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.storage import owner_of
from ..engine.tensor import Tensor
from .make import function


class UntypedStorage:
    """Memory in bytes, or in elements of `dtype`; it is kept while this is."""

    def __init__(self, tensor: Tensor, dtype: Any = np.dtype("u1")) -> None:  # noqa: B008
        self._owner, self.device, self._dtype = owner_of(tensor.array), tensor.device, dtype

    def data_ptr(self) -> int:
        """Return the address of the first byte, which tells one storage from another."""
        return int(self._owner.ctypes.data)

    _cdata = property(data_ptr)

    def nbytes(self) -> int:
        """Return how many bytes it has."""
        return int(self._owner.nbytes)

    def __len__(self) -> int:
        return self.nbytes() // self._dtype.itemsize

    size = __len__

    def tolist(self) -> list[Any]:
        """Return its elements in the order that they lie in."""
        return list(self._owner.ravel("K").view(self._dtype).tolist())


@function("tensor")
def untyped_storage(self: Tensor) -> UntypedStorage:
    """Return the memory, in bytes."""
    return UntypedStorage(self)


@function("tensor")
def storage(self: Tensor) -> UntypedStorage:
    """Return the memory, in elements of the tensor."""
    return UntypedStorage(self, self.array.dtype)
