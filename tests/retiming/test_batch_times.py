"""Batches of worker processes, shown on the times of lightly recorded steps.

Two loops over a loader are simulated, one as if it was recorded in full and one as if lightly, and
cut out of each are some steps. Each batch takes `receive_ms` from its worker to the loop, so that
this is what a fetch takes after its batch is ready, or all of it where the batch was ready before.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest

from tidy.profiler.worker_ranges import append_worker_ranges, worker_header
from tidy.retiming.batch_times import as_in_light_steps, fetched
from tidy.retiming.light import light_steps
from tidy.retiming.time_map import time_map
from tidy.runtime.observe.worker_batches import WorkerBatch
from tidy.trace import Trace, TraceInfo, build_trace
from tidy.trace.kinds import EventKind
from tidy.trace.loader_fetches import find_fetches
from tidy.trace.loader_workers import find_loader_workers
from tidy.trace.raw_columns import RawColumns, Track

from ..trace.loader_loop import Loop

_MAIN = Track(1, 1)
_MS = 1_000_000


class Recorded(NamedTuple):
    """Some steps of a loop: rows, when steps ended, and all batches of the loop."""

    raw: RawColumns
    ends_ns: list[int]
    batches: list[WorkerBatch]


def _recorded(loop: Loop, first: int, count: int) -> Recorded:
    events = loop.written()
    marks = [each for each in events if each["name"].startswith("ProfilerStep")][first:][:count]
    starts = [round(each["ts"] * 1000) for each in marks]
    ends_ns = [*starts, round((marks[-1]["ts"] + marks[-1]["dur"]) * 1000)]
    raw, batches = RawColumns(), list[WorkerBatch]()
    for each in events:
        start_ns, end_ns = round(each["ts"] * 1000), round((each["ts"] + each["dur"]) * 1000)
        name = each["name"]
        if name.startswith("DataLoader worker"):
            worker, batch = int(name.split()[2][:-1]), int(name.split()[-1])
            spent = end_ns - start_ns, 0, 0
            which = 0, worker, loop.workers, each["tid"], batch
            batches.append(WorkerBatch(*which, start_ns, end_ns, *spent))
        elif name.startswith("enumerate") and ends_ns[0] <= start_ns < ends_ns[-1]:
            _add(raw, name, EventKind.Annotation, start_ns, end_ns)
            _add(raw, "aten::mm", EventKind.TorchOp, end_ns + 1000, end_ns + 2000)
    return Recorded(raw, ends_ns, batches)


def _add(raw: RawColumns, name: str, kind: EventKind, start_ns: int, end_ns: int) -> None:
    raw.append(
        1,
        name_id=raw.strings.names[name],
        kind=kind,
        start_ns=start_ns,
        duration_ns=end_ns - start_ns,
        track_id=raw.strings.tracks[_MAIN],
    )


def _shown(full: Recorded, light: Recorded) -> Trace:
    steps = light_steps(light.raw, [light.ends_ns], _MAIN)
    assert steps is not None
    table, flows = full.raw.join()
    bounds = list(pairwise(full.ends_ns))
    times = time_map(table, flows, full.raw.strings, bounds, steps, *np.zeros((2, len(bounds))))
    assert times is not None
    mine = (table, full.raw.strings, bounds, _MAIN, full.batches)
    there = (steps.table, steps.strings, steps.recorded, _MAIN, light.batches)
    spans = [(each.ends_ns[0], each.ends_ns[-1]) for each in (full, light)]
    batches = as_in_light_steps(fetched(*mine, spans[0]), fetched(*there, spans[1]), times)
    times.change(table, full.raw.strings)
    append_worker_ranges(full.raw, 1, batches)
    return build_trace(full.raw, TraceInfo(header=dict(worker_header(batches))))


@pytest.mark.parametrize("receive_ms", [0.1, 3])
@pytest.mark.parametrize("full_step_ms", [1, 12, 30])
@pytest.mark.parametrize("first_light", [20, 21])
@pytest.mark.parametrize("light_count", [4, 5, 8])
def test_ready_as_in_light_steps(
    receive_ms: float, full_step_ms: float, first_light: int, light_count: int
) -> None:
    light = Loop(workers=2, batch_ms=40, step_ms=1, receive_ms=receive_ms, count=60)
    full = Loop(workers=2, batch_ms=40, step_ms=full_step_ms, receive_ms=receive_ms, count=60)
    trace = _shown(_recorded(full, 4, 8), _recorded(light, first_light, light_count))
    workers = find_loader_workers(trace)
    (fetches,) = find_fetches(trace, workers)
    received_ns = fetches.receiving(trace).covered_ns(
        trace.start_ns[fetches.rows], trace.end_ns[fetches.rows]
    )
    np.testing.assert_allclose(received_ns, receive_ms * _MS, atol=1000)
    waited_ns = int(trace.duration_ns[fetches.rows].sum())
    # Of two fetches one waits, about as long as a batch takes.
    assert waited_ns == pytest.approx(8 * (20 - 1) * _MS, rel=0.3)
    busy_ns = sum(each.total_ns for each in workers.loaders[0].busy)
    assert busy_ns == pytest.approx(2 * 8 * 20 * _MS, rel=0.3)


def test_batches_that_were_ready_stay_ready() -> None:
    """Four workers keep up, in light steps as in full ones."""
    full, light = (
        Loop(workers=4, batch_ms=8, step_ms=ms, receive_ms=0.1, count=60) for ms in (9, 3)
    )
    trace = _shown(_recorded(full, 10, 6), _recorded(light, 20, 6))
    (fetches,) = find_fetches(trace)
    assert (fetches.made_ns <= trace.start_ns[fetches.rows]).all()
