"""The walks of the autograd engine through a graph, and the gradients that each accumulates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidy.trace import Rows, Trace
from tidy.trace.inputs import is_dims
from tidy.trace.kept import kept

from .autograd import NODE, backward_ops
from .launches import outermost_rows, tree_rows

Dims = tuple[int, ...]
ACCUMULATE = "torch::autograd::AccumulateGrad"


class Walk(NamedTuple):
    """What one backward runs.

    Attributes:
        nodes: those that are in no other node, as a checkpoint's are, by start.
        gradients: (index of the node in `nodes`, dims) of each gradient that becomes a parameter's;
            None for dims that were not recorded.
    """

    nodes: Rows
    gradients: tuple[tuple[int, Dims | None], ...]


@kept
def walks(trace: Trace) -> list[Walk]:
    """Return all walks: the engine takes the newest node first, so that numbers fall in each."""
    nodes = outermost_rows(trace, tree_rows(trace, f"{NODE}*"))
    if not len(nodes):
        return []
    numbers, gradients = _numbers(trace, nodes), tree_rows(trace, ACCUMULATE)
    found = list[Walk]()
    for track in np.flatnonzero(np.bincount(trace.track_id[nodes])).tolist():
        on_track = trace.track_id[nodes] == track
        own, number = nodes[on_track], numbers[on_track]
        known = np.flatnonzero(number >= 0)
        begins = known[1:][np.diff(number[known]) > 0]
        of_track = gradients[trace.track_id[gradients] == track]
        ends = np.append(own[begins], trace.tree_count)
        for part, until in zip(np.split(own, begins), ends.tolist(), strict=True):
            rows = of_track[slice(*np.searchsorted(of_track, (part[0], until)))]
            at = np.searchsorted(part, rows, side="right") - 1
            dims = (first_dims(trace, each) for each in trace.inputs_id[rows].tolist())
            first = (each[0] if each else None for each in dims)
            found.append(Walk(part, tuple(zip(at.tolist(), first, strict=True))))
    return found


def first_dims(trace: Trace, inputs: int) -> list[Dims]:
    """Return the dims of the first input, or of each tensor where it is a list; nothing if
    unknown.
    """
    shapes = trace.inputs.shapes(inputs)
    if not shapes:
        return []
    first = shapes[0]
    return [tuple(first)] if is_dims(first) else [tuple(each) for each in first if is_dims(each)]


def _numbers(trace: Trace, nodes: Rows) -> NDArray[np.int64]:
    """The sequence number of each node, which the operator in it has; -1 where none is known."""
    numbers = np.full(trace.tree_count, -1, np.int64)
    ops = backward_ops(trace)
    ops = ops[(ops < trace.tree_count) & (trace.parent[ops] >= 0) & (trace.sequence_nr[ops] >= 0)]
    numbers[trace.parent[ops]] = trace.sequence_nr[ops]
    return numbers[nodes]
