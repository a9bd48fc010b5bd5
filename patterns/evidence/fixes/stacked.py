"""Batches that `torch.stack` or `torch.cat` makes of items, right after as many equal rounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidy.trace import Event, Intervals, Rows, Trace
from tidy.trace.inputs import Shape, is_dims

from ..device.autograd import called_by_script
from ..device.launches import has_name, ops_in_no_op
from ..python.loops import time_of_rounds

_LONGEST_ROUND = 12
_STACK, CAT = "aten::stack", "aten::cat"


class Stacked(NamedTuple):
    """One batch.

    Attributes:
        stack: the operator that makes it, of either name.
        rounds: rows of the operators before it, shape (items, operators of a round).
    """

    stack: Event
    rounds: Rows

    @property
    def items(self) -> int:
        return len(self.rounds)

    @property
    def rows(self) -> Rows:
        """Of all its operators, by start."""
        return np.append(self.rounds.ravel(), self.stack.row)

    def names(self) -> list[str]:
        """Of the operators of a round."""
        trace = self.stack.trace
        return [trace.names[number] for number in trace.name_id[self.rounds[0]].tolist()]


def stacked_rounds(
    trace: Trace, names: Sequence[str], fewest_items: int, *, joins: bool = False
) -> Iterator[Stacked]:
    """Return all whose rounds have operators of these names alone; what a loader does is
    left out.

    Args:
        joins: whether `torch.cat` along the first dimension counts, too, of tensors of one size as
            far as that is known.
    """
    stacks = called_by_script(trace, _STACK, *([CAT] if joins else []))
    fits = has_name(trace, *names)
    for track in np.unique(trace.track_id[stacks]).tolist():
        ops = ops_in_no_op(trace, track)
        called = trace.name_id[ops]
        others = np.flatnonzero(~fits[called])
        at = np.flatnonzero(np.isin(ops, stacks))
        before = np.append(-1, others)[np.searchsorted(others, at)]
        for first, place in zip((before + 1).tolist(), at.tolist(), strict=True):
            period, rounds = _rounds(called[first:place], fewest_items)
            stack = trace.event(int(ops[place]))
            listed = stack.input_shapes[0] if stack.input_shapes else ()
            if stack.name == CAT and not _are_alike(listed, stack.concrete_inputs):
                continue
            items = rounds if is_dims(listed) else len(listed)
            if rounds and fewest_items <= items <= rounds:
                yield Stacked(stack, ops[place - period * items : place].reshape(items, -1))


def _are_alike(listed: Shape, values: Shape) -> bool:
    """Tell whether tensors are joined along their first dimension, of one size as far as is known.

    PyTorch records no dims of lists of more than 30.
    """
    is_first = len(values) > 1 and str(values[1]) == "0"
    return is_first and (is_dims(listed) or len(set(listed)) == 1)


def time_of_batches(batches: Sequence[Stacked]) -> Intervals:
    """Of making them, with the Python between their operators."""
    return time_of_rounds(batches[0].stack.trace, [batch.rows for batch in batches])


def _rounds(names: NDArray[np.int32], fewest: int) -> tuple[int, int]:
    """Count the operators of each of the equal rounds that these end with, and the rounds."""
    for period in range(1, min(_LONGEST_ROUND, len(names) // fewest) + 1):
        same = names[period:] == names[:-period]
        differ = np.flatnonzero(~same)
        alike = len(same) - (int(differ[-1]) + 1 if len(differ) else 0)
        if alike >= period * (fewest - 1):
            return period, alike // period + 1
    return 0, 0
