"""What one CUDA graph for each step saves, where all of a step can be captured."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidy.account import host_in_window
from tidy.account import host_kinds as kinds
from tidy.trace import Intervals, Rows, Trace
from tidy.trace.kept import kept_of_window

from ..device import devices, graphs, launches
from ..python import places
from ..python.frames import DATA_LOADER, FETCH
from . import waits
from .host_idle import host_idle, time_of, usual_time

_FEWEST_STEPS = 3  # that two steps launch the same may be chance
# What the host does from one launch to the next that a graph does without.
_SPARED = [
    kinds.CODE_OF[kind]
    for kind in (
        *kinds.BETWEEN_OPS, kinds.LAUNCHING, kinds.OPTIMIZER, kinds.HOOK, kinds.ALLOCATOR,
        kinds.GAP, kinds.RECORDING, kinds.NOT_RECORDED,
    )
]  # fmt: skip
# Where the host does other things (it loads, waits, compiles, computes) for more than this part of
# the time that a graph would save, not all of it can be captured.
_MOST_ELSE = 0.05


class Captured(NamedTuple):
    """The time that one graph a step does without.

    Attributes:
        host: from the end of each step's first launch to that of its last.
        idle: when no device works because of that, or because of what the host does between steps:
            with a graph it is ahead by then.
        model: the host's time without the optimizer's, where the model alone is captured.
        work: what they launch, which follows without a gap in a graph.
    """

    host: Intervals
    idle: Intervals
    model: Intervals
    work: Rows


@kept_of_window
def captured_steps(trace: Trace) -> Captured | None:
    """Tell what graphs save if all of a step is captured; None where it cannot be, as it is.

    A graph launches the same kernels each time, without the host. So all steps have launched the
    same kernels in the same order, on inputs of the same sizes as far as they are known. Nothing
    waited for the device between a step's first launch and its last, no batch was fetched and no
    graph launched, and in most steps the host did little but launch. Beside a modelled device the
    host's time is tidy.runtime's, and says nothing of graphs.
    """
    if trace.device_is_modelled:
        return None
    calls = launches_by_step(trace, launches.calls_of(trace, *graphs.KERNEL_LAUNCHES))
    if calls is None or calls.shape[1] < 2 or not have_same_sizes(trace, calls):
        return None
    host = Intervals(trace.end_ns[calls[:, 0]], trace.end_ns[calls[:, -1]])
    fetches = trace.rows_named(FETCH, f"{DATA_LOADER}__next__", "enumerate(DataPipe)#*")
    others = np.concatenate(
        [waits.waiting_calls(trace), launches.calls_of(trace, *graphs.GRAPH_LAUNCHES), fetches]
    )
    if host.contains(trace.start_ns[others]).any():
        return None
    device = max(trace.devices_used, key=lambda each: len(trace.rows_of_device(each)))
    pieces = host_in_window(trace, device)
    stretches = host_idle(trace).stretches
    long = [each for each in stretches if host.overlaps(each.start_ns, each.end_ns)]
    by_function = places.grouped(long, lambda each: (*(f.name for f in each.functions[:1]),))
    if any(usual_time(trace, same).total_ns for same in by_function):
        return None
    # What takes long now and then, beside other processes, keeps no step out of a graph.
    stalls = pieces.at(pieces.kind == kinds.CODE_OF[kinds.STALLED])
    accidents = time_of(long) | Intervals(stalls.start_ns, stalls.end_ns)
    host -= accidents
    pieces = pieces.at(devices.all_idle(trace).contains(pieces.start_ns))
    spent_ns, spared = pieces.end_ns - pieces.start_ns, np.isin(pieces.kind, _SPARED)
    meanwhile = host.contains(pieces.start_ns)
    if spent_ns[meanwhile & ~spared].sum() > _MOST_ELSE * spent_ns[meanwhile].sum():
        return None
    optimizer = trace.time_of(trace.rows_named("Optimizer.step#*", "Optimizer.zero_grad#*"))
    idle = Intervals(pieces.start_ns[spared], pieces.end_ns[spared]) - accidents
    return Captured(host, idle, host - optimizer, _work_of(trace)[calls[:, 1:]].ravel())


def launches_by_step(trace: Trace, calls: Rows) -> NDArray[np.int64] | None:
    """Calls that launch kernels, a row for each step; None unless all launch the same kernels."""
    edges = np.array(trace.window.step_ranges, np.int64).reshape(-1, 2)
    calls = launches.by_start(trace, calls)
    step = np.searchsorted(edges[:, 0], trace.start_ns[calls], side="right") - 1
    inside = (step >= 0) & (trace.start_ns[calls] < edges[step, 1]) if len(edges) else step >= 0
    calls, step = calls[inside], step[inside]
    counts = np.bincount(step, minlength=len(edges))
    if len(edges) < _FEWEST_STEPS or (counts != counts[0]).any() or not counts[0]:
        return None
    by_step: NDArray[np.int64] = calls.reshape(len(edges), -1)
    work = _work_of(trace)[by_step]
    if (work < 0).any():
        return None
    return by_step if (trace.name_id[work] == trace.name_id[work[0]]).all() else None


def have_same_sizes(trace: Trace, by_step: NDArray[np.int64]) -> bool:
    """Tell whether all steps launch on inputs of the same sizes, unlike those of a cache."""
    ops = trace.caller[by_step]
    sizes = np.where(ops >= 0, trace.inputs_id[ops], -1)
    return bool((sizes == sizes[0]).all())


def _work_of(trace: Trace) -> Rows:
    """For each row the device work that it launched, as a call, or -1."""
    work = np.full(len(trace), -1, np.int64)
    rows = trace.device_rows
    known = trace.caller[rows] >= 0
    work[trace.caller[rows[known]]] = rows[known]
    return work
