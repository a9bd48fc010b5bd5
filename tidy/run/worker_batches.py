"""When worker processes made batches, on the times of a trace that was put together from pieces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ..profiler.worker_ranges import with_times
from ..runtime.observe.worker_batches import WorkerBatch
from .child.worker_reports import FOLDER, RECORD


def read_worker_batches(folder: Path) -> list[WorkerBatch]:
    """Return what PyTorch's workers reported in Unix time, by start; of a file cut short what is
    whole.
    """
    batches = list[tuple[int, WorkerBatch]]()  # each with the seed of its iterator
    for path in sorted(folder.glob(f"{FOLDER}/*")):
        try:
            text = path.read_bytes()
        except OSError:
            continue
        whole = len(text) // RECORD.size * RECORD.size
        for worker, count, seed, batch, start_ns, end_ns, *on_processor in RECORD.iter_unpack(
            text[:whole]
        ):
            which = 0, worker, count, int(path.name), batch
            times = start_ns, end_ns, end_ns - start_ns, *on_processor
            batches.append((seed, WorkerBatch(*which, *times)))
    return _numbered(sorted(batches, key=lambda pair: pair[1].start_ns))


def _numbered(batches: Sequence[tuple[int, WorkerBatch]]) -> list[WorkerBatch]:
    """Each with the number of its iterator: one seed, and one process for each of its workers."""
    loaders = list[tuple[int, dict[int, int]]]()  # seed, and process by worker
    numbered = []
    for seed, batch in batches:
        for number, (known, pids) in enumerate(loaders):
            if known == seed and pids.setdefault(batch.worker, batch.pid) == batch.pid:
                numbered.append(batch._replace(loader=number))
                break
        else:
            numbered.append(batch._replace(loader=len(loaders)))
            loaders.append((seed, {batch.worker: batch.pid}))
    return numbered


class PieceTimes:
    """Where the times of pieces are in a trace that has them end to end."""

    def __init__(self) -> None:
        self._recorded_ns: list[int] = []
        self._shown_ns: list[int] = []

    @property
    def span_ns(self) -> tuple[int, int]:
        """Start and end of the pieces, in the trace."""
        return (self._shown_ns[0], self._shown_ns[-1]) if self._shown_ns else (0, 0)

    def within(self, batches: Iterable[WorkerBatch]) -> list[WorkerBatch]:
        """Return those of which a part was made between the start of the first piece and the last
        cut.
        """
        if not self._recorded_ns:
            return []
        first_ns, last_ns = self._recorded_ns[0], self._recorded_ns[-1]
        return [each for each in batches if each.end_ns > first_ns and each.start_ns < last_ns]

    def add(self, start_ns: int, cut_ns: int, later_ns: int) -> None:
        """Append the next piece; `later_ns` is added to all of its times."""
        self._recorded_ns += [start_ns, max(cut_ns, start_ns)]
        self._shown_ns += [start_ns + later_ns, max(cut_ns, start_ns) + later_ns]

    def moved(self, batches: Iterable[WorkerBatch]) -> list[WorkerBatch]:
        """Batches as the trace shows them.

        One that was made between two pieces, or before the first, takes no time there.
        """
        if not self._recorded_ns:
            return []
        # Small numbers, which binary floats have exactly.
        first_ns = self._recorded_ns[0]
        known = np.array(self._recorded_ns) - first_ns
        shown = np.array(self._shown_ns) - first_ns

        def of(times_ns: list[int]) -> list[int]:
            found = np.interp(np.array(times_ns, np.int64) - first_ns, known, shown)
            moved: list[int] = (np.rint(found).astype(np.int64) + first_ns).tolist()
            return moved

        return with_times(sorted(batches, key=lambda batch: batch.start_ns), of)
