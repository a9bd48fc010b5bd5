"""The autograd engine: its threads, its backward, and what was recorded for no backward."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tidy.trace import Event, EventKind, Intervals, Rows, Trace
from tidy.trace.intervals import repeated
from tidy.trace.kept import kept

from ..python.frames import FETCH, RUNS_BACKWARD
from .launches import by_start, has_name, rows_matching, tree_rows

# What the engine calls each node, before its name.
NODE = "autograd::engine::evaluate_function: "


@kept
def forward_links(trace: Trace) -> Rows:
    """Return each op of a backward and its forward op, by the latter; shape (n, 2)."""
    links = np.array(list(trace.forward.items()), np.int64).reshape(-1, 2)
    return links[np.argsort(links[:, 1], kind="stable")]


@kept
def tracks_of_the_engine(trace: Trace) -> Rows:
    """Threads of the autograd engine, which run the backward of what another thread ran.

    Loops there are C++'s own, such as those of data parallelism over its buckets.
    """
    tracks = trace.track_id[forward_links(trace)]
    of_the_engine: Rows = np.unique(tracks[tracks[:, 0] != tracks[:, 1], 0])
    return of_the_engine


def called_by_script(trace: Trace, *names: str) -> Rows:
    """Ops with these names that neither the engine calls nor a loader as it fetches a batch."""
    rows = tree_rows(trace, *names)
    rows = rows[~trace.time_of(trace.rows_named(FETCH)).contains(trace.start_ns[rows])]
    by_script: Rows = rows[~np.isin(trace.track_id[rows], tracks_of_the_engine(trace))]
    return by_script


def engine_time(trace: Trace) -> Intervals:
    """Return the time from one node of a backward to the next with no Python recorded in it."""
    rows = trace.rows_named(f"{NODE}*")
    is_node = np.zeros(len(trace), bool)
    is_node[rows] = True
    following = trace.subtree_end[rows].astype(np.int64)
    rows = rows[following < trace.tree_count]
    following = following[following < trace.tree_count]
    same = is_node[following] & (trace.track_id[following] == trace.track_id[rows])
    starts, ends = trace.end_ns[rows[same]], trace.start_ns[following[same]]
    return Intervals(starts[ends > starts], ends[ends > starts])


@kept
def calls_of(trace: Trace) -> Rows:
    """Return the calls of the engine that are in no other, by start."""
    rows = by_start(trace, rows_matching(trace, RUNS_BACKWARD, "*backward*", "*grad*"))
    before = np.maximum.accumulate(np.append(-1, trace.end_ns[rows]))[:-1]
    outermost: Rows = rows[trace.end_ns[rows] > before]
    return outermost


def backward_ops(trace: Trace) -> Rows:
    """Return the ops of a backward, which know the thread of their forward."""
    ops: Rows = np.flatnonzero((trace.forward_thread > 0) & (trace.kind == EventKind.TorchOp))
    return ops


def backward_of(trace: Trace, ops: Rows) -> Rows:
    """Return what the engine runs for the nodes that these ops made, or that what they call made.

    Args:
        ops: none of which is in another.
    """
    backward, forward = forward_links(trace).T
    first = np.searchsorted(forward, ops)
    _, at = repeated(np.searchsorted(forward, trace.subtree_end[ops]) - first, first)
    nodes = backward[at]
    around = trace.parent[nodes]
    is_engine = has_name(trace, f"{NODE}*")[trace.name_id[around]]
    found: Rows = np.unique(np.where((around >= 0) & is_engine, around, nodes))
    return found


@kept
def nodes_in_vain(trace: Trace) -> tuple[Rows, NDArray[np.bool_]]:
    """Ops that may make a node of the graph, by start, and of which no backward uses the number.

    What the engine computes anew for itself is not among them, nor are casts: autocast makes those
    of weights with a graph wherever it is, since it keeps them for later. Of a file that is thinned
    out a backward may be missing.
    """
    engine = tree_rows(trace, f"{NODE}*")
    is_backward = np.zeros(len(trace), bool)
    is_backward[backward_ops(trace)] = is_backward[engine] = True
    backward = np.flatnonzero(is_backward)
    ops = trace.rows_of_kind(EventKind.TorchOp)
    ops = ops[~has_name(trace, "aten::to", "aten::_to_copy")[trace.name_id[ops]]]
    forward = by_start(trace, ops[(trace.sequence_nr[ops] >= 0) & ~is_backward[ops]])
    forward = forward[~trace.time_of(engine).contains(trace.start_ns[forward])]
    used = trace.sequence_nr[backward]
    in_vain = ~np.isin(trace.sequence_nr[forward], used)
    is_known = not len(used) or ((used >= 0).any() and not trace.info.is_thinned)
    return forward, in_vain & is_known


def without_backward(trace: Trace, fewest_nodes: int) -> Iterator[Event]:
    """Return the first of each so many ops in a row that make nodes which nobody uses.

    Where there is any backward, those of the last step do not count, nor those with which a
    recording without steps ends: their backward may not have been recorded.
    """
    forward, in_vain = nodes_in_vain(trace)
    # A step with an evaluation in it is long, and may be left out of the window.
    steps, starts = trace.steps or trace.window.steps, trace.start_ns[forward]
    spans = [(step.start_ns, step.end_ns) for step in steps]
    if in_vain.all():
        spans = spans or [(trace.start_ns_first, trace.start_ns_first + trace.span_ns + 1)]
    elif steps:
        last_ns = max(step.end_ns for step in steps)
        spans = [span for span in spans if span[1] < last_ns]
    else:
        spans = [(trace.start_ns_first, int(starts[~in_vain][-1]))]
    bounds = np.searchsorted(starts, np.array(spans, np.int64).reshape(-1, 2))
    so_far = np.append(0, np.cumsum(in_vain))
    # Few steps have so many nodes in vain at all.
    enough = so_far[bounds[:, 1]] - so_far[bounds[:, 0]] > fewest_nodes
    for first, last in bounds[enough].tolist():
        # Of ops with one number the last makes the node.
        own, vain = forward[first:last][::-1], in_vain[first:last][::-1]
        _, at = np.unique(trace.sequence_nr[own], return_index=True)
        edges = np.flatnonzero(np.diff(vain[at], prepend=False, append=False))
        for begin, end in edges.reshape(-1, 2).tolist():
            if end - begin > fewest_nodes:
                yield trace.event(int(own[at[begin]]))
