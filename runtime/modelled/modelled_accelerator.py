"""The modelled machine behind the runtime's door: the class that answers what is asked there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..accelerator import Accelerator
from ..core.storage import storage_of
from ..engine.tensor import Tensor, wrap
from . import modelled_device, placement, streams
from .backward_streams import BackwardStreams
from .clock import stretch
from .placement import place
from .streams import Stream, current_stream
from .to_device import to_device


class ModelledAccelerator(BackwardStreams, Accelerator):
    """The configured devices, as engine, operators and optimizers know them."""

    device_index = staticmethod(streams.device_index)
    no_such_device = staticmethod(modelled_device.no_such_device)
    to_device = staticmethod(to_device)
    record_stream = staticmethod(placement.record_stream)

    def uncounted(self, function: Callable[..., Any], *args: Any) -> Any:
        """`function(*args)`, computed by the host for a kernel that is counted elsewhere."""
        with stretch:
            return function(*args)

    def stream_of(self, leaf: Tensor) -> Stream | None:
        """Return the stream on which a leaf's gradient is accumulated; None on the CPU."""
        storage = storage_of(leaf)
        return None if storage is None else current_stream(storage.device)

    def copied(self, variable: Tensor, grad: Tensor) -> Tensor:
        """Return a copy of `grad` on the device of `variable`, laid out as `variable` is."""
        made, stream = wrap(np.empty_like(variable.array)), self.stream_of(variable)
        if stream is not None:
            place(made, stream)
        copy: Tensor = made.copy_(grad)
        return copy

    def check_grad(self, tensor: Tensor, grad: Tensor) -> None:
        """Refuse `tensor.grad = grad` across devices, with a RuntimeError."""
        if grad.device != tensor.device:
            told = f"attempting to assign a gradient with device type '{grad.device.type}'"
            raise RuntimeError(f"{told} to a tensor with device type '{tensor.device.type}'")


accelerator = ModelledAccelerator()
