"""The autograd engine: its threads, its backward, and what was recorded for no backward."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tidy.trace import Event, EventKind, Intervals, Rows, Trace
from tidy.trace.intervals import repeated
from tidy.trace.kept import kept

from ..python.frames import FETCH
from .launches import by_start, has_name, tree_rows


@kept
def forward_links(trace: Trace) -> Rows:
    """Each op of a backward and its forward op, by the latter; shape (n, 2)."""
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
    rows = trace.rows_named("autograd::engine::evaluate_function: *")
    is_node = np.zeros(len(trace), bool)
    is_node[rows] = True
    following = trace.subtree_end[rows].astype(np.int64)
    rows = rows[following < trace.tree_count]
    following = following[following < trace.tree_count]
    same = is_node[following] & (trace.track_id[following] == trace.track_id[rows])
    starts, ends = trace.end_ns[rows[same]], trace.start_ns[following[same]]
    return Intervals(starts[ends > starts], ends[ends > starts])


def backward_ops(trace: Trace) -> Rows:
    """The ops of a backward, which know the thread of their forward."""
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
    is_engine = has_name(trace, "autograd::engine::evaluate_function*")[trace.name_id[around]]
    found: Rows = np.unique(np.where((around >= 0) & is_engine, around, nodes))
    return found


def without_backward(trace: Trace, fewest_nodes: int) -> Iterator[Event]:
    """The first op that makes a node, of each step (or of the run) whose nodes nobody uses."""
    backward = np.union1d(
        backward_ops(trace), tree_rows(trace, "autograd::engine::evaluate_function*")
    )
    ops = trace.rows_of_kind(EventKind.TorchOp)
    forward = by_start(trace, np.setdiff1d(ops[trace.sequence_nr[ops] >= 0], backward))
    steps = trace.window.steps
    if not len(backward):
        spans = [(step.start_ns, step.end_ns) for step in steps]
        spans = spans or [(trace.start_ns_first, trace.start_ns_first + trace.span_ns + 1)]
    else:
        last_ns = max((step.end_ns for step in (*trace.steps, *steps)), default=0)
        spans = [(step.start_ns, step.end_ns) for step in steps if step.end_ns < last_ns]
    # What runs later than a step and has one of its numbers is the backward of its nodes.
    used = np.unique(trace.sequence_nr[backward])
    busy_ns = np.sort(trace.start_ns[backward])
    starts, numbers = trace.start_ns[forward], trace.sequence_nr[forward]
    for start_ns, end_ns in spans:
        first, last = np.searchsorted(starts, (start_ns, end_ns))
        in_it = np.searchsorted(busy_ns, end_ns) > np.searchsorted(busy_ns, start_ns)
        made = np.unique(numbers[first:last])
        used_later = np.searchsorted(used, made, "right") > np.searchsorted(used, made)
        if len(made) > fewest_nodes and not in_it and not used_later.any():
            yield trace.event(int(forward[first]))
