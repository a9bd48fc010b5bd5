"""DataParallel: in each forward, replicas of the module on all devices, a piece of the batch each.

Source: torch/nn/parallel/data_parallel.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from ...core.device import Device
from ...engine.grad_mode import is_grad_enabled
from ...engine.hooks import check
from ...nn.module import Module
from ...observe.record_function import record_function
from ..modelled_device import devices
from ..streams import device_index
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter_kwargs

_NONE = "no available devices were found"


def output_index(device: Any) -> int:
    """The number of a device that outputs go to; -1 is the CPU."""
    return -1 if device == -1 or str(device) == "cpu" else device_index(device)


def numbers_of(device_ids: Sequence[Any] | None) -> list[int]:
    """The numbers of devices; of all that there are where none are named."""
    given = range(len(devices)) if device_ids is None else device_ids
    return [device_index(each) for each in given]


def check_on(module: Module, index: int) -> None:
    """Refuse a module that is not on the first of its devices.

    Raises:
        RuntimeError: naming both devices.
    """
    wanted = Device("cuda", index)
    used = (x.device for x in chain(module.parameters(), module.buffers()))
    stray = next((each for each in used if each != wanted), wanted)
    where = f"on device {wanted} (device_ids[0]) but found one of them on device: {stray}"
    check(stray == wanted, f"module must have its parameters and buffers {where}")


class DataParallel(Module):
    """Runs `module` on several devices, each on a piece of the batch.

    Args:
        module: on the first of the devices; its parameters get the sum of the replicas' gradients.
        device_ids: all by default; without devices, and on one, the module is called as it is.
        output_device: where outputs are put together; the first of `device_ids` by default.
        dim: along which batches are cut.
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module, self.dim = module, dim
        self.device_ids: list[int] = []
        if not devices:
            return
        self.device_ids = numbers_of(device_ids)
        check(len(self.device_ids) > 0, _NONE)
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
    check(len(devices) > 0, _NONE)
    places = numbers_of(device_ids or None)
    check_on(module, places[0])
    given = () if inputs is None else inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, places, output_device, dim)(*given, **(module_kwargs or {}))
