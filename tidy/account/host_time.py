"""What a host thread does at each moment, and the kind of time that is.

A thread's time is cut where any of its events begins or ends; in each piece one event is the
innermost, and one call of the driver may be open in it. The kind of a piece follows from both, and
from the nearest event above that says more than the piece does (a loader's fetch, an optimizer's
step, compilation).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_

import numpy as np
from numpy.typing import NDArray

from ..trace import Capability, EventKind, Intervals, Trace
from ..trace.links import innermost_open_by_start
from ..trace.loader_fetches import find_fetches
from ..trace.tree import build_tree
from .work_kinds import OP_KINDS, op_kind

Rows = NDArray[np.int64]

LOADING = "loading data"
WORKERS = "waiting for the loader's workers"
RECEIVING = "receiving batches from the loader's workers"
WAITING = "waiting for the device"
LAUNCHING = "launching"
PYTHON = "Python between ops"
OPTIMIZER = "optimizer's host work"
ALLOCATOR = "allocator calls"
COMPILING = "compiling and first calls"
COLLECTING = "garbage collection"
CPU_OP = "work on the CPU"
COPYING = "copies that hold the host"
RECORDING = "the recording itself"
GAP = "gaps between kernels"
LOST_IN_GRAPHS = "kernels of graphs that were not recorded"
LOST = "kernels that the profiler lost"
LEFT_OUT = "work that the file leaves out"
NOT_RECORDED = "work queued but none recorded"
UNKNOWN = "unknown"
# Where ranges of two causes hold each other, the cause that stands first counts.
CAUSES = (
    RECEIVING,
    WORKERS,
    LOADING,
    WAITING,
    LAUNCHING,
    PYTHON,
    OPTIMIZER,
    ALLOCATOR,
    COMPILING,
    COLLECTING,
    CPU_OP,
    COPYING,
    RECORDING,
    GAP,
    LOST_IN_GRAPHS,
    LOST,
    LEFT_OUT,
    NOT_RECORDED,
    UNKNOWN,
    *OP_KINDS,
)
_CODE = {cause: code for code, cause in enumerate(CAUSES)}
_NONE = -1

# Calls of runtimes and drivers, by what the host does in them: CUDA's, HIP's, the unified runtime
# and Level Zero below XPU, and MTIA's.
_CALLS = (
    (WAITING, r"\w*Synchronize\w*|(cuda|hip)EventElapsedTime"
     r"|(ur|pi)(EventWait|EventsWait|QueueFinish)\w*"),
    (COPYING, r"(cuda|cu|hip)Memcpy\w*|(ur|pi)\w*Enqueue\w*Mem(cpy|Buffer(Read|Write))\w*"
     r"|zeCommandListAppendMemoryCopy\w*|enqueueCommand memcpy\w*"),
    (ALLOCATOR, r"(cuda|hip)(Malloc|Free|HostAlloc|HostFree|HostRegister)\w*"
     r"|cuMem(Create|Map|Unmap|Release|AddressReserve|SetAccess|Alloc|Free)\w*"
     r"|(ur|pi)\w*USM\w*(Alloc|Free)\w*|zeMem(Alloc|Free)\w*"),
    (COMPILING, r"(cu|hip|cuda)(Module|Library|Kernel|Link)\w*Load\w*|(cu|cuda|hip)Init\w*"
     r"|(cuda|hip)(GetDeviceProperties|FuncGetAttributes|DeviceSetLimit)\w*"
     r"|(cu|cuda)(ModuleGet|LibraryGet)\w*|(ur|pi)(Program|KernelCreate)\w*"
     r"|ze(ModuleCreate|ModuleDynamic|KernelCreate)\w*"),
)  # fmt: skip
# Host ranges and frames that say what everything inside them is.
_RANGES = (
    (WORKERS, r"enumerate\(DataLoader\)#_MultiProcessing.*"),
    (LOADING, r"enumerate\(Data(Loader|Pipe)\)#.*"
     r"|.*(utils|runtime)/data/dataloader\.py\(\d+\): __next__"),
    (OPTIMIZER, r"Optimizer\.(step|zero_grad)#.*|.*/clip_grad\.py\(\d+\): .*"),
    (COMPILING, r".*/torch/_(inductor|dynamo)/(?!eval_frame).*(compile|convert_frame).*\(\d+\): .*"
     r"|.*triton/(compiler|runtime)/(compiler|autotuner)\.py\(\d+\): .*"
     r"|(dynamo|inductor|_compile)[\w.]*(_timed|_compile|compile_fx)\w*"),
    (COLLECTING, r"Python GC|gc_collect|<built-in function collect>|GC generation.*"),
)  # fmt: skip
# An op that launches nothing and takes this long computes on the CPU; shorter ones are views, sizes
# and the like, a part of what it takes to launch.
_COMPUTES_NS = 50_000
_CHUNK = 1 << 17  # pieces that are worked out at once, which bounds the memory for it


def _codes(
    trace: Trace, table: tuple[tuple[str, str], ...], rows: Rows | slice
) -> NDArray[np.int8]:
    """For each name that rows have the code of the first entry that fits it wholly, or -1."""
    entries = (f"(?P<_{_CODE[cause]}>{text})" for cause, text in table)
    fits = re.compile("|".join(entries), re.IGNORECASE).fullmatch
    codes = np.full(max(len(trace.names), 1), _NONE, np.int8)
    for name in np.flatnonzero(np.bincount(trace.name_id[rows])).tolist():
        match = fits(trace.names[name])
        if match is not None and match.lastgroup is not None:
            codes[name] = int(match.lastgroup[1:])
    return codes


@dataclass(frozen=True, slots=True)
class ThreadTime:
    """A thread's time in pieces: piece i is [starts_ns[i], starts_ns[i + 1]).

    Attributes:
        cause: index into `CAUSES`.
        row: the innermost tree row or call in it, -1 where nothing is open.
    """

    starts_ns: NDArray[np.int64]
    cause: NDArray[np.int8]
    row: NDArray[np.int32]


class HostTime:
    """The pieces of each host thread of a trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._pieces: dict[int, ThreadTime] = {}
        self._is_cpu_run = Capability.DEVICE not in trace.capabilities

    @cached_property
    def _call_codes(self) -> NDArray[np.int8]:
        return _codes(self._trace, _CALLS, self._trace.rows_of_kind(EventKind.Runtime))

    @cached_property
    def _range_codes(self) -> NDArray[np.int8]:
        return _codes(self._trace, _RANGES, slice(self._trace.tree_count))

    @cached_property
    def _receiving(self) -> Intervals:
        """When a batch is fetched that a worker is known to have ready."""
        received = (each.receiving(self._trace) for each in find_fetches(self._trace))
        return reduce(or_, received, Intervals())

    @cached_property
    def _op_codes(self) -> NDArray[np.int8]:
        return np.array([_CODE[op_kind(name)] for name in self._trace.names] or [0], np.int8)

    @cached_property
    def main(self) -> int:
        """The track of the thread that runs the steps; -1 where there is no host event at all.

        It is the thread of the steps' ranges, else the one that launches most, else that with most
        operators.
        """
        trace, count = self._trace, self._trace.tree_count
        rows = trace.rows_named("ProfilerStep#*", "Optimizer.step#*")
        for chosen in (
            rows[rows < count],
            trace.rows_of_kind(EventKind.Runtime),
            np.flatnonzero(trace.kind[:count] == EventKind.TorchOp),
            np.arange(count),
        ):
            if len(chosen):
                return int(np.bincount(trace.track_id[chosen]).argmax())
        return -1

    @cached_property
    def _launches(self) -> NDArray[np.bool_]:
        """For each tree row whether anything in its outermost op launches device work."""
        trace = self._trace
        rows = trace.device_rows
        call = trace.caller[rows]
        op = np.where(call >= trace.tree_count, trace.caller[call], call)
        count = np.bincount(op[op >= 0], minlength=trace.tree_count)[: trace.tree_count]
        total = np.zeros(trace.tree_count + 1, np.int32)
        np.cumsum(count, out=total[1:])
        inside: NDArray[np.bool_] = total[trace.subtree_end[: trace.tree_count]] > total[:-1]
        outermost = self.outermost_op
        return np.where(outermost >= 0, inside[outermost], inside)

    @cached_property
    def outermost_op(self) -> NDArray[np.int32]:
        """For each tree row the outermost op it is in, itself included, or -1."""
        trace, count = self._trace, self._trace.tree_count
        rows = np.flatnonzero(trace.kind[:count] == EventKind.TorchOp)
        # An op is outermost where no op before it is still open: depth-first, ends grow within one.
        ends = trace.subtree_end[rows]
        outer = rows[rows >= np.append(-1, np.maximum.accumulate(ends))[:-1]].astype(np.int32)
        ends = trace.subtree_end[outer]
        opened = np.zeros(count + 1, np.int8)
        opened[outer] += 1
        opened[ends] -= 1
        result = np.full(count, -1, np.int32)
        result[np.cumsum(opened[:count], dtype=np.int8) > 0] = np.repeat(outer, ends - outer)
        return result

    def pieces(self, track_id: int) -> ThreadTime:
        """The pieces of one thread, over all of the trace's time."""
        if track_id not in self._pieces:
            self._pieces[track_id] = self._cut(track_id)
        return self._pieces[track_id]

    def _cut(self, track_id: int) -> ThreadTime:
        if track_id < 0:
            return ThreadTime(np.empty(0, np.int64), np.empty(0, np.int8), np.empty(0, np.int32))
        trace, count = self._trace, self._trace.tree_count
        tree = np.flatnonzero(trace.track_id[:count] == track_id)
        tree = tree[trace.duration_ns[tree] > 0]
        calls = trace.rows_of_kind(EventKind.Runtime)
        calls = calls[(trace.track_id[calls] == track_id) & (trace.duration_ns[calls] > 0)]
        bounds = [
            column[rows] for rows in (tree, calls) for column in (trace.start_ns, trace.end_ns)
        ]
        said = self._range_codes[trace.name_id[tree]]
        receiving = Intervals()
        if (said == _CODE[WORKERS]).any():
            receiving = self._receiving & trace.time_of(tree)
        bounds += [receiving.starts_ns, receiving.ends_ns]
        starts = np.concatenate([*bounds, [np.iinfo(np.int64).min]])
        starts.sort(kind="stable")  # which merges what is sorted already
        starts = starts[np.append(True, starts[1:] > starts[:-1])]
        # Ranges are asked for by time: what runs in one need not hang below it in the tree.
        ranges = [
            (code, trace.time_of(tree[said == code]))
            for code in reversed(range(len(CAUSES)))
            if (said == code).any()
        ]
        ranges.append((_CODE[RECEIVING], receiving))
        calls = _by_start(trace, calls)
        thread = _Thread(_by_start(trace, tree), calls, _parents(trace, calls), ranges)
        cause, row = np.empty(len(starts), np.int8), np.empty(len(starts), np.int32)
        for first in range(0, len(starts), _CHUNK):
            part = slice(first, first + _CHUNK)
            cause[part], row[part] = self._at(starts[part], thread)
        return ThreadTime(starts, cause, row)

    def _at(self, times_ns: Rows, thread: _Thread) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
        """The cause of a thread's time from each of these times on, and the event it is in."""
        trace = self._trace
        row, call = _open_at(trace, times_ns, thread.tree), _open_call(trace, times_ns, thread)
        cause = np.full(len(times_ns), _CODE[PYTHON], np.int8)
        in_tree = row >= 0
        held = row[in_tree]
        op = self.outermost_op[held]
        in_op = op >= 0
        if self._is_cpu_run:
            kinds = np.where(in_op, self._op_codes[trace.name_id[held]], _CODE[PYTHON])
        else:
            computes = in_op & ~self._launches[held]
            computes &= trace.duration_ns[np.maximum(op, 0)] >= _COMPUTES_NS
            kinds = np.where(in_op, _CODE[LAUNCHING], _CODE[PYTHON])
            kinds = np.where(computes, _CODE[CPU_OP], kinds)
        cause[in_tree] = kinds
        for code, time in thread.ranges:
            cause[time.contains(times_ns)] = code
        in_call = call >= 0
        of_call = self._call_codes[trace.name_id[call[in_call]]]
        plain = np.where(cause[in_call] == _CODE[OPTIMIZER], _CODE[OPTIMIZER], _CODE[LAUNCHING])
        cause[in_call] = np.where(of_call < 0, plain, of_call)
        return cause, np.where(in_call, call, row).astype(np.int32)


@dataclass(frozen=True, slots=True)
class _Thread:
    """What one thread did: its tree rows and calls by start, and the time in ranges of a cause.

    `outer_call` has for each call the number of the call that it was made in, -1 for none.
    """

    tree: Rows
    calls: Rows
    outer_call: NDArray[np.int32]
    ranges: list[tuple[int, Intervals]]


def _by_start(trace: Trace, rows: Rows) -> Rows:
    return rows[np.argsort(trace.start_ns[rows], kind="stable")]


def _open_at(trace: Trace, times_ns: Rows, rows: Rows) -> Rows:
    # An event that ends at a time is over by then.
    return innermost_open_by_start(times_ns + 1, rows, trace.start_ns, trace.end_ns, trace.parent)


def _parents(trace: Trace, calls: Rows) -> NDArray[np.int32]:
    """Of calls by start the number of the one that each was made in: a driver's in a runtime's."""
    start, duration = trace.start_ns[calls], trace.duration_ns[calls]
    if not len(calls) or (start[1:] >= np.maximum.accumulate(start + duration)[:-1]).all():
        return np.full(len(calls), -1, np.int32)
    numbers = np.arange(len(calls))
    alone = np.full(len(calls), -1, np.int32)
    tree = build_tree(start, duration, np.zeros_like(alone), numbers, alone, coarse_clock=False)
    parent = np.empty(len(calls), np.int32)
    parent[tree.order] = np.where(tree.parent >= 0, tree.order[tree.parent], -1)
    return parent


def _open_call(trace: Trace, times_ns: Rows, thread: _Thread) -> Rows:
    calls = thread.calls
    if not len(calls):
        return np.full(len(times_ns), -1, np.int64)
    at = innermost_open_by_start(
        times_ns + 1,
        np.arange(len(calls)),
        trace.start_ns[calls],
        trace.end_ns[calls],
        thread.outer_call,
    )
    return np.where(at >= 0, calls[at], -1)
