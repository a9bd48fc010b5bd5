"""Reducer: averages gradients over the devices while backward goes on.

    stream 7   |backward of 2|backward of 1|backward of 0|...... wait |optimizer
    stream 13                |AllReduce, bucket 0|AllReduce, bucket 1|

When a bucket's last gradient is in on a device, an event is recorded there. When it is in on all,
each device's communication stream waits for the events and the bucket is reduced. Buckets are
reduced in their order. At the end of the backward the current streams wait for the communication.
Source: torch/csrc/distributed/c10d/reducer.cpp.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...engine import engine
from ...engine.grad_mode import no_grad
from ...engine.tensor import Tensor
from .. import collectives as nccl
from ..streams import Stream, current_stream
from .buckets import Bucket, assign

_NAMED = 5


class Reducer:
    """What DistributedDataParallel does with gradients.

    Args:
        rows: for each device the parameters that need gradients, in one order.
        names: theirs, for messages.
        devices: the devices' numbers.
        limits: bytes of the buckets, see `assign`.
        as_view: have `.grad` be a view of the bucket, rather than copying to and fro.
    """

    def __init__(
        self,
        rows: Sequence[Sequence[Any]],
        names: Sequence[str],
        devices: Sequence[int],
        limits: Sequence[int],
        as_view: bool,
    ) -> None:
        self.rows, self.names, self.devices = rows, names, list(devices)
        self.as_view = as_view
        self.enabled = False
        self.unused: set[tuple[int, int]] = set()  # (row, parameter)
        self.streams = [Stream(index) for index in devices]
        self.buckets = [Bucket(numbers, rows) for numbers in assign(rows[0], limits)]
        self._place = dict[int, tuple[Bucket, int]]()
        for bucket in self.buckets:
            self._place |= {number: (bucket, at) for at, number in enumerate(bucket.numbers)}
        self._marked: set[tuple[int, int]] = set()
        self._absent: set[tuple[int, int]] = set()  # of the unused, those that have no gradient
        self._next = 0  # the bucket to be reduced next
        for row, params in enumerate(rows):
            for number, param in enumerate(params):
                param.register_post_accumulate_grad_hook(_hook(self, row, number))

    def prepare(self, enabled: bool) -> None:
        """A forward begins, whose gradients are to be averaged if `enabled`.

        Raises:
            RuntimeError: some gradients of the last time are missing.
        """
        missing = self._missing() if enabled and self.enabled else []
        if missing:
            self._restart()
            more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
            raise RuntimeError(
                "Expected to have finished reduction in the prior iteration before starting a new "
                "one. These parameters did not get a gradient on every device, so their buckets "
                f"were not reduced: {', '.join(missing[:_NAMED])}{more}. Where parts of the module "
                "take no part in the loss, pass find_unused_parameters=True to "
                "DistributedDataParallel; have no backward through the module on its own."
            )
        self.enabled = enabled
        self.unused = set()

    def arrived(self, row: int, number: int) -> None:
        """The gradient of a parameter has been accumulated."""
        if not self.enabled:
            return
        if not self._marked:
            for unused in sorted(self.unused):
                self._mark(*unused)
        self._mark(row, number)

    def _missing(self) -> list[str]:
        """Names of parameters without gradients on some device, where others have theirs."""
        names = enumerate(self.names) if self._marked else ()
        every = range(len(self.rows))
        return [name for n, name in names if any((row, n) not in self._marked for row in every)]

    def _mark(self, row: int, number: int) -> None:
        if (row, number) in self._marked:
            got = "its gradient twice before all others had theirs", "one backward for all outputs"
            if (row, number) in self.unused:
                got = "a gradient though the last forward did not use it", "one forward a backward"
            twice = f"{self.names[number]} got {got[0]}: have {got[1]}"
            raise RuntimeError(f"Expected to mark a variable ready only once, but {twice}")
        self._marked.add((row, number))
        bucket, place = self._place[number]
        with no_grad():
            self._into_bucket(row, number, bucket.views[row][place])
        bucket.streams[row][current_stream(self.devices[row])] = None
        bucket.left[row] -= 1
        if not bucket.left[row]:
            bucket.written[row] = [stream.record_event() for stream in bucket.streams[row]]
        while self._next < len(self.buckets) and self.buckets[self._next].is_ready:
            self._reduce(self.buckets[self._next])
            self._next += 1
            if self._next == len(self.buckets):
                engine.queue_callback(self._finish)

    def _into_bucket(self, row: int, number: int, view: Tensor) -> None:
        param = self.rows[row][number]
        grad = param._grad
        if grad is None:
            view.zero_()
            self._absent.add((row, number))
            return
        if grad.is_sparse:
            told = "DistributedDataParallel reduces dense ones; use sparse=False"
            raise NotImplementedError(f"the gradient of {self.names[number]} is sparse: {told}")
        if not np.may_share_memory(grad.array, view.array):
            view.copy_(grad)
            if self.as_view:
                param._grad = view

    def _reduce(self, bucket: Bucket) -> None:
        for stream, events in zip(self.streams, bucket.written, strict=True):
            for event in events:
                stream.wait_event(event)
        with no_grad():
            nccl.all_reduce(bucket.flats, op="avg", streams=self.streams)

    def _finish(self) -> None:
        """The backward in which the last bucket was reduced ends."""
        for index, stream in zip(self.devices, self.streams, strict=True):
            current_stream(index).wait_stream(stream)
        with no_grad():
            self._hand_out()
        self._restart()

    def _hand_out(self) -> None:
        """Gradients that are no views of the buckets yet."""
        every = range(len(self.rows))
        nowhere = {n for _, n in self._absent if all((row, n) in self._absent for row in every)}
        for bucket in self.buckets:
            for place, number in enumerate(bucket.numbers):
                if number in nowhere:
                    continue
                for row in every:
                    param, view = self.rows[row][number], bucket.views[row][place]
                    if (row, number) in self._absent:
                        param._grad = view if self.as_view else view.clone()
                    elif not self.as_view:
                        param._grad.copy_(view)

    def _restart(self) -> None:
        self._marked.clear()
        self._absent.clear()
        self._next = 0
        for bucket in self.buckets:
            bucket.restart()


def _hook(reducer: Reducer, row: int, number: int) -> Callable[[Any], None]:
    """For a parameter, which does not keep the reducer alive."""
    reference = weakref.ref(reducer)

    def arrived(_: Any) -> None:
        alive = reference()
        if alive is not None:
            alive.arrived(row, number)

    return arrived


def leaves_of(outputs: Iterable[Tensor]) -> set[int]:
    """Identities of the leaves that a backward from these tensors comes to."""
    stack = [x.grad_fn for x in outputs if x.requires_grad]
    leaves, seen = {id(x) for x in outputs if x.requires_grad and x.is_leaf}, set[int]()
    while stack:
        node = stack.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            leaves.add(id(leaf))
        stack += [edge[0] for edge in node.next_edges]
    return leaves
