"""The modelled machine behind the runtime's door: what is asked there, answered.

Most of it are the engine's rules about streams. A node runs on the stream that was current when
forward made it. A gradient that goes from a producer to a consumer may have to wait, and is
accumulated on one stream (input_buffer.cpp):

    the gradient is                           accumulated on            after what is on
    1  not on a device                        the host
    2  on the producer's and the consumer's   the consumer's stream     the producer's stream
    3  on the consumer's device alone         the consumer's stream     its device's current stream
    4  on the producer's device alone         that default stream       the producer's stream
    5  on a third device                      that default stream       its current stream

In the end the caller's streams wait for those on which leaves got their gradients.
Source: torch/csrc/autograd/input_buffer.cpp, engine.cpp ("Streaming backwards").
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..accelerator import Accelerator
from ..core.storage import storage_of
from ..engine.node import RUNS_FIRST, Edge, Grads, GraphRoot, Node
from ..engine.tensor import AccumulateGrad, Tensor, wrap
from . import modelled_device, placement, streams
from .clock import stretch
from .current_device import StreamContext
from .operands import nesting
from .placement import device_number_of, place, record_stream
from .streams import Stream, current_stream, default_streams, here
from .to_device import to_device


class _RunningBackward:
    """One backward: the caller's streams, and those of the leaves."""

    def __init__(self) -> None:
        self.device, self.streams = here.device, here.streams
        self.leaves: dict[Stream, None] = {}
        self.first: tuple[Node, Tensor] | None = None  # where it starts, and the gradient for that


class _Running(threading.local):
    def __init__(self) -> None:
        self.stack: list[_RunningBackward] = []


class ModelledAccelerator(Accelerator):
    """The configured devices, as engine, operators and optimizers know them.

    `drops_waits` is a switch for tests: without the waits their check for hazards has to fail.
    """

    device_index = staticmethod(streams.device_index)
    no_such_device = staticmethod(modelled_device.no_such_device)
    to_device = staticmethod(to_device)
    record_stream = staticmethod(placement.record_stream)

    def __init__(self) -> None:
        self._running = _Running()
        self.drops_waits = False

    def uncounted(self, function: Callable[..., Any], *args: Any) -> Any:
        with stretch:
            return function(*args)

    def stream_of(self, leaf: Tensor) -> Stream | None:
        storage = storage_of(leaf)
        return None if storage is None else current_stream(storage.device)

    def copied(self, variable: Tensor, grad: Tensor) -> Tensor:
        made, stream = wrap(np.empty_like(variable.array)), self.stream_of(variable)
        if stream is not None:
            place(made, stream)
        copy: Tensor = made.copy_(grad)
        return copy

    def check_grad(self, tensor: Tensor, grad: Tensor) -> None:
        if grad.device != tensor.device:
            told = f"attempting to assign a gradient with device type '{grad.device.type}'"
            raise RuntimeError(f"{told} to a tensor with device type '{tensor.device.type}'")

    @contextmanager
    def backward(self, roots: Sequence[Edge], grads: Grads) -> Iterator[None]:
        self._running.stack.append(task := _RunningBackward())
        nesting.depth += 1
        (node, _), grad = roots[0], grads[0]
        if len(roots) == 1 and node is not None and grad is not None:  # else there is a GraphRoot
            task.first = node, grad
        try:
            yield
        finally:
            self._end()

    def enter(self, node: Node) -> None:
        """Make the stream of the node's forward the current one, on that device alone."""
        task = self._running.stack[-1]
        if task.first is not None:
            first, task.first = task.first, None
            self.pass_on(None, *first)
        stream = node.stream
        if stream is None:
            here.device, here.streams = task.device, task.streams
            return
        here.device, here.streams = stream.device_index, {stream.device_index: stream}
        if node.sequence_nr == RUNS_FIRST:
            task.leaves[stream] = None

    def pass_on(self, source: Node | None, target: Node, grad: Tensor) -> None:
        """As `Accelerator.pass_on`; without a source the gradient is the one backward was given.

        A gradient that a formula made on the host is on the device of the node that it goes to.

        Raises:
            RuntimeError: the gradient is on another device than what it is the gradient of.
        """
        consumer, storage = target.stream, storage_of(grad)
        if consumer is not None and storage is not None:
            at_home = storage.device == consumer.device_index
            if at_home and source is not None and source.stream is consumer:
                return
        _check_device(source, target, grad)
        if consumer is not None and storage is None and not grad.is_sparse:
            place(grad, consumer)
        pair = self._streams_for(source, target, grad)
        if pair is not None:
            accumulates, after = pair
            if accumulates != after:
                record_stream(grad, accumulates)
                if not self.drops_waits:
                    accumulates.wait_stream(after)

    def _streams_for(
        self, source: Node | None, target: Node, grad: Tensor
    ) -> tuple[Stream, Stream] | None:
        """Where it is accumulated, and on which stream it was made; None on the CPU."""
        storage = storage_of(grad)
        if storage is None:
            return None
        index = storage.device
        consumer, producer = target.stream, None if source is None else source.stream
        if consumer is None or consumer.device_index != index:
            consumer = default_streams[index]
        if producer is None or producer.device_index != index:
            producer = current_stream(index)
        return consumer, producer

    def accumulate(self, source: Node, target: Node, old: Tensor, grad: Tensor, own: bool) -> Any:
        pair = self._streams_for(source, target, grad)
        with StreamContext(None if pair is None else pair[0]):
            if own:
                old += grad
                return old
            return old + grad

    def captured(self, node: Node) -> None:
        if node.stream is not None:
            self._running.stack[-1].leaves[node.stream] = None

    def _end(self) -> None:
        """The caller's streams are current again, and wait for the leaves'."""
        task = self._running.stack.pop()
        nesting.depth -= 1
        here.device, here.streams = task.device, task.streams
        for leaf in task.leaves:
            current = current_stream(leaf.device_index)
            if current != leaf and not self.drops_waits:
                current.wait_stream(leaf)


def _check_device(source: Node | None, target: Node, grad: Tensor) -> None:
    """Refuse a gradient on another device than its tensor (engine.cpp, validate_outputs)."""
    storage = storage_of(grad)
    if isinstance(target, AccumulateGrad):
        wanted = device_number_of(target.variable)
    elif target.stream is not None and len(target.input_metadata) == 1:
        wanted = target.stream.device_index
    else:
        return
    if storage is None:
        made_here = source is not None and not isinstance(source, GraphRoot)
        wrong = wanted is not None and not made_here and grad.array.ndim > 0
    else:
        wrong = storage.device != wanted and grad.array.ndim > 0
    if wrong:
        who = "GraphRoot" if source is None else source.name()
        edges = () if source is None else source.next_edges
        index = next((n for n, (node, _) in enumerate(edges) if node is target), 0)
        got = f"{_named(wanted)} but got {_named(None if storage is None else storage.device)}"
        where = f"an invalid gradient at index {index}"
        raise RuntimeError(f"Function {who} returned {where} - expected device {got}")


def _named(device: int | None) -> str:
    return "cpu" if device is None else f"cuda:{device}"


accelerator = ModelledAccelerator()
