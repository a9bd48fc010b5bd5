"""Steps that one CUDA graph could launch: what has to be so for it was so in all recorded ones.

host     [load][launch][launch][py][launch] [launch][optimizer]  [load] ...
                       `------------ what a graph saves -----'
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidy.account import host_in_window
from tidy.account.host_kinds import (
    ALLOCATOR,
    CODE_OF,
    GAP,
    HOOK,
    LAUNCHING,
    NOT_RECORDED,
    OPTIMIZER,
    PYTHON,
    RECORDING,
)
from tidy.trace import Intervals, Rows, Trace
from tidy.trace.kept import kept_of_window

from . import devices
from .frames import DATA_LOADER, FETCH
from .graphs import GRAPH_LAUNCHES, KERNEL_LAUNCHES
from .host_idle import host_idle
from .launches import by_start, calls_of
from .waits import waiting_calls

_FEWEST_STEPS = 3  # that two steps launch the same may be chance
# What the host does from one launch to the next that a graph does without.
_SPARED = [
    CODE_OF[kind]
    for kind in (LAUNCHING, PYTHON, OPTIMIZER, HOOK, ALLOCATOR, GAP, RECORDING, NOT_RECORDED)
]
# Where the host does other things (it loads, waits, compiles, computes) for more than this part of
# the time that a graph would save, not all of it can be captured.
_MOST_ELSE = 0.05


class Captured(NamedTuple):
    """What one graph a step does without.

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
    """What graphs would save if all of a step were captured; None where it cannot be, as it is.

    A graph launches the same kernels each time, without the host. So all steps have launched the
    same kernels in the same order, on inputs of the same sizes as far as they are known. Nothing
    waited for the device between a step's first launch and its last, no batch was fetched and no
    graph launched, and the host did little but launch. Beside a modelled device the host's time is
    tidy.runtime's, and says nothing of graphs.
    """
    if trace.device_is_modelled:
        return None
    edges = np.array(trace.window.step_ranges, np.int64).reshape(-1, 2)
    calls = _launches_by_step(trace, edges)
    if calls is None or calls.shape[1] < 2:
        return None
    begin, end = trace.end_ns[calls[:, 0]], trace.end_ns[calls[:, -1]]
    host = Intervals(begin, end)
    fetches = trace.rows_named(FETCH, f"{DATA_LOADER}__next__", "enumerate(DataPipe)#*")
    others = np.concatenate([waiting_calls(trace), calls_of(trace, *GRAPH_LAUNCHES), fetches])
    if host.contains(trace.start_ns[others]).any():
        return None
    if any(host.overlaps(each.start_ns, each.end_ns) for each in host_idle(trace).stretches):
        return None
    device = max(trace.devices_used, key=lambda each: len(trace.rows_of_device(each)))
    pieces = host_in_window(trace, device)
    pieces = pieces.at(devices.all_idle(trace).contains(pieces.start_ns))
    spent_ns, spared = pieces.end_ns - pieces.start_ns, np.isin(pieces.kind, _SPARED)
    meanwhile = host.contains(pieces.start_ns)
    if spent_ns[meanwhile & ~spared].sum() > _MOST_ELSE * spent_ns[meanwhile].sum():
        return None
    optimizer = trace.time_of(trace.rows_named("Optimizer.step#*", "Optimizer.zero_grad#*"))
    idle = Intervals(pieces.start_ns[spared], pieces.end_ns[spared])
    return Captured(host, idle, host - optimizer, _work_of(trace)[calls[:, 1:]].ravel())


def _launches_by_step(trace: Trace, edges: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The calls that launch kernels, a row for each step; None unless all launch the same."""
    calls = by_start(trace, calls_of(trace, *KERNEL_LAUNCHES))
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
    ops = trace.caller[by_step]
    sizes = np.where(ops >= 0, trace.inputs_id[ops], -1)  # those of a growing cache differ
    alike = all((each == each[0]).all() for each in (trace.name_id[work], sizes))
    return by_step if alike else None


def _work_of(trace: Trace) -> Rows:
    """For each row the device work that it launched, as a call, or -1."""
    work = np.full(len(trace), -1, np.int64)
    rows = trace.device_rows
    known = trace.caller[rows] >= 0
    work[trace.caller[rows[known]]] = rows[known]
    return work
