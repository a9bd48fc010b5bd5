"""Gradients that a backward accumulates and nothing updates, and what is computed for them alone.

LossBackward
AddmmBackward0     mm  mm  sum    of the second mm and the sum come gradients in vain: parts
  AccumulateGrad                  in vain
ConvolutionBackward0
  AccumulateGrad                  the last one that is used
ConvolutionBackward0
  AccumulateGrad                  in vain, and so is all from here on: the rest of the walk
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tidy.trace import Event, Rows, Trace
from tidy.trace.inputs import is_dims
from tidy.trace.made_places import parameters_of

from .autograd import calls_of
from .updates import computed_with, updated_tensors
from .walks import ACCUMULATE, Dims, Walk, walks

_CONVOLUTION = "aten::convolution_backward"
# What stands between a product of a node and the gradient that it is.
_PASSES_ON = ("TBackward0", ACCUMULATE)


class InVain(NamedTuple):
    """What one backward does for gradients in vain.

    Attributes:
        nodes: those of the engine that compute them, by start; some compute others as well.
        rows: what is computed for them alone: nodes after the last gradient that is used, and
            before it operators.
        convolutions: the operators that compute the gradient of an input as well, which is used.
        gradients: how many are accumulated.
    """

    nodes: Rows
    rows: Rows
    convolutions: Rows
    gradients: int


def gradients_in_vain(trace: Trace, fewest: int) -> Iterator[InVain]:
    """Yield what each backward does after the last gradient in use, for `fewest` others or more.

    A gradient is in use if a tensor of its dims is updated. Where it was noted which parameters
    have an optimizer, as many others before it count, too, if none of these has their dims: of
    gradients of the same dims it is not known which is whose. A script that computes with tensors
    of their dims may well use them, or update the parameters in ways of its own.
    """
    noted, by_script = parameters_of(trace), computed_with(trace)
    for walk, used in _uses(trace):
        last = max(used)
        count = sum(at > last for at, _ in walk.gradients)
        rest = walk.nodes[last + 1 :] if count >= fewest else walk.nodes[:0]
        before = {
            at: dims
            for at, dims in walk.gradients
            if noted and dims and at < last and at not in used
            if dims not in noted and dims not in by_script
        }
        if len(before) < fewest:
            if len(rest):
                yield InVain(rest, rest, rest[:0], count)
            continue
        nodes, rows, convolutions = _parts(trace, walk, before)
        count = len(before) + (count if len(rest) else 0)
        nodes, rows = np.append(nodes, rest), np.append(rows, rest)
        yield InVain(nodes, rows, convolutions, count)


def _parts(trace: Trace, walk: Walk, in_vain: dict[int, Dims]) -> tuple[Rows, Rows, Rows]:
    """The nodes that compute these gradients, what is for them alone, and convolutions."""
    dims_of: dict[int, list[Dims]] = {}
    last_of: dict[int, int] = {}
    rows, convolutions = list[int](), list[int]()
    computed_at = _computed_at(trace, walk)
    for at, dims in in_vain.items():
        first = computed_at[at]
        dims_of.setdefault(first, []).append(dims)
        last_of[first] = at
        rows.append(int(walk.nodes[at]))
    for node, wanted in dims_of.items():
        between = walk.nodes[node + 1 : last_of[node]].tolist()
        rows += [each for each in between if not _accumulates(trace, each)]
        for op in _ops_for(trace.event(int(walk.nodes[node])), wanted):
            (convolutions if op.name == _CONVOLUTION else rows).append(op.row)
    nodes = np.sort(walk.nodes[list(dims_of)])
    return nodes, np.unique(np.array(rows, np.int64)), np.unique(np.array(convolutions, np.int64))


def _uses(trace: Trace) -> Iterator[tuple[Walk, set[int]]]:
    """Each walk that has a gradient in use, and the indexes of the nodes that accumulate these."""
    by_optimizers, by_others, *_ = updated_tensors(trace)
    known = parameters_of(trace) or Counter[Dims]()
    begins = trace.start_ns[calls_of(trace)]
    for walk in walks(trace):
        if not any(dims in known or dims in by_optimizers for _, dims in walk.gradients):
            continue
        # Of two losses in a row the engine's numbers fall as of one.
        span_ns = trace.start_ns[walk.nodes[[0, -1]]]
        first, last = np.searchsorted(begins, span_ns, side="right")
        calls = max(int(last - first) + 1, 1) if len(begins) else trace.tree_count
        left, used = Counter({dims: calls * count for dims, count in known.items()}), set[int]()
        for at, dims in walk.gradients:
            if dims is None:
                continue
            left[dims] -= 1
            # A single number may be a parameter; optimizers have single numbers of their own.
            is_used = left[dims] >= 0 or dims in by_others or dims == ()
            is_used |= dims in by_optimizers and dims not in known
            # What is computed anew for a checkpoint has a gradient each time it is called.
            is_used |= dims in known and not _accumulates(trace, int(walk.nodes[at]))
            if is_used:
                used.add(at)
        if used:
            yield walk, used


def _accumulates(trace: Trace, node: int) -> bool:
    return trace.names[int(trace.name_id[node])].endswith(ACCUMULATE)


def _computed_at(trace: Trace, walk: Walk) -> list[int]:
    """Of each node the index of the last one up to it that computes, rather than passes on."""
    passes_on = [trace.names[each].endswith(_PASSES_ON) for each in trace.name_id[walk.nodes]]
    at = np.where(passes_on, 0, np.arange(len(passes_on)))
    computed: list[int] = np.maximum.accumulate(at).tolist()
    return computed


def _ops_for(node: Event, wanted: list[Dims]) -> Iterator[Event]:
    """The operators of a node whose results have these dims: products, sums, and convolutions."""
    left = list(wanted)
    ops = [each for child in node.children for each in (child, *child.children)]
    for op in reversed(ops):  # a product for the input of a layer comes before that for its weight
        dims = next((each for each in left if _may_give(op, each)), None)
        if dims is not None:
            left.remove(dims)
            yield op


def _may_give(op: Event, dims: Dims) -> bool:
    shapes = op.input_shapes
    first, second, third = (*shapes[:3], (), (), ())[:3]
    if op.name == "aten::mm" and is_dims(first) and is_dims(second) and len(dims) == 2:
        return sorted((*first[:1], *second[-1:])) == sorted(dims)
    if op.name == "aten::sum" and is_dims(first):
        return len(dims) == 1 and first[-1:] == dims
    return op.name == _CONVOLUTION and third == dims
