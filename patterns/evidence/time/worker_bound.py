"""Waits of a loop that fetches batches from worker processes, where these were recorded.

fetch       |......wait......|        |......wait......|
worker 0    |#### batch 2 ####|#### batch 4 ####|###     all at work: more workers
worker 0    |## 2 ##|         |## 4 ##|                  ready, not received: smaller batches
worker 1    |## 3 ##|         |## 5 ##|
worker 0    |#### batch 2 ####|                          one at work: uneven batches
worker 1    |## 3 ##|
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from tidy.trace import Intervals, Rows, Trace
from tidy.trace.loader_fetches import Fetches
from tidy.trace.loader_workers import LoaderWorkers

from ..python.loops import step_of

# From this part of the wait on that workers are at work, on average over them, there are too few.
_BUSY = 0.75
# Workers that have so little rest in the steps are too few, however long it takes to receive what
# they make: were that what holds the loop up, they would wait until earlier batches are taken.
_NEVER_REST = 0.9
# From this part of the wait on in which a batch is ready, it is receiving that takes long; where
# that is shorter, it may be what recording adds to a fetch.
_RECEIVES, _SHORT_NS = 0.5, 5_000_000
# Workers that keep up are late by less than this, in the mean, where the scheduler of a machine
# with few processors has them wait for their turn.
_TURN_NS = 1_000_000
# From this share of processor time on the work of a worker needs a processor of its own.
_COMPUTES = 0.5
# The same of processes that it waits for: how long these waited for a processor is not known.
_HAS_COMPUTED = 0.25
_RESTS = 0.5  # of the time that a worker works
_MOST_WORKERS = 64
# Where workers wait for a processor from this part of their work on, so does all else, and when
# something happened tells little.
_CROWDED = 0.25
# The same of the script's own threads. Beside two workers on two processors it is up to a third.
_CROWD = 0.4
# Batches differ in length and come in order, so that workers do not always all work.
_WORST_YIELD = 0.75


class WaitsFor(Enum):
    """The reason for most of the waits."""

    WORK = "work"
    RECEIVING = "receiving"
    UNEVEN = "uneven"
    PROCESSORS = "processors"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class WorkerBound:
    """The workers of a place that fetches, and how they keep up with it.

    Attributes:
        num_workers: of the loader.
        batch_ns: how long a worker takes for a batch; beside a modelled device, with a processor
            for it.
        step_ns: how long a step takes but for its wait.
        wait_ns: the wait in a step.
        received_ns: the part of it in which the batch was ready.
        waits_for: what most of the wait is for.
        cpu_share: how much of its work a worker had a processor.
        queued_share: how much of it it could have worked but had none.
        beside_share: how many processors its other threads and its own processes had meanwhile.
        crowd_share: how much of the time threads of the script waited for a processor, all
            together.
        cpu_count: how many there are.
    """

    num_workers: int
    batch_ns: float
    step_ns: float
    wait_ns: float
    received_ns: float
    waits_for: WaitsFor
    cpu_share: float
    queued_share: float
    beside_share: float
    crowd_share: float
    cpu_count: int | None

    @property
    def every_ns(self) -> float:
        """Tell how often a batch is made where no worker ever waits."""
        return self.batch_ns / self.num_workers

    @property
    def short_by(self) -> float:
        """The part of a step that is waiting where workers alone say how fast batches come."""
        return max(1 - self.step_ns / self.every_ns, 0.0) if self.every_ns else 0.0

    @property
    def has_processors(self) -> bool:
        """Tell whether one more worker has a processor to work on, beside the training process."""
        return self._most > self.num_workers

    @property
    def _most(self) -> int:
        # A worker that waited for its turn may have wanted it for little.
        alone = max(1 - self.queued_share, self.cpu_share, 1e-9)
        computes = self.processors >= _COMPUTES * alone or self.waits_for_its_own
        if self.cpu_count is None or not computes:
            return _MOST_WORKERS
        return max(int((self.cpu_count - 1) / max(self.processors, 1)), 1)

    @property
    def processors(self) -> float:
        """Return how many processors a worker's work takes, with what it waits for of its own."""
        return self.cpu_share + self.beside_share

    @property
    def waits_for_its_own(self) -> bool:
        """Tell whether a worker mostly waits for threads or processes of its own that compute.

        One that computes as well, or waits for a processor, does not wait for them.
        """
        rests = 1 - self.cpu_share - self.queued_share
        return self.beside_share >= _HAS_COMPUTED and rests >= _RESTS

    @property
    def outnumber_processors(self) -> bool:
        """Tell whether enough workers are more than there are processors."""
        return self.cpu_count is not None and self.enough > self.cpu_count

    @property
    def enough(self) -> int:
        """Tell how many workers keep up with the step, as far as there are processors for them."""
        wanted = math.ceil(self.batch_ns / max(self.step_ns, 1))
        return max(min(wanted, self._most), self.num_workers)

    def left(self, workers: int) -> tuple[float, float]:
        """Return the part of the wait that stays with so many workers, at best and at worst."""

        def stays(every_ns: float) -> float:
            wait_ns = max(every_ns - self.step_ns, 0.0) + self.received_ns
            return min(wait_ns / max(self.wait_ns, 1), 1.0)

        # What needs a processor is not made faster than all but one of them can.
        least_ns = self.batch_ns * self.processors / max((self.cpu_count or _MOST_WORKERS) - 1, 1)
        worst_ns = max(self.batch_ns / (_WORST_YIELD * workers), least_ns)
        return stays(max(self.batch_ns / workers, least_ns)), stays(worst_ns)


def judge(
    trace: Trace, workers: LoaderWorkers, fetches: Fetches, rows: Rows, waits: Intervals
) -> WorkerBound | None:
    """Tell what fetches wait for; None where too little is known of the workers.

    Args:
        rows: those of the fetches that are in the window.
        waits: when they wait.
    """
    receiving = waits & fetches.receiving(trace)
    # The median: what comes late now and then waited for a processor.
    each_ns = receiving.covered_ns(trace.start_ns[rows], trace.end_ns[rows])
    received_ns = float(np.median(each_ns)) * len(rows) if len(rows) else 0.0
    seen_ns = busy_ns = steps_ns = busy_in_steps_ns = 0.0
    for loader in fetches.loaders:
        known = trace.step_time & loader.known
        steps_ns += known.total_ns
        known_ns = sum((known & each).total_ns for each in loader.busy)
        busy_in_steps_ns += known_ns / loader.num_workers
        time = (waits & loader.known) - fetches.receiving(trace)
        seen_ns += time.total_ns
        busy_ns += sum((time & each).total_ns for each in loader.busy) / loader.num_workers
    is_unseen = waits.total_ns and not seen_ns + receiving.total_ns
    if not len(rows) or not fetches.loaders or is_unseen:
        return None
    weights = [loader.batch_count for loader in fetches.loaders]
    batch_ns, cpu, queued, beside = np.average(
        [
            (each.batch_ns, each.cpu_share, each.queued_share, each.beside_share)
            for each in fetches.loaders
        ],
        axis=0,
        weights=weights,
    ).tolist()
    if trace.device_is_modelled and queued < 1:
        # What keeps the processors busy is for the most part what stands for the device's work.
        batch_ns, cpu, queued = batch_ns * (1 - queued), min(cpu / (1 - queued), 1.0), 0.0
    num_workers = max(loader.num_workers for loader in fetches.loaders)
    wait_ns = waits.total_ns / len(rows)
    lengths = np.array([step.duration_ns for step in trace.steps])
    steps = np.unique(step_of(trace, trace.start_ns[rows]))
    step_ns = max(float(lengths[steps[steps >= 0]].sum()) / len(rows) - wait_ns, 1.0)
    is_too_slow = batch_ns / num_workers > step_ns
    # With a processor for each they would be fast enough.
    is_queue = is_too_slow and batch_ns * (1 - queued) / num_workers <= step_ns
    if is_queue:
        waits_for = WaitsFor.PROCESSORS
    elif is_too_slow and steps_ns and busy_in_steps_ns >= _NEVER_REST * steps_ns:
        waits_for = WaitsFor.WORK
    elif received_ns >= _RECEIVES * waits.total_ns:
        is_short = received_ns < _SHORT_NS * len(rows)
        waits_for = WaitsFor.UNKNOWN if is_short else WaitsFor.RECEIVING
    elif busy_ns >= _BUSY * seen_ns and is_too_slow:
        waits_for = WaitsFor.WORK
    else:
        waits_for = WaitsFor.UNEVEN
    said = None if trace.device_is_modelled else trace.info.header.get("tidy_queued_share")
    crowd = float(said) if isinstance(said, (int, float)) else 0.0
    if (queued >= _CROWDED or crowd >= _CROWD) and waits_for != WaitsFor.WORK:
        waits_for = WaitsFor.PROCESSORS
    if waits_for in (WaitsFor.UNEVEN, WaitsFor.PROCESSORS) and wait_ns < _TURN_NS:
        waits_for = WaitsFor.UNKNOWN
    return WorkerBound(
        num_workers=num_workers,
        batch_ns=batch_ns,
        step_ns=step_ns,
        wait_ns=wait_ns,
        received_ns=received_ns / len(rows),
        waits_for=waits_for,
        cpu_share=cpu,
        queued_share=queued,
        beside_share=beside,
        crowd_share=crowd,
        cpu_count=workers.cpu_count,
    )
