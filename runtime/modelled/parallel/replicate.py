"""Copies of a module for other devices, whose parameters are made from its own by Broadcast.

Source: torch/nn/parallel/replicate.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...nn.module import Module
from .. import communication as comm
from ..streams import device_index
from .functions import Broadcast


def _copies(tensors: list[Any], devices: list[int], detach: bool) -> list[Any]:
    """For each device: the copies of all tensors."""
    if not tensors:
        return [() for _ in devices]
    if detach:
        return comm.broadcast_coalesced(tensors, devices)
    flat, count = Broadcast.apply(devices, *tensors), len(tensors)
    return [flat[i : i + count] for i in range(0, len(flat), count)]


def _shell(module: Module) -> Any:
    """A module of the same class and attributes, with registries of its own."""
    made = object.__new__(type(module))
    Module.__setstate__(made, dict(module.__dict__))
    return made


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Any]:
    """A replica for each device. Their parameters are no leaves: gradients go to the network's.

    Args:
        detach: without gradients.
    """
    places = [device_index(each) for each in devices]
    params, buffers = list(network.parameters()), list(network.buffers())
    number_of = {id(x): number for number, x in enumerate(params)}
    buffer_of = {id(x): number for number, x in enumerate(buffers)}
    param_copies = _copies(params, places, detach)
    constant = detach or not any(x.requires_grad for x in buffers)
    buffer_copies = _copies(buffers, places, constant)
    modules: list[Any] = list(network.modules())
    replicas = []
    for row in range(len(places)):
        shells = {id(module): _shell(module) for module in modules}
        for module in modules:
            made = shells[id(module)]
            for name, child in module._modules.items():
                made._modules[name] = None if child is None else shells[id(child)]
            for name, param in module._parameters.items():
                if param is not None:
                    made._parameters.pop(name)
                    made.__dict__[name] = param_copies[row][number_of[id(param)]]
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    made._buffers[name] = buffer_copies[row][buffer_of[id(buffer)]]
        replicas.append(shells[id(network)])
    return replicas
