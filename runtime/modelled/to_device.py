"""`tensor.to(device)`: an operator that makes a tensor elsewhere and copies into it.

aten::_to_copy
aten::empty_strided
aten::copy_              transfer.py says what that costs
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.device import Device
from ..core.dtypes import numpy_dtype
from ..core.storage import pin, storage_of
from ..engine.grad_mode import is_grad_enabled
from ..engine.hooks import check
from ..engine.node import Grads, Node
from ..engine.tensor import Tensor, gradient_edge, wrap
from ..observe.arrangement import active
from ..ops.make.arguments import is_dense
from .placement import place
from .streams import current_stream, device_index

_FORKED = (
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must "
    "use the 'spawn' start method"
)


def to_device(tensor: Tensor, dtype: Any, device: Any, non_blocking: bool) -> Tensor:
    """Return a copy of a tensor on another device, in another dtype unless `dtype` is None."""
    check(len(active) > 0, _FORKED)
    target = None if Device(device).type == "cpu" else device_index(device)
    kind = tensor.array.dtype if dtype is None else numpy_dtype(dtype)
    shown = (tensor, None if dtype is None else kind, None, device, None, non_blocking, None)

    def to_copy(source: Tensor, *_: Any) -> Tensor:
        storage = storage_of(source)
        pinned = target is None and non_blocking
        made = _empty(source.array, kind, target, pinned)
        active[0].op("aten::copy_", _fill_from, (made, source.detach(), non_blocking))
        if source._rg and is_grad_enabled() and kind.kind in "fcV":
            metadata = (made.array.shape, made.array.dtype)
            node = ToCopyBackward0((gradient_edge(source),), (metadata,))
            node.source = None if storage is None else storage.device, source.array.dtype
            node.stream = None if target is None else current_stream(target)
            made._node, made._rg = node, True
        return made

    copy: Tensor = active[0].op("aten::_to_copy", to_copy, shown)
    return copy


def _empty(like: Any, dtype: Any, target: int | None, pinned: bool) -> Tensor:
    device = Device("cpu") if target is None else Device("cuda", target)
    strides = [n // like.itemsize for n in like.strides] if like.itemsize else []

    def make(*_: Any) -> Tensor:
        made = wrap(np.empty_like(like, dtype, "K" if is_dense(like) else "C", subok=False))
        if target is not None:
            place(made, current_stream(target))
        elif pinned:
            pin(made)
        return made

    shown = (list(like.shape), strides, dtype, None, device, pinned or None)
    empty: Tensor = active[0].op("aten::empty_strided", make, shown)
    return empty


def _fill_from(made: Tensor, source: Tensor, _: bool) -> Tensor:
    made.array[...] = source.array
    return made


class ToCopyBackward0(Node):
    """The gradient goes back to where the tensor came from."""

    __slots__ = ("source",)
    source: tuple[int | None, Any]  # its device (None is the CPU) and dtype

    def apply(self, grads: Grads) -> Grads:
        grad = grads[0]
        if grad is None:
            return [None]
        index, dtype = self.source
        device = "cpu" if index is None else f"cuda:{index}"
        return [grad.to(device, dtype)]
