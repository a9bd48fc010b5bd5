"""What each host event of a trace says of the time in it."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..trace import Capability, EventKind, Rows, Trace
from .host_kinds import (
    CODE_OF,
    CPU_OP,
    IN_RANGES,
    LAUNCHING,
    NOT_IN_RANGES,
    PYTHON,
    RECORDING,
    STALLED,
    WAITING,
)
from .host_names import CALLS, MAY_WAIT, PYTHON_RANGES, RANGES, calls_of_hooks, names_that
from .host_stalls import stalled_ops
from .work_kinds import op_kind

# An op that launches nothing and takes this long computes on the CPU; shorter ones are views, sizes
# and the like, a part of what it takes to launch.
_COMPUTES_NS = 50_000


class HostRows:
    """The host's events of one trace; kinds and codes are indices into `HOST_KINDS`."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.is_cpu_run = Capability.DEVICE not in trace.capabilities

    @cached_property
    def call_codes(self) -> NDArray[np.int8]:
        """For each name of a call its code in `CALLS`, or -1.

        In runs of the CPU there is no device to wait for: the profiler synchronises.
        """
        codes = CALLS.codes(self._trace, self._trace.rows_of_kind(EventKind.Runtime))
        if self._trace.is_cpu_run:
            codes[codes == CODE_OF[WAITING]] = CODE_OF[RECORDING]
        return codes

    @cached_property
    def range_codes(self) -> NDArray[np.int8]:
        """The same of names of tree rows in `RANGES`."""
        return RANGES.codes(self._trace, slice(self._trace.tree_count))

    @cached_property
    def python_codes(self) -> NDArray[np.int8]:
        """The same of names of tree rows in `PYTHON_RANGES`."""
        return PYTHON_RANGES.codes(self._trace, slice(self._trace.tree_count))

    @cached_property
    def may_wait(self) -> NDArray[np.bool_]:
        """For each tree row, and in the end for none, whether it may wait for another thread."""
        trace, count = self._trace, self._trace.tree_count
        is_frame = np.isin(trace.kind[:count], (EventKind.PyCall, EventKind.PyCCall))
        named = names_that(MAY_WAIT, trace, np.flatnonzero(is_frame))
        return np.append(named[trace.name_id[:count]] | ~is_frame, True)

    @cached_property
    def is_hook(self) -> NDArray[np.bool_]:
        """For each tree row whether it is a hook's."""
        return calls_of_hooks(self._trace)

    @cached_property
    def _op_codes(self) -> NDArray[np.int8]:
        return np.array([CODE_OF[op_kind(name)] for name in self._trace.names] or [0], np.int8)

    def _launches(self, device_rows: Rows) -> NDArray[np.bool_]:
        """For each tree row whether it, or anything below it, launches some of this work."""
        trace = self._trace
        if not len(device_rows):
            return np.zeros(trace.tree_count, bool)
        op = trace.launching_ops(device_rows)
        launches = np.zeros(trace.tree_count, bool)
        launches[op[op >= 0]] = True
        total = np.zeros(trace.tree_count + 1, np.int32)
        np.cumsum(launches, out=total[1:])
        return np.greater(total[trace.subtree_end[: trace.tree_count]], total[:-1])

    @cached_property
    def stalled(self) -> Rows:
        """The tree rows of operators that stalled."""
        trace = self._trace
        kernels, copies = map(trace.rows_of_kind, (EventKind.Kernel, EventKind.Memcpy))
        return stalled_ops(trace, self._launches(kernels) & ~self._launches(copies))

    @cached_property
    def in_ops(self) -> NDArray[np.bool_]:
        """For each tree row, and in the end for none, whether it is in an operator.

        In runs of the CPU it is whether it is one itself.
        """
        in_op: NDArray[np.bool_] = self.outermost_op >= 0
        if self.is_cpu_run:
            in_op &= self._trace.kind[: len(in_op)] == EventKind.TorchOp
        return np.append(in_op, False)

    @cached_property
    def kinds(self) -> NDArray[np.int8]:
        """For each tree row, and in the end for none, what its own time is but for ranges."""
        trace, op = self._trace, self.outermost_op
        if self.is_cpu_run:
            of_ops = self._op_codes[trace.name_id[: len(op)]]
        else:
            launches = self._launches(trace.device_rows)
            computes = ~np.where(op >= 0, launches[op], launches)
            computes &= trace.duration_ns[np.maximum(op, 0)] >= _COMPUTES_NS
            # Where no work is known to be launched by anything, any op may have launched it.
            computes &= launches.any() or (trace.caller[trace.device_rows] >= 0).any()
            of_ops = np.where(computes, CODE_OF[CPU_OP], CODE_OF[LAUNCHING])
        is_python = not trace.capabilities.isdisjoint((Capability.OPS, Capability.STACKS))
        within, outside = (PYTHON, PYTHON) if is_python else (IN_RANGES, NOT_IN_RANGES)
        kinds = np.where(self.in_ops[:-1], of_ops, CODE_OF[within])
        kinds[self.stalled] = CODE_OF[STALLED]
        return np.append(kinds, CODE_OF[outside]).astype(np.int8)

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
