"""What goes from one device to several, and back, with its derivatives.

    Broadcast  <->  ReduceAddCoalesced        Scatter  <->  Gather

Source: torch/nn/parallel/_functions.py.
"""

from __future__ import annotations

import warnings
from itertools import chain
from typing import Any

from ...core.aten import aten
from ...core.storage import storage_of
from ...engine.function import Function
from ...engine.hooks import check
from .. import communication as comm
from ..modelled_device import devices
from ..streams import Stream, current_stream, device_index

_uploads: dict[int, Stream] = {}  # by device


def upload_stream(index: int) -> Stream:
    """A device's stream for copies from the CPU."""
    stream = _uploads.get(index)
    if stream is None or stream.owner is not devices[index]:  # configured anew
        stream = _uploads[index] = Stream(index)
    return stream


def _refuse_cpu(name: str, inputs: Any) -> None:
    on_devices = all(storage_of(x) is not None for x in inputs)
    check(on_devices, f"{name} function not implemented for CPU tensors", AssertionError)


class Broadcast(Function):
    """All tensors on all devices: `len(tensors)` outputs for the first device, and so on."""

    @staticmethod
    def forward(ctx: Any, target_gpus: Any, *inputs: Any) -> Any:
        _refuse_cpu("Broadcast", inputs)
        ctx.target_gpus = [device_index(x) for x in target_gpus]
        ctx.num_inputs = len(inputs)
        if not inputs:
            return ()
        ctx.input_device = inputs[0].get_device()
        ctx.set_materialize_grads(False)  # zeros are made on their device in backward
        outputs = comm.broadcast_coalesced(inputs, ctx.target_gpus)
        plain = [i for i, need in enumerate(ctx.needs_input_grad[1:]) if not need]
        ctx.mark_non_differentiable(*[row[i] for row in outputs for i in plain])
        return tuple(chain.from_iterable(outputs))

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        wanted = [i for i, need in enumerate(ctx.needs_input_grad[1:]) if need]
        results: list[Any] = [None] * ctx.num_inputs
        grads = []
        for number, device in enumerate(ctx.target_gpus):
            for place in (number * ctx.num_inputs + i for i in wanted):
                grad = grad_outputs[place]
                if grad is None:  # a parameter that this replica did not use
                    shape, dtype = ctx.input_metadata[place]
                    grad = aten.zeros(list(shape), dtype=dtype, device=f"cuda:{device}")
                grads.append(grad)
        sums = ReduceAddCoalesced.apply(ctx.input_device, len(wanted), *grads)
        for i, total in zip(wanted, sums, strict=True):
            results[i] = total
        return (None, *results)


class ReduceAddCoalesced(Function):
    """The sums over the devices of what Broadcast gave."""

    @staticmethod
    def forward(ctx: Any, destination: Any, num_inputs: int, *grads: Any) -> Any:
        rows = [grads[i : i + num_inputs] for i in range(0, len(grads), num_inputs)]
        ctx.target_gpus = [row[0].get_device() for row in rows]
        return comm.reduce_add_coalesced(rows, destination)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        return (None, None, *Broadcast.apply(ctx.target_gpus, *grad_outputs))


class Gather(Function):
    """Tensors of several devices as one; numbers as a vector."""

    @staticmethod
    def forward(ctx: Any, target_device: Any, dim: int, *inputs: Any) -> Any:
        _refuse_cpu("Gather", inputs)
        ctx.dim = dim
        ctx.input_gpus = tuple(x.get_device() for x in inputs)
        ctx.unsqueezed_scalar = dim == 0 and all(x.array.ndim == 0 for x in inputs)
        if ctx.unsqueezed_scalar:
            inputs = tuple(x.view(1) for x in inputs)
            told = "the outputs to gather along dimension 0 are numbers: they become a vector"
            warnings.warn(told, stacklevel=2)
        ctx.input_sizes = tuple(x.shape[dim] for x in inputs)
        return comm.gather(inputs, dim, target_device)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        grads = Scatter.apply(ctx.input_gpus, ctx.input_sizes, ctx.dim, grad_output)
        if ctx.unsqueezed_scalar:
            grads = tuple(g[0] for g in grads)
        return (None, None, *grads)


class Scatter(Function):
    """Pieces of a tensor for several devices; from the CPU on streams for such copies."""

    @staticmethod
    def forward(ctx: Any, target_gpus: Any, chunk_sizes: Any, dim: int, input: Any) -> Any:
        places = [device_index(x) for x in target_gpus]
        ctx.dim, ctx.input_device = dim, input.get_device()
        streams = [upload_stream(index) for index in places] if ctx.input_device < 0 else None
        outputs = comm.scatter(input, places, chunk_sizes, dim, streams)
        if streams is not None:
            for index, stream, output in zip(places, streams, outputs, strict=False):
                ours = current_stream(index)
                ours.wait_stream(stream)
                output.record_stream(ours)
        return outputs

    @staticmethod
    def backward(ctx: Any, *grad_output: Any) -> Any:
        return None, None, None, Gather.apply(ctx.input_device, ctx.dim, *grad_output)


class ScaleGrad(Function):
    """The tensor as it is, and its gradient times a number."""

    @staticmethod
    def forward(ctx: Any, input: Any, factor: float) -> Any:
        ctx.factor = factor
        return input

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.factor, None
