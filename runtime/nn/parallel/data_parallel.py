"""DataParallel: in each forward, replicas of the module on all devices, a piece of the batch each.

Source: torch/nn/parallel/data_parallel.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from ...cuda import device_count
from ...cuda.state import device_index
from ...device import Device
from ...grad_mode import is_grad_enabled
from ...record_function import record_function
from ..module import Module
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter_kwargs


def output_index(device: Any) -> int:
    """The number of a device that outputs go to; -1 is the CPU."""
    return -1 if device == -1 or str(device) == "cpu" else device_index(device)


def check_on(module: Module, index: int) -> None:
    """Refuse a module that is not on the first of its devices.

    Raises:
        RuntimeError: naming both devices.
    """
    wanted = Device("cuda", index)
    for tensor in chain(module.parameters(), module.buffers()):
        if tensor.device != wanted:
            raise RuntimeError(
                f"module must have its parameters and buffers on device {wanted} (device_ids[0]) "
                f"but found one of them on device: {tensor.device}"
            )


class DataParallel(Module):
    """Runs `module` on several devices, each on a piece of the batch.

    Args:
        module: on the first of the devices; its parameters get the sum of the replicas' gradients.
        device_ids: all by default; without devices, and on one, the module is called as it is.
        output_device: where outputs are put together; the first of `device_ids` by default.
        dim: along which batches are cut.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module, self.dim = module, dim
        self.device_ids: list[int] = []
        if not device_count():
            return
        given = range(device_count()) if device_ids is None else device_ids
        self.device_ids = [device_index(each) for each in given]
        if not self.device_ids:
            raise RuntimeError("no available devices were found")
        first = self.device_ids[0]
        self.output_device = first if output_device is None else output_index(output_device)
        self.src_device_obj = Device("cuda", first)
        if len(self.device_ids) == 1:
            self.module.to(self.src_device_obj)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's outputs for the whole batch, on the output device.

        Raises:
            RuntimeError: the module is not on the first device.
        """
        with record_function("DataParallel.forward"):
            if not self.device_ids:
                return self.module(*inputs, **kwargs)
            check_on(self.module, self.device_ids[0])
            args, keywords = self.scatter(inputs, kwargs, self.device_ids)
            if not args and not keywords:
                args, keywords = ((),), ({},)
            if len(self.device_ids) == 1:
                return self.module(*args[0], **keywords[0])
            replicas = self.replicate(self.module, self.device_ids[: len(args)])
            outputs = self.parallel_apply(replicas, args, keywords)
            return self.gather(outputs, self.output_device)

    def replicate(self, module: Module, device_ids: Sequence[Any]) -> list[Any]:
        return replicate(module, device_ids, not is_grad_enabled())

    def scatter(self, inputs: Any, kwargs: Any, device_ids: Sequence[Any]) -> Any:
        return scatter_kwargs(inputs, kwargs, device_ids, self.dim)

    def parallel_apply(self, replicas: Sequence[Any], inputs: Any, kwargs: Any) -> list[Any]:
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[: len(replicas)])

    def gather(self, outputs: Sequence[Any], output_device: Any) -> Any:
        return gather(outputs, output_device, self.dim)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """`module(*inputs)`, as DataParallel computes it.

    Raises:
        RuntimeError: there is no device, or the module is not on the first one.
    """
    if not device_count():
        raise RuntimeError("no available devices were found")
    places = [device_index(x) for x in (device_ids or range(device_count()))]
    check_on(module, places[0])
    given = () if inputs is None else inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, places, output_device, dim)(*given, **(module_kwargs or {}))
