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
from typing import NamedTuple

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
from .host_thread import Turns, turns_of
from .work_kinds import OPTIMIZER as OPTIMIZER_OP
from .work_kinds import op_kind

Rows = NDArray[np.int64]

# An op that launches nothing and takes this long computes on the CPU; shorter ones are views, sizes
# and the like, a part of what it takes to launch.
_COMPUTES_NS = 50_000


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


class Ranges(NamedTuple):
    """The time in ranges of a thread that say what it does; the later of a list count more.

    What `of_python` says holds of Python between operators only.
    """

    of_python: list[tuple[int, Intervals]]
    of_all: list[tuple[int, Intervals]]


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
    def _in_ops(self) -> NDArray[np.bool_]:
        """For each tree row whether it is in an operator; in runs of the CPU whether it is one."""
        in_op: NDArray[np.bool_] = self.outermost_op >= 0
        if self._is_cpu_run:
            in_op &= self._trace.kind[: len(in_op)] == EventKind.TorchOp
        return in_op

    @cached_property
    def _row_kinds(self) -> NDArray[np.int8]:
        """For each tree row, and in the end for none, what its own time is but for ranges."""
        trace, op = self._trace, self.outermost_op
        if self._is_cpu_run:
            of_ops = self._op_codes[trace.name_id[: len(op)]]
        else:
            computes = ~self._launches
            computes &= trace.duration_ns[np.maximum(op, 0)] >= _COMPUTES_NS
            of_ops = np.where(computes, CODE_OF[CPU_OP], CODE_OF[LAUNCHING])
        kinds = np.where(self._in_ops, of_ops, CODE_OF[PYTHON])
        return np.append(kinds, CODE_OF[PYTHON]).astype(np.int8)

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
        said = self._range_codes[trace.name_id[tree]]
        said = np.where((said < 0) & self._hooks[tree], CODE_OF[HOOK], said)
        receiving = Intervals()
        if (said == CODE_OF[WORKERS]).any():
            receiving = self._receiving & trace.time_of(tree)
        of_python = self._python_codes[trace.name_id[tree]]
        ranges = Ranges(
            _by_code(trace, tree, of_python),
            [*_by_code(trace, tree, said), (CODE_OF[RECEIVING], receiving)],
        )
        more = np.sort(np.concatenate([receiving.starts_ns, receiving.ends_ns]))
        most = 1 + 2 * (len(tree) + len(calls)) + len(more)
        starts, kind = np.empty(most, np.int64), np.empty(most, np.int8)
        row = np.empty(most, np.int32)
        count = 0
        for turns in turns_of(trace, tree, calls, more):
            part = slice(count, count := count + len(turns.times_ns))
            starts[part], kind[part] = turns.times_ns, self._kinds(turns, ranges)
            row[part] = np.where(turns.call >= 0, turns.call, turns.row)
        return ThreadTime(starts[:count], kind[:count], row[:count])

    def _kinds(self, turns: Turns, ranges: Ranges) -> NDArray[np.int8]:
        """The kind of a thread's time from each of these turns on."""
        trace, (times_ns, row, call) = self._trace, turns
        kind = self._row_kinds[row]
        for code, time in ranges.of_python:
            kind[time.contains(times_ns) & (kind == CODE_OF[PYTHON])] = code
        own = kind.copy()
        for code, time in ranges.of_all:
            kind[time.contains(times_ns)] = code
        if self._is_cpu_run:
            # What an operator computes counts as that, in a hook and in an optimizer too.
            in_ops = np.append(self._in_ops, False)[row]
            kind = np.where(in_ops & (kind == CODE_OF[HOOK]), own, kind)
            in_ops &= kind == CODE_OF[OPTIMIZER]
            kind = np.where(in_ops, CODE_OF[OPTIMIZER_OP], kind).astype(np.int8)
        in_call = call >= 0
        of_call = self._call_codes[trace.name_id[call[in_call]]]
        around = kind[in_call]
        keeps = (around == CODE_OF[OPTIMIZER]) | (around == CODE_OF[HOOK])
        plain = np.where(keeps, around, CODE_OF[LAUNCHING])
        kind[in_call] = np.where(of_call < 0, plain, of_call)
        return kind


def _by_code(trace: Trace, rows: Rows, codes: NDArray[np.int8]) -> list[tuple[int, Intervals]]:
    """The time in rows of each code, from that which counts least to that which counts most.

    Ranges are asked for by time: what runs in one need not hang below it in the tree.
    """
    return [
        (code, trace.time_of(rows[codes == code]))
        for code in np.flatnonzero(np.bincount(codes[codes >= 0]))[::-1].tolist()
    ]
