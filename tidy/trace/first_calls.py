"""Calls that take long because a process makes them for the first time.

They load kernels and libraries, begin to use a device, or search for an algorithm. Some tell it by
their names; others by what is new in them, and by how much longer they take than their like.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from .distinct import distinct
from .event_table import EventTable
from .intervals import Intervals
from .kinds import EventKind
from .raw_columns import Rows
from .units import time_text

# A call so long, and so many times as long as its like, does more than they do.
_LONG_NS, _MANY_TIMES = 1_000_000, 20
# So much of an operator is its own, and not of calls of the driver.
_LONG_OP_NS = 5_000_000
# A call of which there are so few has no like; this long it is no part of what a run repeats.
_FEW, ONE_OFF_NS = 3, 5_000_000
_WAITS = r".*([Ss]ynchronize|[Mm]emcpy|EventWait|EventsWait|QueueFinish|::run).*"
OF_EPOCHS = "the start of a loader"
# What happens once: kernels and libraries are loaded, memory is taken from the driver, an algorithm
# is searched, code is compiled, a loader starts its workers. First the words that a reason says.
ONCE = (
    (
        "first launches",
        r"Lazy Function Loading|Runtime Triggered Module Loading|(cuda|hip)GetDeviceProperties\w*"
        r"|(cuda|cu|hip)(Module(?!Launch|Occupancy)|Library)\w*|cudaFuncGetAttributes",
    ),
    (
        "allocator growth",
        r"(cuda|hip)(Malloc|MallocAsync|HostAlloc|MallocHost)\w*|cuMem(Create|Map)",
    ),
    ("algorithm search", r"cudnnFind\w*|cudnnGet\w*Algorithm\w*|miopenFind\w*|.*[Aa]utotun.*"),
    (
        "compilation",
        r".*(_compile|compile_fx|inductor_codecache|dynamo_timed|CompiledFxGraph.*compile"
        r"|triton\.compile|backend_compile|entire_frame_compile).*"
        r"|.*torch/_(dynamo|inductor)/(?!eval_frame|external_utils)[^(]*\(\d+\): .*",
    ),
    (OF_EPOCHS, r".*: _get_iterator|enumerate\(DataLoader\)#\w+\.__init__"),
)


def first_calls(trace: EventTable) -> dict[int, str]:
    """Find what takes long because it is the first: calls of a driver, and operators that launch.

    No device works meanwhile, and none waits for one. Operators are those whose own time is long,
    such as one that loads cuDNN.

    Returns:
        Rows with the reason, as a report says it after the length.
    """
    return _first_ops(trace) | _first_driver_calls(trace) if len(trace.device_rows) else {}


def _first_driver_calls(trace: EventTable) -> dict[int, str]:
    calls = trace.rows_of_kind(EventKind.Runtime)
    long = calls[trace.duration_ns[calls] > _LONG_NS]
    long = long[~named(trace, _WAITS)[trace.name_id[long]]]
    long = long[while_idle(trace, trace.time_of(trace.device_rows), long)]
    launches, reasons = _first_launches(trace), dict[int, str]()
    launch_names = np.unique(trace.name_id[launches])
    for name in np.unique(trace.name_id[long]).tolist():
        like, mine = (rows[trace.name_id[rows] == name] for rows in (calls, long))
        if len(like) > _FEW:
            mine = mine[trace.duration_ns[mine] > _MANY_TIMES * np.median(trace.duration_ns[like])]
        new = mine[np.isin(mine, [*launches, like[trace.start_ns[like].argmin()]])]
        once = mine[trace.duration_ns[mine] > ONE_OFF_NS]
        if len(once) <= _FEW and (len(like) <= _FEW or name not in launch_names):
            reasons |= dict.fromkeys(once.tolist(), "made once in a run")
        if len(like) > _FEW:
            reasons |= dict.fromkeys(new.tolist(), "the first call of its kind")
        new = new[np.isin(new, launches)]
        reasons |= dict.fromkeys(new.tolist(), "the first launch of its kernel")
    return reasons


def _first_ops(trace: EventTable) -> dict[int, str]:
    ops = distinct(trace.launching_ops(trace.device_rows))
    ops = ops[ops >= 0]
    ops = ops[trace.kind[ops] == EventKind.TorchOp]
    long, reasons = ops[trace.self_ns[ops] > _LONG_OP_NS], dict[int, str]()
    busy = trace.time_of(trace.device_rows)
    for name in np.unique(trace.name_id[long]).tolist():
        like = ops[trace.name_id[ops] == name]
        row = int(like[trace.start_ns[like].argmin()])
        if len(like) <= _FEW:
            continue
        own_ns = trace.self_ns[row] - trace.time_of(trace.runtime_rows_under(row)).total_ns
        usual_ns = np.median(trace.duration_ns[like])
        is_long = own_ns > _LONG_OP_NS and trace.duration_ns[row] > _MANY_TIMES * usual_ns
        if is_long and while_idle(trace, busy, np.array([row]))[0]:
            reasons[row] = f"the first call of it, others take {time_text(usual_ns)}"
    return reasons


def named(trace: EventTable, pattern: str) -> NDArray[np.bool_]:
    """Tell for each name of the trace whether it fits wholly."""
    fits = re.compile(pattern).fullmatch
    return np.array([fits(name) is not None for name in trace.names], bool)


def _first_launches(trace: EventTable) -> Rows:
    """The calls that launch a kernel, of each name, for the first time."""
    rows = trace.device_rows
    rows = rows[trace.caller[rows] >= 0]
    calls = trace.caller[rows].astype(np.int64)
    order = np.argsort(trace.start_ns[calls], kind="stable")
    _, first = np.unique(trace.name_id[rows[order]], return_index=True)
    return calls[order[first]]


def while_idle(trace: EventTable, busy: Intervals, calls: Rows) -> NDArray[np.bool_]:
    """In which of these calls no device works for more than half of their time."""
    worked = busy.covered_ns(trace.start_ns[calls], trace.end_ns[calls])
    return np.less(2 * worked, trace.duration_ns[calls])
