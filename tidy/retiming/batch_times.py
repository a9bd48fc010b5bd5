"""Batches of worker processes, and when they were ready on the times of lightly recorded steps.

    recorded in full     fetch 3 |.|      its batch was ready long before
    recorded lightly     fetch 9 |.......73 ms.......|
    shown                fetch 3 |.......73 ms.......|    and its batch is ready when 9's was

Which fetches wait differs from step to step, and the slower steps are the fewer do. So a batch is
ready as long before the end of its fetch as the batch was that the fetch's counterpart took.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..profiler.worker_ranges import with_times
from ..runtime.observe.worker_batches import WorkerBatch
from ..trace.loader_fetches import FETCH, taken
from ..trace.loader_workers import Epoch, epochs_of, in_order
from ..trace.raw_columns import Column, Strings, Track
from .light import Bounds
from .moments import Numbers, step_of
from .time_map import TimeMap

Key = tuple[int, int, int]  # of a batch: its loader, the epoch and the number there


@dataclass(frozen=True)
class Fetched:
    """The fetches of the steps of a recording, and the batches that they took.

    Attributes:
        ends_ns: of the fetches, ascending, shape (n,).
        place: the step of each, and which one it is there.
        took: the batch of each; None where that is not known.
        batches: all that may have been taken.
        within: those of which a part was made in the recording.
    """

    ends_ns: Numbers
    place: list[tuple[int, int]]
    took: list[Key | None]
    batches: dict[Key, WorkerBatch]
    within: list[Key]


def fetched(
    table: dict[str, Column],
    strings: Strings,
    steps: Bounds,
    main: Track,
    batches: Sequence[WorkerBatch],
    span: tuple[int, int],
) -> Fetched:
    """Return the fetches of a recording.

    Args:
        steps: on the same times.
        batches: on the same times, all that may have been taken.
        span: start and end of the recording.
    """
    is_fetch = (table["name_id"] == strings.names[FETCH]) & (
        table["track_id"] == strings.tracks[main]
    )
    starts = table["start_ns"][is_fetch]
    ends = starts + table["duration_ns"][is_fetch]
    order = np.argsort(ends, kind="stable")
    starts, ends = starts[order], ends[order]
    place, last, rank = list[tuple[int, int]](), -1, 0
    for step in step_of(starts, steps).tolist():
        rank = rank + 1 if step == last else 0
        place.append((step, rank))
        last = step
    by_key, epochs = _epochs(batches, span[0])
    took: list[Key | None] = [None] * len(ends)
    # Where two epochs go on at one time fetches may be of either.
    by_start = sorted((epoch for epoch, _ in epochs), key=lambda epoch: epoch.start_ns)
    if all(each.made_ns.max() <= later.start_ns for each, later in pairwise(by_start)):
        keys = {id(epoch): key for epoch, key in epochs}
        for fetches, epoch, first in taken(ends, [epoch for epoch, _ in epochs]):
            loader, number, first_batch = keys[id(epoch)]
            for batch, fetch in enumerate(fetches.tolist(), first_batch + first):
                key = loader, number, batch
                took[fetch] = key if key in by_key else None
    within = [k for k, e in by_key.items() if e.end_ns > span[0] and e.start_ns < span[1]]
    return Fetched(ends, place, took, by_key, within)


def _epochs(
    batches: Sequence[WorkerBatch], since_ns: int
) -> tuple[dict[Key, WorkerBatch], list[tuple[Epoch, Key]]]:
    """The batches, and the epochs with the keys of their first batches."""
    by_loader: dict[int, list[WorkerBatch]] = {}
    for each in sorted(batches, key=lambda batch: batch.start_ns):
        by_loader.setdefault(each.loader, []).append(each)
    by_key, epochs = dict[Key, WorkerBatch](), list[tuple[Epoch, Key]]()
    for loader, own in by_loader.items():
        numbers = np.array([each.batch for each in own], np.int64)
        ends = np.array([each.end_ns for each in own], np.int64)
        tracks = np.array([each.worker for each in own], np.int32)
        for epoch, some in enumerate(epochs_of(tracks, numbers)):
            by_key |= {(loader, epoch, own[each].batch): own[each] for each in some.tolist()}
            start_ns, first = min(own[each].start_ns for each in some), int(numbers[some[0]])
            made = in_order(numbers[some], ends[some])
            is_whole = first == 0 and start_ns > since_ns
            epochs.append((Epoch(start_ns, made, is_whole), (loader, epoch, first)))
    return by_key, epochs


def as_in_light_steps(full: Fetched, light: Fetched, times: TimeMap) -> list[WorkerBatch]:
    """Return the batches of full steps, by start, ready as those of the light steps were.

    Where no light step tells they keep their place among what the main thread did.

    Args:
        full, light: with times as they were recorded.
        times: what those of full steps become.
    """
    index_of = {place: index for index, place in enumerate(light.place)}
    moved = with_times(
        [full.batches[key] for key in full.within],
        lambda each: times.of(times.main, np.array(each, np.int64)).tolist(),
    )
    shown = dict(zip(full.within, moved, strict=True))
    last, later_ns = None, 0
    ends = times.of(times.main, full.ends_ns).tolist()
    for (step, rank), key, end_ns in zip(full.place, full.took, ends, strict=True):
        other = times.counterparts[step] if step >= 0 else -1
        index = index_of.get((other, rank)) if other >= 0 else None
        like = light.took[index] if index is not None else None
        if key is None or index is None or like is None:
            continue
        later_ns = end_ns - int(light.ends_ns[index])
        shown[key] = _like(full.batches[key], light.batches[like], later_ns)
        last = key, like
    if last is not None:  # what was made ahead of the last fetch
        (loader, epoch, number), (other_loader, other_epoch, other_number) = last
        for key in full.within:
            like = other_loader, other_epoch, other_number + key[2] - number
            if key[:2] == (loader, epoch) and key[2] > number and like in light.batches:
                shown[key] = _like(full.batches[key], light.batches[like], later_ns)
    return _in_turn(shown)


def _like(batch: WorkerBatch, other: WorkerBatch, later_ns: int) -> WorkerBatch:
    """A batch with the times of another one."""
    return batch._replace(
        start_ns=other.start_ns + later_ns,
        end_ns=other.end_ns + later_ns,
        work_ns=other.work_ns,
        cpu_ns=other.cpu_ns,
        queued_ns=other.queued_ns,
        beside_ns=other.beside_ns,
    )


def _in_turn(shown: dict[Key, WorkerBatch]) -> list[WorkerBatch]:
    """The batches by start; none begins before its worker has made the one before."""
    free_ns, found = dict[int, int](), list[WorkerBatch]()
    for key in sorted(shown):
        each = shown[key]
        earliest_ns = free_ns.get(each.pid, each.start_ns)
        start_ns = max(each.start_ns, earliest_ns)
        free_ns[each.pid] = end_ns = max(each.end_ns, start_ns)
        found.append(each._replace(start_ns=start_ns, end_ns=end_ns))
    return sorted(found, key=lambda each: each.start_ns)
