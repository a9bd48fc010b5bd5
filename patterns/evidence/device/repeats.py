"""Operators that repeat in what a script itself calls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidy.trace import Rows, Trace
from tidy.trace.kept import kept

from ..python import frames, loops
from .launches import ops_in_no_op
from .updates import optimizing


@dataclass(frozen=True, slots=True)
class Repeats:
    """The operators of one thread that are in no other, and what repeats among them.

    Attributes:
        rows: by start.
        names: ids of their names; -1 for operators of a loader's fetch or an optimizer's step,
            which also end the runs around them.
        runs: (first, last, period), as `loops.repeated_runs` gives them, without parted ones.
    """

    rows: Rows
    names: NDArray[np.int64]
    runs: tuple[tuple[int, int, int], ...]


@kept
def repeated_ops(trace: Trace, track: int, longest_round: int, fewest_rounds: int) -> Repeats:
    """What repeats on one thread, in rounds of so many operators at most."""
    parted = trace.time_of(trace.rows_named(frames.FETCH)) | optimizing(trace)
    rows = ops_in_no_op(trace, track)
    names = np.where(parted.contains(trace.start_ns[rows]), -1, trace.name_id[rows])
    runs = loops.repeated_runs(names, longest_round, fewest_rounds)
    whole = (run for run in runs if (names[run[0] : run[0] + run[2]] >= 0).all())
    return Repeats(rows, names, tuple(whole))
