"""Rows by name, calls of the driver, ops, and the op that launched some device work."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tidy.trace import Event, EventKind, Intervals, Rows, Trace, rows_of
from tidy.trace.intervals import repeated
from tidy.trace.kept import kept
from tidy.trace.links import grouped

# Ranges in which code runs that torch.compile made.
COMPILED = ("Torch-Compiled Region*", "## Call CompiledFxGraph*", "CompiledFunction*")

# Rows to look ahead for the next op: the Python frames between two modules are fewer.
_FARTHEST_ROWS = 256


def rows_matching(trace: Trace, names: re.Pattern[str], *patterns: str) -> Rows:
    """Return rows whose whole name matches a regular expression.

    Args:
        patterns: what else all these names fit, with `*` for any text: it is looked for sooner.
    """
    fits = names.fullmatch
    asked = trace.names_fitting(*patterns) if patterns else range(len(trace.names))
    return trace.rows_of_names([each for each in asked if fits(trace.names[each])])


def has_name(trace: Trace, *patterns: str) -> NDArray[np.bool_]:
    """Tell for each name id whether its name is one of `patterns`; `*` stands for any text."""
    result = np.zeros(len(trace.names), bool)
    result[trace.names_fitting(*patterns)] = True
    return result


def by_start(trace: Trace, rows: Rows) -> Rows:
    """Return the rows in the order of their start."""
    ordered: Rows = rows[np.argsort(trace.start_ns[rows], kind="stable")]
    return ordered


def tree_rows(trace: Trace, *names: str) -> Rows:
    """Return rows of the tree (ops, frames, ranges of the host) with one of these names."""
    rows = trace.rows_named(*names)
    on_host: Rows = rows[rows < trace.tree_count]
    return on_host


def below(trace: Trace, rows: ArrayLike) -> Intervals:
    """Return the tree rows among these and all rows below them, as a set of numbers."""
    index = np.asarray(rows, np.int64)
    index = index[index < trace.tree_count]
    return Intervals(index, trace.subtree_end[index])


def holds(trace: Trace, rows: Rows, inner: Rows) -> NDArray[np.bool_]:
    """Tell for each tree row whether it, or any row below it, is among these ascending rows."""
    ends = trace.subtree_end[rows]
    return np.asarray(np.searchsorted(inner, ends) > np.searchsorted(inner, rows), np.bool_)


def calls_of(trace: Trace, *names: str) -> Rows:
    """Calls of the CUDA or HIP runtime with one of these names; `*` stands for any text."""
    rows = trace.rows_named(*names)
    calls: Rows = rows[trace.kind[rows] == EventKind.Runtime]
    return calls


def calls_that_launched(trace: Trace, *names: str) -> Rows:
    """Return the calls that launched device work with one of these names."""
    calls = trace.caller[trace.rows_named(*names)].astype(np.int64)
    launched: Rows = np.unique(calls[calls >= trace.tree_count])
    return launched


def outermost_op(op: Event) -> Event:
    """Return the op of PyTorch that Python called: the last `aten::` op on the way up from `op`."""
    while (above := op.parent) is not None and above.kind == EventKind.TorchOp:
        if not above.name.startswith("aten::"):
            break
        op = above
    return op


def outermost_op_rows(trace: Trace, ops: Rows) -> Rows:
    """Return the same of many ops by their rows: for each the row of the one that Python called."""
    rows, rising = ops.astype(np.int64), np.arange(len(ops))
    goes_on = has_name(trace, "aten::*")
    while len(rising):
        above = trace.parent[rows[rising]]
        inside = (above >= 0) & goes_on[trace.name_id[above]]
        inside &= trace.kind[above] == EventKind.TorchOp
        rising, above = rising[inside], above[inside]
        rows[rising] = above
    return rows


def launches_any(trace: Trace, ops: Rows, work: Rows) -> NDArray[np.bool_]:
    """Tell for each tree row whether it, or anything below it, launched any of this device work."""
    return holds(trace, ops, np.sort(trace.launching_ops(work)))


def innermost(events: Sequence[Event]) -> list[Event]:
    """Return those of the events that hold no other of them.

    Under autocast an op is recorded twice: as a wrapper that casts its inputs, and within it as the
    op on what they were cast to.
    """
    if not events:
        return []
    trace, rows = events[0].trace, rows_of(events)
    return list(trace.events(innermost_rows(trace, rows)))


def innermost_rows(trace: Trace, rows: Rows) -> Rows:
    """Return those of the rows that hold no other of them; see `innermost`."""
    ordered, ends = np.sort(rows), trace.subtree_end[rows]
    inside = np.searchsorted(ordered, ends) - np.searchsorted(ordered, rows, side="right")
    holds_none: Rows = rows[inside == 0]
    return holds_none


def outermost(events: Sequence[Event]) -> list[Event]:
    """Return those of the events that are in no other of them; see `innermost`."""
    if not events:
        return []
    trace, rows = events[0].trace, np.sort(rows_of(events))
    return list(trace.events(outermost_rows(trace, rows)))


def outermost_rows(trace: Trace, rows: Rows) -> Rows:
    """Return those of the ascending tree rows that are in no other of them."""
    ends = np.maximum.accumulate(np.append(0, trace.subtree_end[rows]))[:-1]
    outside: Rows = rows[rows >= ends]
    return outside


@kept
def ops_in_no_op(trace: Trace, track: int) -> Rows:
    """Ops of one thread that are in no other op, by start."""
    return outermost_rows(trace, _ops_by_track(trace).get(track, np.empty(0, np.int64)))


@kept
def _ops_by_track(trace: Trace) -> dict[int, Rows]:
    """Rows of the ops of each thread, ascending."""
    ops = np.flatnonzero(trace.kind[: trace.tree_count] == EventKind.TorchOp)
    return {track: ops[own] for track, own in grouped(trace.track_id[ops]).items()}


def work_or_op(op: Event) -> list[int]:
    """Return the rows of an op's device work, or its own where it computes on the CPU."""
    return op.trace.device_rows_under(op.row).tolist() or [op.row]


def work_or_ops(trace: Trace, ops: Rows) -> Rows:
    """Return the same of several ops, ascending."""
    return np.append(ops[~trace.launch_work(ops)], trace.device_rows_under_any(ops))


def ops_around(trace: Trace, rows: Rows) -> Rows:
    """Return for each tree row the op in no other op of its thread that holds it; -1 if
    none does.
    """
    found = np.full(len(rows), -1, np.int64)
    known = np.flatnonzero(rows >= 0)
    for track, mine in grouped(trace.track_id[rows[known]]).items():
        outside, own = ops_in_no_op(trace, track), known[mine]
        at = np.searchsorted(outside, rows[own], side="right") - 1
        own, op = own[at >= 0], outside[at[at >= 0]]
        held = rows[own] < trace.subtree_end[op]
        found[own[held]] = op[held]
    return found


@kept
def ops_around_all(trace: Trace) -> NDArray[np.int32]:
    """Return the same of all rows of the tree; shape (tree_count,)."""
    found = np.full(trace.tree_count, -1, np.int32)
    for track in _ops_by_track(trace):
        ops = ops_in_no_op(trace, track)
        which, held = repeated(trace.subtree_end[ops] - ops, ops)
        mine = trace.track_id[held] == track  # other threads' may hang below
        found[held[mine]] = ops[which[mine]]
    return found


def outermost_ops(trace: Trace, rows: Rows) -> Rows:
    """Return the ops in no other op of their thread that hold these tree rows; -1 among them is
    none.
    """
    ops = np.sort(ops_around(trace, rows), kind="stable")
    distinct: Rows = ops[(ops >= 0) & (np.diff(ops, prepend=-1) != 0)]
    return distinct


def op_after_each(trace: Trace, rows: Rows, is_skipped: NDArray[np.bool_]) -> Rows:
    """Return for each tree row the first that `ops_after` gives, without skipped ones; -1 for none.

    Args:
        is_skipped: for each row of the tree whether it is passed over.
    """
    found = np.full(len(rows), -1, np.int64)
    limit = trace.subtree_end[rows] + np.int64(_FARTHEST_ROWS)
    for track, own in grouped(trace.track_id[rows]).items():
        ops = np.append(_ops_by_track(trace).get(track, rows[:0]), trace.tree_count)
        left, after = own, trace.subtree_end[rows[own]]
        while len(left):
            op = ops[np.searchsorted(ops, after)]
            found[left] = np.where((op < limit[left]) & (op < trace.tree_count), op, -1)
            again = found[left] >= 0
            again[again] = is_skipped[op[again]]
            left, after = left[again], trace.subtree_end[op[again]]
    return found


def ops_after(event: Event) -> Iterator[Event]:
    """Return the ops that follow on the thread after all that `event` holds, each without those in
    it.

    The search ends where Python frames part them so far that they do not follow each other.
    """
    trace = event.trace
    first = int(trace.subtree_end[event.row])
    ahead = slice(first, min(first + _FARTHEST_ROWS, trace.tree_count))
    is_op = trace.kind[ahead] == EventKind.TorchOp
    on_thread = trace.track_id[ahead] == trace.track_id[event.row]
    passed = first
    for row in (first + np.flatnonzero(is_op & on_thread)).tolist():
        if row >= passed:
            yield Event(trace, row)
            passed = int(trace.subtree_end[row])
