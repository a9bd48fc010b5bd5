"""Which batch each fetch of a loop takes from worker processes, and when that batch was ready.

    fetch       |......wait......|...|
    worker 0    |#### batch 12 ##|            made while the fetch waits; the rest is receiving it

Batches are delivered in order, so the n-th fetch of an epoch takes its n-th batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .intervals import Intervals
from .loader_workers import LoaderWorkers, WorkerGroup, find_loader_workers
from .location import Location
from .trace import Trace

FETCH = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
Rows = NDArray[np.int64]
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
        """The time in which they receive a batch that is ready."""
        begin_ns = np.maximum(trace.start_ns[self.rows], self.made_ns)
        return Intervals(begin_ns, trace.end_ns[self.rows])


def find_fetches(trace: Trace, workers: LoaderWorkers | None = None) -> list[Fetches]:
    """The fetches from workers, by place."""
    workers = find_loader_workers(trace) if workers is None else workers
    rows = trace.rows_named(FETCH)
    rows = rows[np.argsort(trace.start_ns[rows], kind="stable")]
    places = dict[Location | None, list[int]]()
    for row in rows.tolist():
        places.setdefault(trace.location(row), []).append(row)
    groups = [np.array(group, np.int64) for group in places.values()]
    found = []
    for group, loaders in zip(groups, _loaders_of(trace, workers, groups), strict=True):
        made_ns = _made(trace.end_ns[group], loaders)
        found.append(Fetches(group, made_ns, tuple(loaders)))
    return found


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
        following = np.searchsorted(ends[by_end], np.concatenate(loader.made_ns))
        following = following[following < len(ends)]
        if len(following):
            taken[int(np.bincount(group[following]).argmax())].append(loader)
    return taken


def _made(ends_ns: Rows, loaders: Sequence[WorkerGroup]) -> Rows:
    """When the batches of fetches were ready, given the ends of the fetches in order."""
    made = np.full(len(ends_ns), _UNKNOWN)
    epochs = [
        (start_ns, each, loader.first if not number else 0)
        for loader in loaders
        for number, (start_ns, each) in enumerate(
            zip(loader.starts_ns, loader.made_ns, strict=True)
        )
    ]
    epochs.sort(key=lambda each: each[0])
    bounds = [each[0] for _, each, _ in epochs] + [_UNKNOWN]
    for number, (_, batches, first) in enumerate(epochs):
        # The first fetch of an epoch ends after its first batch was made.
        own = np.flatnonzero((ends_ns >= bounds[number]) & (ends_ns < bounds[number + 1]))
        # Of one that began before the recording it is not known which batch came first.
        skipped = _skipped(ends_ns[own], batches) if first else 0
        known = own[: len(batches) - skipped]
        expected = batches[skipped : skipped + len(known)]
        if (expected <= ends_ns[known]).all():
            made[known] = np.where(expected < 0, _UNKNOWN, expected)
    return made


def _skipped(ends_ns: Rows, batches: Rows) -> int:
    """How many batches are left out at most, so that each fetch takes one that is ready."""
    for skipped in range(len(batches) - 1, 0, -1):
        count = min(len(batches) - skipped, len(ends_ns))
        if (batches[skipped : skipped + count] <= ends_ns[:count]).all():
            return skipped
    return 0
