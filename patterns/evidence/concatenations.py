"""Tensors that grow by `torch.cat`, call by call, and what reads them meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from tidy.trace import Event, Rows, Trace
from tidy.trace.inputs import is_dims

from .autograd import called_by_script
from .launches import has_name, ops_in_no_op
from .op_names import VIEWS

Dims = tuple[int, ...]


def growing(trace: Trace, fewest_rounds: int, read_share: float) -> Iterator[list[Event]]:
    """Chains of calls, each of which takes what the one before gave, by thread.

    Args:
        fewest_rounds: of a chain.
        read_share: what is read in more of the rounds has to be whole in each, and is left out.
    """
    rows = called_by_script(trace, "aten::cat")
    for track in np.unique(trace.track_id[rows]).tolist():
        own = rows[trace.track_id[rows] == track]
        ops = ops_in_no_op(trace, track) if len(own) >= fewest_rounds else own[:0]
        for chain in _grown(trace, ops[np.isin(ops, own)], fewest_rounds):
            if _reads(trace, ops, chain) <= read_share * len(chain):
                yield [cat for cat, _ in chain]


def _grown(trace: Trace, cats: Rows, fewest: int) -> Iterator[list[tuple[Event, Dims]]]:
    """Calls of which each takes what the one before gave, and the dims of what each gives."""
    open_: dict[Dims, list[tuple[Event, Dims]]] = {}
    for cat in trace.events(cats.tolist()):
        sizes, given = _sizes(cat)
        taken = next((dims for dims in sizes if dims in open_ and dims != given), None)
        chain = open_.pop(taken) if taken is not None else []
        if given:
            before = open_.pop(given, None)
            if before is not None and len(before) >= fewest:
                yield before
            chain.append((cat, given))
            open_[given] = chain
    yield from (chain for chain in open_.values() if len(chain) >= fewest)


def _sizes(cat: Event) -> tuple[list[Dims], Dims]:
    """The dims of the tensors that are concatenated and of what that gives; () if not known."""
    shapes, values = cat.input_shapes, cat.concrete_inputs
    tensors = [dims for dims in shapes[0] if is_dims(dims)] if shapes else []
    if len(tensors) < 2 or len(values) < 2 or not str(values[1]).lstrip("-").isdigit():
        return [], ()
    dim, most = int(str(values[1])), max(map(len, tensors))
    tensors = [dims for dims in tensors if len(dims) == most]
    if not tensors or not -most <= dim < most:
        return [], ()
    dim %= most
    given = list(tensors[0])
    given[dim] = sum(dims[dim] for dims in tensors)
    return tensors, tuple(given)


def _reads(trace: Trace, ops: Rows, chain: list[tuple[Event, Dims]]) -> int:
    """In how many of the rounds other operators take what has grown."""
    reading = ~has_name(trace, "aten::cat", *VIEWS)
    reads = 0
    for (cat, dims), (after, _) in pairwise(chain):
        first, last = np.searchsorted(ops, (int(trace.subtree_end[cat.row]), after.row))
        between = ops[first:last]
        numbers = np.unique(trace.inputs_id[between[reading[trace.name_id[between]]]])
        reads += any(dims in trace.inputs.shapes(int(number)) for number in numbers)
    return reads
