"""When the worker processes of data loaders made batches, where a recording tells it.

`tidy run` and `tidy.profile` write each batch as a range `DataLoader worker 0: batch 12` on a track
of its worker, and into the header which workers belong together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .event_table import EventTable
from .intervals import Intervals
from .kinds import EventKind
from .raw_columns import Rows
from .worker_functions import WorkerFunctions, functions_of

HEADER = "tidy_loader_workers"
_RANGE = re.compile(r"DataLoader worker \d{1,9}: batch (\d{1,18})")

_MOST_MISSING = 1000  # batches of an epoch


def range_name(worker: int, batch: int) -> str:
    """Return what the range of a batch is called."""
    return f"DataLoader worker {worker}: batch {batch}"


class Epoch(NamedTuple):
    """The batches of one epoch.

    Attributes:
        start_ns: when the first one was begun.
        made_ns: when each was ready, in the order of delivery; -1 for one that was not recorded.
        is_whole: whether the fetch that takes the first one is known to be there.
    """

    start_ns: int
    made_ns: Rows
    is_whole: bool


@dataclass(frozen=True)
class WorkerGroup:
    """The workers that one iterator over a loader has.

    Attributes:
        num_workers: how many it has, also those that made no batch.
        cpu_share: how much of their work they had a processor, 0 to 1.
        queued_share: how much of it they could have worked but had none.
        beside_share: how many processors other threads of a worker, and processes that it started,
            had meanwhile, on average.
        busy: when each worker was at work.
        batch_ns: how long a batch takes on average, in real time also beside a modelled device.
        epochs: those that were recorded, by start.
        functions: what was seen of them.
    """

    num_workers: int
    cpu_share: float
    queued_share: float
    beside_share: float
    busy: tuple[Intervals, ...]
    batch_ns: int
    epochs: tuple[Epoch, ...]
    functions: WorkerFunctions

    @property
    def start_ns(self) -> int:
        """When the first batch was begun."""
        return self.epochs[0].start_ns

    @property
    def batch_count(self) -> int:
        """How many batches were recorded."""
        return sum(int(np.count_nonzero(epoch.made_ns >= 0)) for epoch in self.epochs)

    @property
    def known(self) -> Intervals:
        """From the first batch until the first worker has sent its last.

        What a worker was about after that is not known: a recording has no batch that was still
        being made at its end.
        """
        return Intervals([self.start_ns], [min(int(each.ends_ns[-1]) for each in self.busy)])


@dataclass(frozen=True)
class LoaderWorkers:
    """All that a trace tells of worker processes.

    Attributes:
        cpu_count: how many processors the process might use; None where it is not known.
        loaders: by the start of their first batch.
    """

    cpu_count: int | None
    loaders: tuple[WorkerGroup, ...]


def find_loader_workers(trace: EventTable) -> LoaderWorkers:
    """Return the workers of a trace; no loaders where none were recorded."""
    batch_of_name = {
        number: int(match[1])
        for number in trace.names_fitting("DataLoader worker *: batch *")
        if (match := _RANGE.fullmatch(trace.names[number]))
    }
    said = trace.info.header.get(HEADER)
    said = said if isinstance(said, Mapping) else {}
    cpu_count = _count(said.get("cpu_count")) or None
    rows = np.flatnonzero(trace.kind == EventKind.Other)
    rows = rows[np.isin(trace.name_id[rows], list(batch_of_name))]
    rows = rows[np.argsort(trace.start_ns[rows], kind="stable")]
    if not len(rows):
        return LoaderWorkers(cpu_count, ())
    pids = np.array([_number(track.tid) for track in trace.tracks], np.int64)[trace.track_id[rows]]
    loaders = list[WorkerGroup]()
    for own_pids, entry in _groups(said, pids):
        chosen = np.isin(pids, own_pids)
        own, names = rows[chosen], trace.name_id[rows[chosen]]
        numbers = np.array([batch_of_name[int(name)] for name in names], np.int64)
        tracks = trace.track_id[own]
        by_worker = (trace.time_of(own[tracks == track]) for track in np.unique(tracks))
        busy = [time for time in by_worker if len(time)]
        if not busy:
            continue
        epochs = tuple(
            Epoch(
                int(trace.start_ns[own[each]].min()),
                in_order(numbers[each], trace.end_ns[own[each]]),
                later > 0 or int(numbers[each].min()) == 0,
            )
            for later, each in enumerate(epochs_of(tracks, numbers))
        )
        loaders.append(
            WorkerGroup(
                num_workers=max(_count(entry.get("num_workers")), len(busy)),
                cpu_share=_share(entry.get("cpu_share")),
                queued_share=_share(entry.get("queued_share")),
                beside_share=_positive(entry.get("beside_share")),
                busy=tuple(busy),
                batch_ns=_count(entry.get("batch_ns")) or int(trace.duration_ns[own].mean()),
                epochs=epochs,
                functions=functions_of(entry),
            )
        )
    return LoaderWorkers(cpu_count, tuple(sorted(loaders, key=lambda each: each.start_ns)))


def epochs_of(tracks: NDArray[np.int32], numbers: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Indexes of batches for each epoch, in the order in which they are delivered.

    A worker's numbers grow until its next epoch begins. Batches come by start, shape (n,).
    """
    epoch = np.zeros(len(numbers), np.int64)
    for track in np.unique(tracks):
        own = np.flatnonzero(tracks == track)
        epoch[own[1:]] = np.cumsum(np.diff(numbers[own]) <= 0)
    order = np.lexsort((numbers, epoch))
    return np.split(order, np.flatnonzero(np.diff(epoch[order])) + 1)


def in_order(numbers: NDArray[np.int64], ends_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ends of an epoch's batches by number, from the first one on; -1 for one that is
    missing.

    They are given in the order of their numbers.
    """
    places = numbers - numbers[0]
    if places[-1] >= 2 * len(numbers) + _MOST_MISSING:
        return ends_ns[:1]
    made = np.full(places[-1] + 1, -1)
    made[places] = ends_ns
    return made


def _number(tid: object) -> int:
    return tid if isinstance(tid, int) and abs(tid) < 2**62 else -1


def _count(value: object) -> int:
    return value if type(value) is int and 0 < value < 2**62 else 0


def _share(value: object) -> float:
    return min(_positive(value), 1.0)


def _positive(value: object) -> float:
    return value if type(value) is float and 0 <= value < 2**62 else 0.0


def _groups(
    said: Mapping[str, Any], pids: NDArray[np.int64]
) -> Iterator[tuple[list[int], Mapping[str, Any]]]:
    """The numbers of the workers of each loader, and what the header says of it.

    All are of one loader where the header does not tell.
    """
    entries, told = said.get("loaders"), False
    for entry in entries if isinstance(entries, list) else ():
        own = entry.get("pids") if isinstance(entry, Mapping) else None
        own = [pid for pid in own if _count(pid)] if isinstance(own, list) else []
        if own:
            told = True
            yield own, entry
    if not told:
        yield np.unique(pids).tolist(), {}
