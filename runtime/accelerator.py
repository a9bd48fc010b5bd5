"""The one door to devices: what the runtime asks of an accelerator, and who answers.

    engine, ops, nn, optim, data  --ask-->  accelerator.py  <--registers--  modelled/

The rooms of the runtime know a device only by the protocol `Accelerator`. Whoever implements one
calls `register`, and from then on `current()` is that one. Until then `current()` is `NO_DEVICE`,
which knows the CPU alone.

Where the question comes up for each operator or node, test the list `accelerators` first, which is
empty while there is no device:

    if accelerators:
        node.stream = accelerators[0].stream_of(leaf)

Operators reach a device in another way: they go through it (`observe/arrangement.py`, innermost).
Which memory is a device's stands in `core/storage.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from .core.later import later

if TYPE_CHECKING:
    from .engine.node import Edge, Grads, Node
    from .engine.tensor import Tensor


class Accelerator(Protocol):
    """Devices beside the CPU, `cuda:0` and on. Bodies are those of the null device."""

    def no_such_device(self, device: str) -> str:
        """Return the text of the error that says that `device` does not exist."""
        return (
            f"tidy.runtime has no device {device!r}; it has 'cpu'. A modelled one: "
            "tidy run --device a100, TIDY_DEVICE=a100, or tidy.runtime.cuda.configure('a100')"
        )

    def device_index(self, device: Any = None) -> int:
        """Return the number of `cuda`, `cuda:1` or a number; RuntimeError if it is not there."""
        raise RuntimeError(self.no_such_device("cuda" if device is None else str(device)))

    def to_device(self, tensor: Tensor, dtype: Any, device: Any, non_blocking: bool) -> Tensor:
        """Return a copy of a tensor on another device, in another dtype unless `dtype` is None."""
        raise RuntimeError(self.no_such_device(str(device)))

    def record_stream(self, tensor: Tensor, stream: Any) -> None:
        """Keep the tensor's memory, once it is given back, until `stream` has done its work."""

    def uncounted(self, function: Callable[..., Any], *args: Any) -> Any:
        """`function(*args)`, computed by the host for a kernel that is counted elsewhere."""
        return function(*args)

    def backward(self, roots: Sequence[Edge], grads: Grads) -> AbstractContextManager[None]:
        """Return the context of one backward, which starts at `roots` with a gradient for each."""
        return nullcontext()

    def enter(self, node: Node) -> None:
        """Turn to `node`: the stream of its forward becomes the current one."""

    def pass_on(self, source: Node, target: Node, grad: Tensor) -> None:
        """Pass a gradient from `source` to `target`: the streams that have to wait do so."""

    def accumulate(self, source: Node, target: Node, old: Tensor, grad: Tensor, own: bool) -> Any:
        """Return the sum of two gradients that arrived at `target`, in `old` itself if `own`."""
        return old + grad

    def captured(self, node: Node) -> None:
        """Hand the gradient that arrived at `node` to the caller of `grad()`."""

    def stream_of(self, leaf: Tensor) -> Any:
        """Return the stream on which a leaf's gradient is accumulated; None on the CPU."""
        return None

    def copied(self, variable: Tensor, grad: Tensor) -> Tensor:
        """Return a copy of `grad` on the device of `variable`, laid out as `variable` is."""
        copy: Tensor = grad.clone()
        return copy

    def check_grad(self, tensor: Tensor, grad: Tensor) -> None:
        """Refuse `tensor.grad = grad` across devices, with a RuntimeError."""


class NoDevice(Accelerator):
    """The null device: the CPU alone, without streams."""

    def _nothing(self, *args: Any, **kwargs: Any) -> None:
        """Nobody waits for anything, and all gradients are on one device."""

    record_stream = enter = pass_on = captured = check_grad = _nothing


NO_DEVICE = NoDevice()
accelerators: list[Accelerator] = []  # the registered one; empty while there is no device


def current() -> Accelerator:
    """Return the registered accelerator, or `NO_DEVICE`."""
    return accelerators[0] if accelerators else NO_DEVICE


def is_available() -> bool:
    """Tell whether there is a device beside the CPU."""
    return bool(accelerators)


def register(accelerator: Accelerator | None) -> None:
    """Have `current()` be this one; None takes it away."""
    accelerators[:] = [] if accelerator is None else [accelerator]


def current_accelerator(check_available: bool = False) -> Any:
    """Return the kind of device that there is beside the CPU; None without one."""
    from .core.device import Device

    return Device("cuda") if accelerators else None


# torch.accelerator's other names
__getattr__ = later(
    __name__,
    {
        "..cuda": "device_count synchronize current_device_index=current_device "
        "set_device_index=set_device current_device_idx=current_device set_device_idx=set_device "
        "current_stream set_stream"
    },
)
