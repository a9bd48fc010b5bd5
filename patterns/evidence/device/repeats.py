"""Operators that repeat in what a script itself calls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidy.trace import EventKind, Rows, Trace
from tidy.trace.kept import kept
from tidy.trace.location import is_user_file, parse_frame

from ..python import frames, loops
from .launches import below, ops_in_no_op, outermost_rows, tree_rows
from .updates import optimizing


@dataclass(frozen=True, slots=True)
class Repeats:
    """The operators of one thread that are in no other, and what repeats among them.

    Attributes:
        rows: by start.
        names: ids of their names; -1 for operators of an optimizer's step, and for those of a
            loader's fetch that no function of the user's calls. They also end the runs around them.
        calls: which function's call of the user's each is in, if a loader's fetch calls it; else 0.
        runs: (first, last, period), as `loops.repeated_runs` gives them, without parted ones. In a
            fetch each is in one call of the user's: that items are alike is no loop of theirs.
    """

    rows: Rows
    names: NDArray[np.int64]
    calls: NDArray[np.int64]
    runs: tuple[tuple[int, int, int], ...]


@kept
def repeated_ops(trace: Trace, track: int, longest_round: int, fewest_rounds: int) -> Repeats:
    """Return what repeats on one thread, in rounds of so many operators at most."""
    rows = ops_in_no_op(trace, track)
    fetches, calls = below(trace, tree_rows(trace, frames.FETCH)), calls_in_fetches(trace)
    at = np.searchsorted(calls, rows, side="right") - 1
    is_called = (at >= 0) & (rows < np.append(trace.subtree_end[calls], 0)[at])
    parted = fetches.contains(rows) & ~is_called
    parted |= optimizing(trace).contains(trace.start_ns[rows])
    names = np.where(parted, -1, trace.name_id[rows].astype(np.int64))
    # One number for an operator's name and the call that it is in, so that no run leaves its call.
    call_number = (at + 1) * is_called
    names_in_calls = np.where(parted, -1, names + call_number * len(trace.names))
    runs = loops.repeated_runs(names_in_calls, longest_round, fewest_rounds)
    whole = (run for run in runs if (names[run[0] : run[0] + run[2]] >= 0).all())
    return Repeats(rows, names, call_number, tuple(whole))


@kept
def calls_in_fetches(trace: Trace) -> Rows:
    """Calls of the user's functions as loaders fetch, as `__getitem__` and `collate_fn` are."""
    called = trace.rows_of_kind(EventKind.PyCall)
    called = called[below(trace, tree_rows(trace, frames.FETCH)).contains(called)]
    is_users = np.zeros(len(trace.names), bool)
    for number in np.unique(trace.name_id[called]).tolist():
        frame = parse_frame(trace.names[number])
        is_users[number] = frame is not None and is_user_file(frame.file)
    return outermost_rows(trace, called[is_users[trace.name_id[called]]])
