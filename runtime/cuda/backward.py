"""The engine's rules about streams.

A node runs on the stream that was current when forward made it. A gradient that goes from a
producer to a consumer may have to wait, and is accumulated on one stream (input_buffer.cpp):

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
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..node import RUNS_FIRST, GraphRoot, Node
from ..storage import storage_of
from ..tensor import AccumulateGrad, Tensor, wrap
from . import clock
from .captured import keep
from .placement import place
from .state import current_stream, depth, devices, here
from .streams import Stream, StreamContext, record_stream


class _Task:
    """One backward: the caller's streams, and the leaves'."""

    def __init__(self) -> None:
        self.device, self.streams = here.device, here.streams
        self.leaves: dict[Stream, None] = {}
        self.first: tuple[Node, Tensor] | None = None  # where it starts, and the gradient for that


class _Tasks(threading.local):
    def __init__(self) -> None:
        self.running: list[_Task] = []


class BackwardStreams:
    """What the engine asks while there are devices; `drops_waits` is a switch for tests."""

    def __init__(self) -> None:
        self._tasks = _Tasks()
        self.drops_waits = False

    @contextmanager
    def backward(self, roots: Any, grads: Any) -> Iterator[None]:
        """Around a backward from these roots, with a gradient for each."""
        self._begin(roots, grads)
        try:
            yield
        finally:
            self._end()

    def _begin(self, roots: Any, grads: Any) -> None:
        self._tasks.running.append(task := _Task())
        depth.inside += 1
        (node, _), grad = roots[0], grads[0]
        if len(roots) == 1 and node is not None and grad is not None:  # else there is a GraphRoot
            task.first = node, grad

    def enter(self, node: Node) -> None:
        """The node's stream becomes the current one, and that of no other device is changed."""
        task = self._tasks.running[-1]
        if task.first is not None:
            first, task.first = task.first, None
            self.pass_on(None, *first)
        stream = node.stream
        if stream is None:
            here.device, here.streams = task.device, task.streams
            return
        here.device, here.streams = stream.device_index, {stream.device_index: stream}
        if stream.capture is not None:
            keep(node)
        if node.sequence_nr == RUNS_FIRST:
            task.leaves[stream] = None

    def pass_on(self, source: Node | None, target: Node, grad: Tensor) -> None:
        """A gradient goes from `source` to `target`: the streams wait that have to.

        What a formula has made of nothing is on the device of the node that it goes to.
        """
        consumer, storage = target.stream, storage_of(grad)
        if consumer is not None and storage is not None:
            at_home = storage.device == consumer.device_index
            if at_home and source is not None and source.stream is consumer:
                return
        _check_device(source, target, grad)
        if consumer is not None and storage is None and not grad.is_sparse:
            place(grad, consumer)
        found = self.streams_for(source, target, grad)
        if found is not None:
            accumulates, after = found
            if accumulates != after:
                record_stream(grad, accumulates)
                if not self.drops_waits:
                    accumulates.wait_stream(after)

    def streams_for(
        self, source: Node | None, target: Node, grad: Tensor
    ) -> tuple[Stream, Stream] | None:
        """Where it is accumulated, and on which stream it was made; None on the CPU."""
        storage = storage_of(grad)
        if storage is None:
            return None
        index = storage.device
        producer = None if source is None else source.stream
        consumer = target.stream
        if producer is not None and producer.device_index != index:
            producer = None
        if consumer is not None and consumer.device_index != index:
            consumer = None
        made_on = producer or current_stream(index)
        return consumer or devices[index].default_stream, made_on

    def stream_of(self, leaf: Tensor) -> Stream | None:
        """Where a leaf's gradient is accumulated; None on the CPU."""
        storage = storage_of(leaf)
        return None if storage is None else current_stream(storage.device)

    def accumulate(self, source: Node, target: Node, old: Tensor, grad: Tensor, own: bool) -> Any:
        """The sum of two gradients that have arrived; in place where the first is our own."""
        found = self.streams_for(source, target, grad)
        with StreamContext(None if found is None else found[0]):
            if own:
                old += grad
                return old
            return old + grad

    def copied(self, variable: Tensor, grad: Tensor) -> Tensor:
        """A gradient of the leaf's own, laid out as the leaf is."""
        made, stream = wrap(np.empty_like(variable.array)), self.stream_of(variable)
        if stream is not None:
            place(made, stream)
        found: Tensor = made.copy_(grad)
        return found

    def uncounted(self, function: Any, *args: Any) -> Any:
        """`function(*args)`, as work of the device's that a kernel counted elsewhere has in it."""
        clock.open_stretch()
        try:
            return function(*args)
        finally:
            clock.close_stretch()

    def check_grad(self, tensor: Tensor, grad: Tensor) -> None:
        """Refuse to have a tensor's gradient on another device.

        Raises:
            RuntimeError: it would be.
        """
        if grad.device != tensor.device:
            raise RuntimeError(
                f"attempting to assign a gradient with device type '{grad.device.type}' to a tensor"
                f" with device type '{tensor.device.type}'. Please ensure that the gradient and the"
                " tensor are on the same device"
            )

    def captured(self, node: Node) -> None:
        """A gradient is handed to the caller where it arrives at `node`."""
        if node.stream is not None:
            self._tasks.running[-1].leaves[node.stream] = None

    def _end(self) -> None:
        """The caller's streams are current again, and wait for the leaves'."""
        task = self._tasks.running.pop()
        depth.inside -= 1
        here.device, here.streams = task.device, task.streams
        for leaf in task.leaves:
            current = current_stream(leaf.device_index)
            if current != leaf and not self.drops_waits:
                current.wait_stream(leaf)


def _check_device(source: Node | None, target: Node, grad: Tensor) -> None:
    """A gradient is on the device of what it is the gradient of, where that is known.

    Raises:
        RuntimeError: it is not. (engine.cpp, validate_outputs)
    """
    leaf = target.variable if isinstance(target, AccumulateGrad) else None
    storage = storage_of(grad)
    if leaf is not None:
        found = storage_of(leaf)
        wanted = None if found is None else found.device
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
        raise RuntimeError(
            f"Function {who} returned an invalid gradient at index {index} - expected device "
            f"{_named(wanted)} but got {_named(None if storage is None else storage.device)}"
        )


def _named(device: int | None) -> str:
    return "cpu" if device is None else f"cuda:{device}"


streams = BackwardStreams()
