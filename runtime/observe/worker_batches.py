"""Who wants to know when the worker processes of a loader made which batch, and how."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import NamedTuple, Protocol


class WorkerBatch(NamedTuple):
    """A batch that a worker made; times are those of `time.perf_counter_ns`.

    A recording that moves `start_ns` and `end_ns` to another clock leaves the lengths as they are.

    Attributes:
        loader: the number of the iterator that asked for it.
        worker: which of its `num_workers` workers this is.
        batch: which one of the epoch, from 0.
        start_ns, end_ns: from when it knew what to make until the batch was ready to be sent.
        work_ns: how long that is.
        cpu_ns: how long of it the worker had a processor.
        queued_ns: how long it could have worked but for others on the processors; 0 where the
            system does not tell. What is left of `work_ns` it slept, or waited for a disk or for
            what follows.
        beside_ns: how long other threads of the worker, and processes that it started, had a
            processor meanwhile, together.
    """

    loader: int
    worker: int
    num_workers: int
    pid: int
    batch: int
    start_ns: int
    end_ns: int
    work_ns: int
    cpu_ns: int
    queued_ns: int
    beside_ns: int = 0


# Called by the thread that received the batch.
listeners: list[Callable[[WorkerBatch], object]] = []


class FetchWatcher(Protocol):
    """What looks on in a worker while a batch is fetched; it is pickled for one started anew."""

    def begin(self, loop: CodeType | None) -> None:
        """Note that a batch is fetched, by what the function with this code calls."""

    def end(self) -> None:
        """It is there, or failed."""

    def close(self) -> None:
        """End the worker."""


# Of workers that are started from now on.
watchers: list[FetchWatcher] = []
