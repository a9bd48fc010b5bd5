"""Loops over the samples of a batch by rows: `for row in x`, which is `x.unbind(0)`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tidy.trace import Rows, Trace
from tidy.trace.inputs import is_dims

from .autograd import called_by_script
from .launches import ops_in_no_op
from .sample_loops import Numbers, SampleLoop, computes, sample_loop

_FEWEST_DIMS = 2  # rows of fewer are single numbers


def loops_over_rows(trace: Trace, fewest_rounds: int, longest_round: int) -> Iterator[SampleLoop]:
    """All in which the same operators come for each row, and one takes it.

    Args:
        longest_round: operators that a round has at most.
    """
    unbinds = called_by_script(trace, "aten::unbind")
    for track in np.unique(trace.track_id[unbinds]).tolist():
        ops = ops_in_no_op(trace, track)
        names = trace.name_id[ops]
        for at in np.flatnonzero(np.isin(ops, unbinds)).tolist():
            dims = _dims_along_the_first(trace, int(ops[at]))
            if len(dims) < _FEWEST_DIMS or dims[0] < fewest_rounds:
                continue
            length = _length_of_round(names[at + 1 :], dims[0], longest_round)
            one_round = slice(at + 1, at + 1 + length)
            in_round = names[one_round]
            if length and computes(trace, in_round) and _takes(trace, ops[one_round], dims[1:]):
                all_rounds = ops[at : at + 1 + length * dims[0]]
                loop = sample_loop(
                    trace, all_rounds, dims[0], dims, in_round, is_maybe_recurrent=True
                )
                if loop is not None:
                    yield loop


def _dims_along_the_first(trace: Trace, row: int) -> tuple[int, ...]:
    """Those of the tensor, if it is taken apart along its first dimension."""
    event = trace.event(row)
    shapes, values = event.input_shapes, event.concrete_inputs
    is_first = len(values) > 1 and str(values[1]) == "0"
    return tuple(shapes[0]) if is_first and shapes and is_dims(shapes[0]) else ()


def _length_of_round(names: Numbers, rounds: int, longest: int) -> int:
    """How many operators come again in each of the rounds that these begin with; 0 for none."""
    for length in range(min(longest, len(names) // rounds), 0, -1):
        some = names[: rounds * length]
        if some[0] == some[length] and np.array_equal(some[:-length], some[length:]):
            return length
    return 0


def _takes(trace: Trace, ops: Rows, dims: tuple[int, ...]) -> bool:
    shapes = (trace.event(row).input_shapes or () for row in ops.tolist())
    return any(dims in each for each in shapes)
