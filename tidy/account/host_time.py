"""What a host thread does at each moment, and the kind of time that is.

A thread's time is cut where any of its events begins or ends; in each piece one event is the
innermost, and one call of the driver may be open in it. The kind of a piece follows from both, and
from the nearest event above that says more than the piece does (a loader's fetch, an optimizer's
step, compilation).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_

import numpy as np
from numpy.typing import NDArray

from ..trace import Capability, EventKind, Intervals, Trace
from ..trace.loader_fetches import find_fetches
from .host_kinds import (
    CALLS,
    CODE_OF,
    CPU_OP,
    HOOK,
    LAUNCHING,
    OPTIMIZER,
    PYTHON,
    PYTHON_RANGES,
    RANGES,
    RECEIVING,
    WORKERS,
    calls_of_hooks,
    codes_of_names,
)
from .host_thread import HostThread, by_start, open_at, open_call, outer_calls
from .work_kinds import OPTIMIZER as OPTIMIZER_OP
from .work_kinds import op_kind

Rows = NDArray[np.int64]

# An op that launches nothing and takes this long computes on the CPU; shorter ones are views, sizes
# and the like, a part of what it takes to launch.
_COMPUTES_NS = 50_000
_CHUNK = 1 << 17  # pieces that are worked out at once, which bounds the memory for it


@dataclass(frozen=True, slots=True)
class ThreadTime:
    """A thread's time in pieces: piece i is [starts_ns[i], starts_ns[i + 1]).

    Attributes:
        kind: index into `HOST_KINDS`.
        row: the innermost tree row or call in it, -1 where nothing is open.
    """

    starts_ns: NDArray[np.int64]
    kind: NDArray[np.int8]
    row: NDArray[np.int32]


class HostTime:
    """The pieces of each host thread of a trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._pieces: dict[int, ThreadTime] = {}
        self._is_cpu_run = Capability.DEVICE not in trace.capabilities

    @cached_property
    def _call_codes(self) -> NDArray[np.int8]:
        return codes_of_names(self._trace, CALLS, self._trace.rows_of_kind(EventKind.Runtime))

    @cached_property
    def _range_codes(self) -> NDArray[np.int8]:
        return codes_of_names(self._trace, RANGES, slice(self._trace.tree_count))

    @cached_property
    def _python_codes(self) -> NDArray[np.int8]:
        return codes_of_names(self._trace, PYTHON_RANGES, slice(self._trace.tree_count))

    @cached_property
    def _hooks(self) -> NDArray[np.bool_]:
        return calls_of_hooks(self._trace)

    @cached_property
    def _receiving(self) -> Intervals:
        """When a batch is fetched that a worker is known to have ready."""
        received = (each.receiving(self._trace) for each in find_fetches(self._trace))
        return reduce(or_, received, Intervals())

    @cached_property
    def _op_codes(self) -> NDArray[np.int8]:
        return np.array([CODE_OF[op_kind(name)] for name in self._trace.names] or [0], np.int8)

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
        said = np.where((said < 0) & self._hooks[tree], CODE_OF[HOOK], said)
        receiving = Intervals()
        if (said == CODE_OF[WORKERS]).any():
            receiving = self._receiving & trace.time_of(tree)
        bounds += [receiving.starts_ns, receiving.ends_ns]
        starts = np.concatenate([*bounds, [np.iinfo(np.int64).min]])
        starts.sort(kind="stable")  # which merges what is sorted already
        starts = starts[np.append(True, starts[1:] > starts[:-1])]
        ranges = [*_by_code(trace, tree, said), (CODE_OF[RECEIVING], receiving)]
        of_python = _by_code(trace, tree, self._python_codes[trace.name_id[tree]])
        tree, calls = by_start(trace, tree), by_start(trace, calls)
        thread = HostThread(tree, calls, outer_calls(trace, calls), of_python, ranges)
        kind, row = np.empty(len(starts), np.int8), np.empty(len(starts), np.int32)
        for first in range(0, len(starts), _CHUNK):
            part = slice(first, first + _CHUNK)
            kind[part], row[part] = self._at(starts[part], thread)
        return ThreadTime(starts, kind, row)

    def _at(self, times_ns: Rows, thread: HostThread) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
        """The kind of a thread's time from each of these times on, and the event it is in."""
        trace = self._trace
        row, call = open_at(trace, times_ns, thread.tree), open_call(trace, times_ns, thread)
        kind = np.full(len(times_ns), CODE_OF[PYTHON], np.int8)
        in_tree = row >= 0
        held = row[in_tree]
        op = self.outermost_op[held]
        in_op = op >= 0
        if self._is_cpu_run:
            in_op &= trace.kind[held] == EventKind.TorchOp
            kinds = np.where(in_op, self._op_codes[trace.name_id[held]], CODE_OF[PYTHON])
        else:
            computes = in_op & ~self._launches[held]
            computes &= trace.duration_ns[np.maximum(op, 0)] >= _COMPUTES_NS
            kinds = np.where(in_op, CODE_OF[LAUNCHING], CODE_OF[PYTHON])
            kinds = np.where(computes, CODE_OF[CPU_OP], kinds)
        kind[in_tree] = kinds
        for code, time in thread.python_ranges:
            kind[time.contains(times_ns) & (kind == CODE_OF[PYTHON])] = code
        own = kind.copy()
        for code, time in thread.ranges:
            kind[time.contains(times_ns)] = code
        if self._is_cpu_run:
            # What an operator computes counts as that, in a hook and in an optimizer too.
            in_ops = np.zeros(len(times_ns), bool)
            in_ops[in_tree] = in_op
            kind = np.where(in_ops & (kind == CODE_OF[HOOK]), own, kind)
            in_ops &= kind == CODE_OF[OPTIMIZER]
            kind = np.where(in_ops, CODE_OF[OPTIMIZER_OP], kind).astype(np.int8)
        in_call = call >= 0
        of_call = self._call_codes[trace.name_id[call[in_call]]]
        around = kind[in_call]
        keeps = (around == CODE_OF[OPTIMIZER]) | (around == CODE_OF[HOOK])
        plain = np.where(keeps, around, CODE_OF[LAUNCHING])
        kind[in_call] = np.where(of_call < 0, plain, of_call)
        return kind, np.where(in_call, call, row).astype(np.int32)


def _by_code(trace: Trace, rows: Rows, codes: NDArray[np.int8]) -> list[tuple[int, Intervals]]:
    """The time in rows of each code, from that which counts least to that which counts most.

    Ranges are asked for by time: what runs in one need not hang below it in the tree.
    """
    return [
        (code, trace.time_of(rows[codes == code]))
        for code in np.flatnonzero(np.bincount(codes[codes >= 0]))[::-1].tolist()
    ]
