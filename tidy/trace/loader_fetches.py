"""Which batch each fetch of a loop takes from worker processes, and when that batch was ready.

    fetch       |......wait......|...|
    worker 0    |#### batch 12 ##|            made while the fetch waits; the rest is receiving it

Batches are delivered in order, so the n-th fetch of an epoch takes its n-th batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .intervals import Intervals
from .loader_workers import Epoch, LoaderWorkers, WorkerGroup, find_loader_workers
from .location import Location
from .raw_columns import Rows
from .trace import Trace

FETCH = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
_UNKNOWN = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Fetches:
    """The fetches of one place, by start.

    Attributes:
        made_ns: when the batch of each was ready; far ahead where that is not known.
        loaders: whose batches they take, by start.
    """

    rows: Rows
    made_ns: Rows
    loaders: tuple[WorkerGroup, ...]

    def receiving(self, trace: Trace) -> Intervals:
        """Return the time in which they receive a batch that is ready."""
        begin_ns = np.maximum(trace.start_ns[self.rows], self.made_ns)
        return Intervals(begin_ns, trace.end_ns[self.rows])


def find_fetches(trace: Trace, workers: LoaderWorkers | None = None) -> list[Fetches]:
    """Return the fetches from workers, by place."""
    workers = find_loader_workers(trace) if workers is None else workers
    rows = trace.rows_named(FETCH)
    rows = rows[np.argsort(trace.start_ns[rows], kind="stable")]
    places = dict[Location | None, list[int]]()
    for row in rows.tolist():
        places.setdefault(trace.location(row), []).append(row)
    groups = [np.array(group, np.int64) for group in places.values()]
    return [
        Fetches(group, _made(trace.end_ns[group], loaders), tuple(loaders))
        for group, loaders in zip(groups, _loaders_of(trace, workers, groups), strict=True)
    ]


def _loaders_of(
    trace: Trace, workers: LoaderWorkers, groups: Sequence[Rows]
) -> list[list[WorkerGroup]]:
    """For each group of fetches the loaders whose batches it takes.

    A batch is taken by one of the fetches that end after it was made: most often by the next one.
    """
    taken = list[list[WorkerGroup]]([] for _ in groups)
    if not groups:
        return taken
    ends = np.concatenate([trace.end_ns[rows] for rows in groups])
    by_end = np.argsort(ends, kind="stable")
    group = np.repeat(np.arange(len(groups)), [len(each) for each in groups])[by_end]
    for loader in workers.loaders:
        following = np.searchsorted(
            ends[by_end], np.concatenate([e.made_ns for e in loader.epochs])
        )
        following = following[following < len(ends)]
        if len(following):
            taken[int(np.bincount(group[following]).argmax())].append(loader)
    return taken


def _made(ends_ns: Rows, loaders: Sequence[WorkerGroup]) -> Rows:
    """When the batches of fetches were ready, given the ends of the fetches in order."""
    made = np.full(len(ends_ns), _UNKNOWN)
    epochs = [epoch for loader in loaders for epoch in loader.epochs]
    for known, epoch, first in taken(ends_ns, epochs):
        expected = epoch.made_ns[first : first + len(known)]
        made[known] = np.where(expected < 0, _UNKNOWN, expected)
    return made


def taken(ends_ns: Rows, epochs: Sequence[Epoch]) -> Iterator[tuple[Rows, Epoch, int]]:
    """Tell which fetches take the batches of each epoch, by start, and the place of the first of
    them.

    An epoch whose batches cannot all have been ready is left out.

    Args:
        ends_ns: when the fetches ended, ascending.
    """
    epochs = sorted(epochs, key=lambda epoch: epoch.start_ns)
    bounds = [epoch.start_ns for epoch in epochs] + [_UNKNOWN]
    for number, epoch in enumerate(epochs):
        # The first fetch of an epoch ends after its first batch was made.
        own = np.flatnonzero((ends_ns >= bounds[number]) & (ends_ns < bounds[number + 1]))
        # Of one that began before the recording it is not known which batch came first.
        skipped = 0 if epoch.is_whole else _skipped(ends_ns[own], epoch.made_ns)
        known = own[: len(epoch.made_ns) - skipped]
        if (epoch.made_ns[skipped : skipped + len(known)] <= ends_ns[known]).all():
            yield known, epoch, skipped


def _skipped(ends_ns: Rows, batches: Rows) -> int:
    """How many batches are left out at most, so that each fetch takes one that is ready."""
    for skipped in range(len(batches) - 1, 0, -1):
        count = min(len(batches) - skipped, len(ends_ns))
        if (batches[skipped : skipped + count] <= ends_ns[:count]).all():
            return skipped
    return 0
