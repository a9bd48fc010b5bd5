"""TDY102: worker processes that load batches too slowly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_

import numpy as np
from numpy.typing import NDArray

from tidy.finding import FixPlace, NotApplicable, NotChecked, Obstacle, Severity
from tidy.savings import Edit
from tidy.trace import Capability, Event, Events, Intervals, Rows, Trace, rows_of, time_text
from tidy.trace.loader_fetches import FETCH, Fetches, find_fetches
from tidy.trace.loader_workers import WorkerGroup, find_loader_workers

from ..base import Match, Matches, Pattern
from ..evidence.device import devices, obstacles
from ..evidence.fixes import edits
from ..evidence.python import frames, loops
from ..evidence.python.made_places import made_at
from ..evidence.time.worker_bound import WaitsFor, WorkerBound, judge
from ..evidence.time.worker_work import Takes, WorkerWork, work_of
from ..examples import AT, FRAME, Abstains, Fires, Quiet, joined, launch, on_gpu, steps
from ..option import LARGE_INFO, LARGE_WARNING, share, warning_share

_KEEP_WORKERS = "make the DataLoader once, with persistent_workers=True"
# Fetches that do not open an epoch; the longest of them is left out.
_FEWEST = 2

# What cheaper items are a remedy for.
_SLOW = (WaitsFor.WORK, WaitsFor.PROCESSORS)

# Without a GPU all that a step does takes processors from the workers.
_NO_WORKERS = NotChecked(
    "what the workers of the loader did was not recorded, and no GPU tells what waits for them",
    "record with `tidy run` or `tidy.profile`",
)

_WORK = launch("aten::mm 30us", "gemm 40us")
_STEP = joined(f"{FETCH} 60us", _WORK)
_FAST = steps(f"{FETCH} 2us", _WORK, count=1, lasts_us=None)


class DataLoaderBottleneck(Pattern):
    """Training waits for batches although worker processes load them.

    What it does: It adds up the time in which batches are fetched from workers while no GPU has
    work; without a GPU, all the time of fetches. The first batch that was recorded does not count,
    nor the first of an iterator that was made while recording, nor the batch that took longest:
    where an epoch begins the workers have nothing ready yet. What is left has to be 5 % of its
    steps. What `tidy run` and `tidy.profile` record tells when each worker was at work, and so what
    the wait is for: where the workers are at work meanwhile, there are too few; where none is,
    their batches take long to receive; where only some are, single batches take longer than others.
    If `tidy run` saw what workers do, it names the function of the user's that takes half of their
    time; one that spends it in a loop of short rounds comes before more workers. A separate finding
    tells if epochs wait for their workers to start.
    Why it costs: The workers make batches more slowly than training uses them up, or what they
    made takes long to get from one process to the other.
    Example: `for batch in DataLoader(data, num_workers=2):` with slow transforms, recorded as

        enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__     for most batches
        DataLoader worker 0: batch 12          the worker is at work meanwhile
        DataLoader worker 1: batch 13

    Instead: If workers are too few, raise `num_workers` (to a worker's time for a batch divided by
    the time of a step), as far as there are processors for them, or cheaper transforms (or
    transforms on the GPU), or fewer and larger files. Where batches take long to receive, send
    less: uint8 rather than float32, fewer tensors. Where they are uneven, use a larger
    `prefetch_factor`. `persistent_workers=True` helps at the start of each epoch. Where workers or
    the script wait for processors, the finding is info: other work of the machine may be what keeps
    them.
    Cannot see: Recordings of two batches or less, loaders of other libraries, and runs without
    steps. Where every few batches one is late, a slow disk may be why. What workers did is known
    where tidy recorded; else runs without a GPU and on a modelled device are not checked. Beside a
    modelled device workers run in real time, so what counts there is how long a worker that has a
    processor takes for a batch, against the modelled step. Of workers that together had less than
    0.1 s of a processor, or that sleep most of the time, no function is named.
    """

    code = "TDY102"
    needs = frozenset[Capability]()
    fix = "raise num_workers or prefetch_factor, or make the transforms cheaper"
    worth_a_word = share(
        LARGE_INFO, "less of the steps is not worth a word (from there XProf says input-bound)"
    )
    warning_from = warning_share(LARGE_WARNING)
    most_of_workers = share(0.5, "a function that takes so much of the workers' time is named")
    examples = (
        Fires("waits", on_gpu(steps(_STEP, count=4, lasts_us=120), frame=FRAME), events=4, at=AT),
        Quiet("one-slow-batch", on_gpu(_FAST, _FAST.replace(" 2us", " 800us", 1), _FAST * 2)),
        Abstains("no-steps", on_gpu(_STEP)),
        Abstains("modelled", "# tidy_modelled_device true\n" + on_gpu(steps(_STEP, count=1))),
        Abstains("cpu-run", steps(f"{FETCH} 90us", count=1)),
    )

    def applies(self, trace: Trace) -> Obstacle | None:
        obstacle = obstacles.without_device(trace)
        if not len(trace.rows_named(FETCH)):
            return obstacle if isinstance(obstacle, NotApplicable) else None
        if not find_loader_workers(trace).loaders:
            if obstacle is not None:
                return _NO_WORKERS if isinstance(obstacle, NotApplicable) else obstacle
            if trace.device_is_modelled:
                return NotChecked(
                    "workers run in real time, beside a modelled device, and were not recorded",
                    "record on the device itself, or with this version of tidy",
                )
        return None if trace.steps else obstacles.not_recorded(trace, Capability.STEPS)

    def find(self, trace: Trace) -> Matches:
        busy, workers = devices.any_busy(trace), find_loader_workers(trace)
        for fetches in find_fetches(trace, workers):
            opens = _opens_an_epoch(trace, fetches.rows, fetches.loaders)
            steady = _steady(trace, fetches.rows, opens)
            rows = steady[trace.in_window(steady)]
            waits = (trace.time_of(rows) - busy) & trace.step_time
            bound = judge(trace, workers, fetches, rows, waits)
            starting = self._starting(trace, fetches.rows, fetches.loaders)
            if starting is not None:
                yield starting[0]
            if starting is None or waits.total_ns > starting[1]:
                counted = fetches.rows[~opens]
                yield from self._too_slow(trace, fetches, counted, rows, bound)

    def _too_slow(
        self,
        trace: Trace,
        fetches: Fetches,
        counted: Rows,
        steady: Rows,
        bound: WorkerBound | None,
    ) -> Iterator[Match]:
        events = Events(trace, counted[trace.in_window(counted)])
        share = _idle_share(trace, steady)
        if trace.device_is_modelled:
            # What the host computes for the device gives workers time that they would not have.
            share = bound.short_by if bound is not None else 0.0
        elif bound is not None and bound.waits_for == WaitsFor.UNKNOWN:
            return  # batches are ready, and soon received: workers have no part in it
        if share < self.worth_a_word or not len(events):
            return
        idle = trace.time_of(event.row for event in events) - devices.any_busy(trace)
        work = None
        if bound is not None and (trace.device_is_modelled or bound.waits_for in _SLOW):
            work = work_of(fetches.loaders, self.most_of_workers)
        place = made_at(trace, "loader", events[0].location)
        if work is not None and work.takes == Takes.ROUNDS:
            place = FixPlace(f"{work.name}() loops", work.location)
        message, fix = _words(trace, bound, work)
        # What else the machine does is not the script's fault, and may not be so the next time.
        is_machine = bound is not None and bound.waits_for == WaitsFor.PROCESSORS
        yield Match(
            events,
            message=message,
            severity=Severity.INFO if is_machine else None,
            cost=idle,
            edit=_edit(trace, events, bound) if trace.in_window([events[0].row])[0] else None,
            fix=fix,
            fix_place=place,
        )

    def _starting(
        self, trace: Trace, fetches: Rows, loaders: Sequence[WorkerGroup]
    ) -> tuple[Match, int] | None:
        """Epochs that start new workers, and how long they take to; None where that is little."""
        late = dict(_starts(trace, fetches, loaders[1:]))
        if len(late) < _FEWEST or not trace.steps:
            return None
        spent = reduce(or_, late.values())
        lasts_ns = trace.steps[-1].end_ns - trace.steps[0].start_ns
        if spent.total_ns < self.worth_a_word * lasts_ns:
            return None
        mean = time_text(spent.total_ns / len(late))
        host = {int(trace.track_id[fetches[0]]): spent}
        match = Match(
            [trace.event(row) for row in late],
            message=f"each epoch starts its workers anew, {mean} until they run",
            severity=Severity.WARNING,
            cost=spent & trace.step_time,
            edit=Edit("workers that stay", host=host, left=(0.0, 0.3)),
            fix=_KEEP_WORKERS,
            fix_place=made_at(trace, "loader", trace.location(int(fetches[0]))),
        )
        return match, spent.total_ns


def _starts(
    trace: Trace, fetches: Rows, loaders: Sequence[WorkerGroup]
) -> Iterator[tuple[int, Intervals]]:
    """The first fetch from each of these loaders, and how long its workers took to start.

    That is from when the iterator is made, where this was recorded, to when the first batch comes,
    but for the time in which a worker makes it.
    """
    made_ns = np.sort(trace.start_ns[trace.rows_named(frames.DATA_LOADER + "_get_iterator")])
    starts, ends = trace.start_ns[fetches], trace.end_ns[fetches]
    for loader in loaders:
        at = int(np.searchsorted(ends, loader.start_ns))
        if at == len(ends):
            continue
        free_ns = int(ends[at - 1]) if at else 0
        begin_ns = max(min(int(starts[at]), loader.start_ns), free_ns)
        made = made_ns[(made_ns >= free_ns) & (made_ns < begin_ns)]
        begin_ns = int(made[-1]) if len(made) else begin_ns
        end_ns = int(ends[at]) - loader.batch_ns
        if end_ns > begin_ns:
            yield int(fetches[at]), Intervals([begin_ns], [end_ns])


def _words(trace: Trace, bound: WorkerBound | None, work: WorkerWork | None) -> tuple[str, str]:
    """Tell what a finding says, and its fix."""
    who = "the GPU" if trace.devices_used else "training"
    if bound is None:
        return f"{who} waits for the workers of the DataLoader", DataLoaderBottleneck.fix
    wait, rest = time_text(bound.wait_ns), f"the rest of a step takes {time_text(bound.step_ns)}"
    count = f"{bound.num_workers} workers" if bound.num_workers > 1 else "1 worker"
    rate = f"make a batch every {time_text(bound.every_ns)}"
    where = ""
    if work:
        where = f"; {work.share:.0%} of the workers' time is in {work.name}()"
        if work.takes != Takes.ROUNDS:  # its fix is made there
            where += f" at {work.location}"
    elif bound.waits_for_its_own:
        where = "; the workers wait for threads or processes of their own"
    if trace.device_is_modelled or bound.waits_for == WaitsFor.WORK:
        message = f"{who} waits for the DataLoader: {count} can {rate}, {rest}{where}"
        return message, _more_workers(bound, work)
    if bound.waits_for == WaitsFor.PROCESSORS:
        them = f"which wait for a processor {bound.queued_share:.0%} of the time that they work"
        if bound.crowd_share > bound.queued_share:
            them = f"while the script waits for processors {bound.crowd_share:.0%} of the time"
        return (
            f"{who} waits for the workers of the DataLoader, {them}{where}",
            f"make {_cheaper(work)}, or run less beside the training on this machine",
        )
    if bound.waits_for == WaitsFor.RECEIVING:
        return (
            f"{who} waits {wait} a batch to receive what the workers of the DataLoader have made",
            "send less: uint8 rather than float32, fewer and smaller tensors, converted on arrival",
        )
    return (
        f"{who} waits {wait} a batch, for single batches that come late: {count} can {rate},"
        f" {rest}",
        "raise prefetch_factor, or make the slow items cheaper",
    )


def _more_workers(bound: WorkerBound, work: WorkerWork | None) -> str:
    if not bound.has_processors:
        return (
            f"make {_cheaper(work)}: {bound.cpu_count} processors have no room for more workers"
            f" than {bound.num_workers} beside the training process"
        )
    is_too_few = bound.batch_ns > bound.enough * bound.step_ns
    workers = f"num_workers={bound.enough}" + (", as there are processors for" * is_too_few)
    if work is not None and work.takes == Takes.ROUNDS:
        return f"first make {_cheaper(work)}; then {workers}"
    cheaper = f"make {_cheaper(work)}" if work is not None else "cheaper items"
    wait = "; workers that mostly wait may outnumber the processors" * bound.outnumber_processors
    return f"{workers}, {'and' if is_too_few else 'or'} {cheaper}{wait}"


def _cheaper(work: WorkerWork | None) -> str:
    if work is None:
        return "the items cheaper"
    if work.takes == Takes.CALLS:
        return f"the work at {work.location} cheaper (store what it makes, or give it less)"
    how = " (whole arrays in place of loops)" if work.takes == Takes.ROUNDS else ""
    return f"{work.name}() cheaper{how}"


def _edit(trace: Trace, events: Sequence[Event], bound: WorkerBound | None) -> Edit | None:
    """The waits that the fix ends; without knowledge of the workers half of them may stay."""
    host = edits.host_time(trace, rows_of(events))
    if bound is None:
        return Edit("batches that are ready", host=host, left=(0.0, 0.5), moves=True)
    if trace.device_is_modelled or bound.waits_for == WaitsFor.WORK:
        if not bound.has_processors:
            return None
        return Edit(f"{bound.enough} workers", host=host, left=bound.left(bound.enough), moves=True)
    if bound.waits_for == WaitsFor.RECEIVING:
        return None
    return Edit("batches that are ready", host=host, left=(0.0, 1.0), moves=True)


def _opens_an_epoch(trace: Trace, rows: Rows, loaders: Sequence[WorkerGroup]) -> NDArray[np.bool_]:
    """Tell for each fetch of a place, by start, whether it takes a first batch of new workers."""
    ends = trace.end_ns[rows]
    made_ns = trace.end_ns[trace.rows_named(frames.DATA_LOADER + "_get_iterator")]
    made_ns = np.sort(np.append(made_ns, [loader.start_ns for loader in loaders]))
    opens = np.zeros(len(rows), bool)
    opens[1:] = np.searchsorted(made_ns, ends[1:]) > np.searchsorted(made_ns, ends[:-1])
    for loader in loaders:  # each worker has a first batch
        first = int(np.searchsorted(ends, loader.start_ns))
        opens[first : first + loader.num_workers] = True
    return opens


def _steady(trace: Trace, rows: Rows, opens: NDArray[np.bool_]) -> Rows:
    """Those fetches of a place that open no epoch, but for the one that waits longest.

    The first of all may open one that began before the recording.
    """
    opens = opens.copy()
    opens[:1] = True
    steady = rows[~opens & (loops.step_of(trace, trace.start_ns[rows]) >= 0)]
    if len(steady) < _FEWEST:
        return steady[:0]
    return np.delete(steady, np.argmax(_idle_ns(trace, steady)))


def _idle_share(trace: Trace, fetches: Rows) -> float:
    """The part of their steps in which devices wait for these fetches."""
    if not len(fetches):
        return 0.0
    lengths = np.array([step.duration_ns for step in trace.steps])
    in_steps = np.unique(loops.step_of(trace, trace.start_ns[fetches]))
    return float(_idle_ns(trace, fetches).sum() / lengths[in_steps].sum())


def _idle_ns(trace: Trace, rows: Rows) -> NDArray[np.int64]:
    return devices.all_idle(trace).covered_ns(trace.start_ns[rows], trace.end_ns[rows])
