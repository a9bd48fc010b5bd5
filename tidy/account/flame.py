"""The flame graph: the window's time by Python frame, module and operator, each within its caller.

train.py(58): train                    of host or device time, a backward below its forward
nn.Module: Net_0
nn.Module: Linear_0
aten::linear
aten::addmm
AddmmBackward0
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..trace import EventKind, Rows, Trace
from ..trace.location import is_user_file, parse_frame
from .pieces import Stretches

_MODULE = "nn.Module: "
_ENGINE = "autograd::engine::evaluate_function: "


@dataclass(frozen=True)
class FlameGraph:
    """Nodes, parents before their children; arrays of shape (n,).

    Attributes:
        names: of each node, as the trace has them.
        parent: the node above, -1 for roots.
        host_ns, device_ns: time in the window of the node itself and of all below it.
        self_host_ns, self_device_ns: without what is below it.
    """

    names: list[str]
    parent: NDArray[np.int64]
    self_host_ns: Rows
    self_device_ns: Rows

    @cached_property
    def host_ns(self) -> Rows:
        return self._total(self.self_host_ns)

    @cached_property
    def device_ns(self) -> Rows:
        return self._total(self.self_device_ns)

    def _total(self, self_ns: Rows) -> Rows:
        total, parents = self_ns.tolist(), self.parent.tolist()
        for node in range(len(total) - 1, -1, -1):
            if (above := parents[node]) >= 0:
                total[above] += total[node]
        return np.array(total, np.int64)

    def folded(self, self_ns: Rows) -> Iterator[str]:
        """Yield a line for each node with time: `outer;inner;innermost 1200`, in nanoseconds."""
        names = [name.replace(";", ",").replace("\n", " ") for name in self.names]
        parents = self.parent.tolist()
        for node in np.flatnonzero(self_ns).tolist():
            path, at = list[str](), node
            while at >= 0:
                path.append(names[at])
                at = parents[at]
            yield f"{';'.join(reversed(path))} {self_ns[node]}"


def flame_graph(
    trace: Trace,
    host: Iterable[Stretches],
    device: Iterable[Stretches],
    *,
    all_frames: bool = False,
) -> FlameGraph:
    """Put stretches of time to the frames that they were spent in.

    Args:
        host, device: disjoint stretches of each thread and of each device, with the rows they are
            spent in.
        all_frames: whether Python frames of libraries, and marks of steps, have nodes; without,
            their time is that of the frame, module or operator above them.
    """
    above = _above(trace)
    at = np.arange(len(trace), dtype=np.int32)
    if not all_frames:
        is_left_out = _is_left_out(trace)
        above = _past(above, is_left_out)
        at = np.where(is_left_out, above, at)
    spent = [np.zeros(len(trace), np.int64) for _ in range(2)]
    for sums, side in zip(spent, (host, device), strict=True):
        for stretches in side:
            where = np.where(stretches.row >= 0, at[stretches.row], -1)
            known = where >= 0
            np.add.at(sums, where[known], (stretches.end_ns - stretches.start_ns)[known])
    needed = _with_all_above(np.flatnonzero((spent[0] != 0) | (spent[1] != 0)), above)
    node, parent, name_of = _nodes(trace, needed, above)
    own = [np.bincount(node[needed], ns[needed], len(parent)).astype(np.int64) for ns in spent]
    return FlameGraph([trace.names[each] for each in name_of], parent, *own)


def _above(trace: Trace) -> NDArray[np.int32]:
    """The row that each is shown below, -1 for none; a backward operator is below its forward."""
    above = trace.caller.copy()
    above[: trace.tree_count] = trace.parent[: trace.tree_count]
    pairs = np.array(list(trace.forward.items()), np.int32).reshape(-1, 2)
    backward, forward = pairs[trace.start_ns[pairs[:, 1]] < trace.start_ns[pairs[:, 0]]].T
    # The engine's range around it is what is put there, and the operator stays within.
    is_engine = np.array([name.startswith(_ENGINE) for name in trace.names], bool)
    outer = above[backward]
    is_range = (outer >= 0) & is_engine[trace.name_id[outer]]
    above[np.where(is_range, outer, backward)] = forward
    return above


def _is_left_out(trace: Trace) -> NDArray[np.bool_]:
    """Python frames that are neither the user's nor a module's call, and the marks of steps."""
    is_python = np.isin(trace.kind, (EventKind.PyCall, EventKind.PyCCall))
    used = np.zeros(len(trace.names), bool)
    for name_id in np.unique(trace.name_id[is_python]).tolist():
        name = trace.names[name_id]
        frame = parse_frame(name)
        used[name_id] = name.startswith(_MODULE) or (frame is not None and is_user_file(frame.file))
    is_step = np.zeros(len(trace), bool)
    is_step[trace.rows_named("ProfilerStep#*")] = True
    return (is_python & ~used[trace.name_id]) | is_step


def _past(above: NDArray[np.int32], is_left_out: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The nearest row above each that is not left out."""
    while True:
        skipped = (above >= 0) & is_left_out[above]
        if not skipped.any():
            return above
        above = np.where(skipped, above[above], above)


def _with_all_above(rows: Rows, above: NDArray[np.int32]) -> Rows:
    needed = np.zeros(len(above), bool)
    while len(rows):
        needed[rows] = True
        rows = np.unique(above[rows])
        rows = rows[(rows >= 0)]
        rows = rows[~needed[rows]]
    return np.flatnonzero(needed)


def _nodes(
    trace: Trace, needed: Rows, above: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64], list[int]]:
    """Number the nodes: rows with one name below one node are one. Parents come first."""
    node = np.full(len(trace), -1, np.int32)
    parents, names, count = list[NDArray[np.int64]](), list[int](), 0
    left, is_last = needed, False
    while len(left):
        up = above[left]
        ready = (up < 0) | (node[up] >= 0)
        if not ready.any():  # links of a damaged file run in a circle
            ready, is_last = np.ones(len(left), bool), True
        rows = left[ready]
        over = np.where((above[rows] >= 0) & (not is_last), node[above[rows]], -1)
        keys = (over + 1).astype(np.int64) * len(trace.names) + trace.name_id[rows]
        alike, inverse = np.unique(keys, return_inverse=True)
        node[rows] = count + inverse
        parents.append(alike // len(trace.names) - 1)
        names += (alike % len(trace.names)).tolist()
        count += len(alike)
        left = left[~ready]
    empty = [np.empty(0, np.int64)]
    return node, np.concatenate(empty + parents), names
