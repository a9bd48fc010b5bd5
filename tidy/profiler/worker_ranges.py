"""Batches that worker processes of a loader made, as ranges on a track of each worker.

    DataLoader worker 0   |batch 0    |batch 2    |          |batch 4    |
    DataLoader worker 1   |batch 1       |batch 3       |          |batch 5 ...

A track has the number of the worker's process where that of a thread stands, within the process
that trains. Kineto has no events of other processes; the name follows its other words. The ranges
are no part of the tree of host events. What they do not say (which workers are of one loader, how
long they had a processor) stands in the header.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..runtime.observe.worker_batches import WorkerBatch
from ..trace.kinds import EventKind
from ..trace.loader_workers import HEADER, range_name
from ..trace.raw_columns import RawColumns
from ..trace.worker_functions import WorkerFunctions, together
from .kineto_device import Timed, naming, ranged
from .processors import usable_cpus


def with_times(
    batches: Sequence[WorkerBatch], of: Callable[[list[int]], Iterable[int]]
) -> list[WorkerBatch]:
    """Batches with what their starts and ends become."""
    starts, ends = of([each.start_ns for each in batches]), of([each.end_ns for each in batches])
    times = zip(batches, starts, ends, strict=True)
    return [batch._replace(start_ns=start, end_ns=end) for batch, start, end in times]


def append_worker_ranges(
    raw: RawColumns, pid: int, batches: Sequence[WorkerBatch], later_ns: int = 0
) -> None:
    """Append the rows of batches whose times are Unix times; `later_ns` is added to them."""
    strings = raw.strings
    raw.append(
        len(batches),
        name_id=[strings.names[range_name(each.worker, each.batch)] for each in batches],
        kind=EventKind.Other,
        start_ns=[each.start_ns + later_ns for each in batches],
        duration_ns=[each.end_ns - each.start_ns for each in batches],
        track_id=[strings.tracks[pid, each.pid] for each in batches],
    )


def worker_events(pid: int, batches: Sequence[WorkerBatch]) -> Iterator[Timed]:
    """Events of Kineto's format: the names of the tracks, then each batch."""
    for tid, worker in {each.pid: each.worker for each in batches}.items():
        named = naming("thread_name", pid, tid, {"name": f"DataLoader worker {worker}"})
        yield named, batches[0].start_ns, None
    for each in batches:
        cpu_us, queued_us = each.cpu_ns // 1000, each.queued_ns // 1000
        args = {"Loader": each.loader, "cpu us": cpu_us, "queued us": queued_us}
        name = range_name(each.worker, each.batch)
        span = each.start_ns, each.end_ns
        yield ranged("dataloader_worker", name, (pid, each.pid), span, args)


def worker_header(
    batches: Iterable[WorkerBatch], functions: Mapping[int, WorkerFunctions] | None = None
) -> Mapping[str, Any]:
    """Return what the header of a trace says of the workers; nothing if there are none.

    Args:
        functions: by process, what workers were seen at.
    """
    by_loader: dict[int, list[WorkerBatch]] = {}
    for each in batches:
        by_loader.setdefault(each.loader, []).append(each)
    if not by_loader:
        return {}
    loaders = []
    for own in by_loader.values():
        work_ns = sum(each.work_ns for each in own)
        cpu, queued = (
            round(min(sum(times) / max(work_ns, 1), 1.0), 3)
            for times in ([each.cpu_ns for each in own], [each.queued_ns for each in own])
        )
        beside_ns = sum(each.beside_ns for each in own)
        pids = sorted({each.pid for each in own})
        seen = [functions[pid] for pid in pids if pid in functions] if functions else []
        loaders.append(
            {
                "pids": pids,
                "num_workers": own[0].num_workers,
                "batch_ns": work_ns // len(own),
                "cpu_share": cpu,
                "queued_share": queued,
                "beside_share": round(beside_ns / max(work_ns, 1), 3),
                **(together(seen).header() if seen else {}),
            }
        )
    return {HEADER: {"cpu_count": usable_cpus(), "loaders": loaders}}
