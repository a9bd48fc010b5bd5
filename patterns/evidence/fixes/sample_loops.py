"""Loops over the samples of a batch: by slices, `x[i : i + 1]`, and by rows, `for row in x`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tidy.trace import Event, Location, Rows, Trace
from tidy.trace.inputs import is_dims

from ..device.autograd import NODE, called_by_script
from ..device.launches import has_name, holds, ops_in_no_op, tree_rows
from ..python.loops import index_changes
from ..python.op_names import PRODUCTS, RECURRENT, TRAINING_STEPS, aten
from .counted_loops import (
    CountedLoop,
    Forms,
    Numbers,
    computes,
    counted_loops,
    forms_of_rounds,
    index_of,
    last_round,
)
from .row_batches import are_trained_batches, takes_batches

_COLLECTS = "torch::autograd::AccumulateGrad"
_SUBTRACTS, _ADDS = aten("sub sub_"), aten("add add_ addcdiv addcdiv_ addcmul addcmul_ lerp_ copy_")
FEWEST_INPUTS = 4  # of aten::slice(self, dim, start, end, step)
_FEWEST_DIMS = 2  # rows of fewer are single numbers


@dataclass(frozen=True, slots=True)
class SampleLoop:
    """One round for each sample.

    Attributes:
        ops: from the first that takes a sample on.
        rounds: how many there are.
        dims: of the batch.
        is_maybe_recurrent: whether a round may need the one before, unless samples are pictures.
        takes_batches: whether what is taken may be a batch itself.
        takes_gradients: whether each round computes gradients of its own.
        location: where the first op is called.
    """

    ops: Rows
    rounds: int
    dims: tuple[int, ...]
    is_maybe_recurrent: bool
    takes_batches: bool
    takes_gradients: bool
    location: Location | None


def loops_over_slices(trace: Trace, fewest_rounds: int, forms: Forms) -> Iterator[SampleLoop]:
    """Return all loops of the script by slices of one sample each."""
    slices = called_by_script(trace, "aten::slice")

    def loop_of(counted: CountedLoop) -> SampleLoop | None:
        in_rounds = np.unique(np.concatenate(counted.forms))
        rounds = counted.rounds
        if _reads_more_each_round(trace, counted.ops, rounds):
            return None
        return _sample_loop(trace, counted.ops, rounds, counted.dims, in_rounds, fewest_rounds)

    return counted_loops(trace, slices, _one_of, fewest_rounds, forms, loop_of)


def loops_over_rows(
    trace: Trace, fewest_rounds: int, longest_round: int, forms: Forms
) -> Iterator[SampleLoop]:
    """Return all loops in which the same operators come for each row, but for branches, and one
    takes it.

    Args:
        longest_round: operators that a round has at most.
    """
    unbinds = called_by_script(trace, "aten::unbind")
    is_unbind = has_name(trace, "aten::unbind")
    for track in np.unique(trace.track_id[unbinds]).tolist():
        ops = ops_in_no_op(trace, track)
        names = trace.name_id[ops]
        begun = set[int]()
        for at in np.flatnonzero(np.isin(ops, unbinds)).tolist():
            dims = _dims_along_the_first(trace, int(ops[at]))
            if len(dims) < _FEWEST_DIMS or dims[0] < fewest_rounds:
                continue
            begin = at + 1
            while begin < len(ops) and is_unbind[names[begin]]:  # of `zip(x, y)`
                begin += 1
            if begin in begun:
                continue
            following = ops[begin : begin + longest_round * dims[0]]
            length = _length_of_round(names[begin:], dims[0], longest_round)
            kinds, count = [names[begin : begin + length]], length * dims[0]
            if not length:
                kinds, count = _with_branches(trace, following, dims[0], longest_round, forms)
            in_rounds = np.unique(np.concatenate(kinds or [names[:0]]))
            if not count or not computes(trace, in_rounds):
                continue
            if _takes(trace, following[: len(kinds[0])], dims):
                rows = np.append(ops[at], following[:count])
                loop = _sample_loop(
                    trace, rows, dims[0], dims, in_rounds, fewest_rounds, maybe=True
                )
                if loop is not None:
                    begun.add(begin)
                    yield loop


def _with_branches(
    trace: Trace, ops: Rows, rounds: int, longest: int, forms: Forms
) -> tuple[list[Numbers], int]:
    """Return the forms of so many rounds that begin with one operator, and how many ops they are.

    That operator is what the branch needs. None, and 0, if these are no such rounds.
    """
    names, inputs = trace.name_id[ops], trace.inputs_id[ops]
    begins = np.flatnonzero((names == names[:1]) & (inputs == inputs[:1]))[:rounds].tolist()
    if len(begins) < rounds or max(b - a for a, b in pairwise(begins)) > longest:
        return [], 0
    kinds = forms_of_rounds(trace, names, begins, forms)
    if not kinds:
        return [], 0
    return kinds, begins[-1] + len(last_round(names[begins[-1] :], kinds))


def _sample_loop(
    trace: Trace,
    ops: Rows,
    rounds: int,
    dims: tuple[int, ...],
    in_rounds: Numbers,
    fewest_rounds: int,
    *,
    maybe: bool = False,
) -> SampleLoop | None:
    """The loop that these ops are; None where rounds are training steps, or need the one before.

    A loop over what training takes as batches is none over samples, nor is one whose rounds index
    something else each.

    Args:
        in_rounds: numbers of the names of all operators in rounds.
        maybe: all such loops may be recurrent; else those with a product or a convolution.
    """
    called = {trace.names[number] for number in in_rounds.tolist()}
    is_step = has_name(trace, *TRAINING_STEPS)[trace.name_id[ops]]
    takes_gradients = not maybe and bool(called & PRODUCTS) and _takes_gradients(trace, ops)
    if takes_gradients:
        is_step &= ~has_name(trace, f"{NODE}*")[trace.name_id[ops]]
    selects = ops[has_name(trace, "aten::select")[trace.name_id[ops]]]
    counts = len(selects) and index_changes(
        trace, selects, -(-len(selects) // rounds), fewest_rounds
    )
    if (
        is_step.any()
        or counts is None
        or counts
        or called & RECURRENT
        or are_trained_batches(trace, ops)
    ):
        return None
    location = trace.event(int(ops[0])).location
    may_need = maybe or bool(called & PRODUCTS)
    of_batches = takes_batches(trace, ops)
    return SampleLoop(ops, rounds, dims, may_need, of_batches, takes_gradients, location)


def _takes_gradients(trace: Trace, ops: Rows) -> bool:
    """Tell whether rounds compute gradients that no parameter collects, nor is changed by.

    A backward adds to the gradients of parameters, `torch.autograd.grad` returns its own. A step
    by hand subtracts them after it. A file that is thinned out may lack what collects them.
    """
    if trace.info.is_thinned:
        return False
    nodes = np.flatnonzero(has_name(trace, f"{NODE}*")[trace.name_id[ops]])
    if not len(nodes) or holds(trace, ops[nodes], tree_rows(trace, _COLLECTS)).any():
        return False
    return not any(map(_is_subtracted, trace.events(ops[nodes[-1] + 1 :])))


def _is_subtracted(op: Event) -> bool:
    """Tell whether an operator subtracts a tensor, also as `add_(tensor, alpha=-rate)` does."""
    return op.name in _SUBTRACTS or (
        op.name in _ADDS and any(str(each).startswith("-") for each in op.concrete_inputs)
    )


def _reads_more_each_round(trace: Trace, ops: Rows, rounds: int) -> bool:
    """Tell whether most rounds read a part of a tensor from its begin on that is one longer each.

    So does a decoder that writes a key into its cache and reads those of all rounds before.
    """
    slices = ops[has_name(trace, "aten::slice")[trace.name_id[ops]]]
    ends = dict[tuple[object, str], set[int]]()
    for inputs in np.unique(trace.inputs_id[slices]).tolist():
        shapes, values = trace.inputs.shapes(inputs), trace.inputs.concrete(inputs)
        if len(values) >= FEWEST_INPUTS and shapes and str(values[2]) == "0":
            end = index_of(values[3])
            if end is not None:
                ends.setdefault((shapes[0], str(values[1])), set()).add(end)
    return any(sum(end + 1 in each for end in each) > rounds / 2 for each in ends.values())


def _one_of(trace: Trace, inputs: int) -> tuple[tuple[int, ...], int] | None:
    """The dims that one sample is sliced from, and which; None for other slices."""
    values = trace.inputs.concrete(inputs)
    if len(values) < FEWEST_INPUTS or str(values[1]) != "0":
        return None
    start, end = index_of(values[2]), index_of(values[3])
    if start is None or end is None or end - start != 1:
        return None
    shapes = trace.inputs.shapes(inputs)
    return (tuple(shapes[0]), start) if shapes and is_dims(shapes[0]) else None


def _dims_along_the_first(trace: Trace, row: int) -> tuple[int, ...]:
    """Those of the tensor, if it is taken apart along its first dimension."""
    event = trace.event(row)
    shapes, values = event.input_shapes, event.concrete_inputs
    is_first = len(values) > 1 and str(values[1]) == "0"
    return tuple(shapes[0]) if is_first and shapes and is_dims(shapes[0]) else ()


def _length_of_round(names: Numbers, rounds: int, longest: int) -> int:
    """Count the operators that come again in each of the rounds that these begin with."""
    for length in range(min(longest, len(names) // rounds), 0, -1):
        some = names[: rounds * length]
        if some[0] == some[length] and np.array_equal(some[:-length], some[length:]):
            return length
    return 0


def _takes(trace: Trace, ops: Rows, dims: tuple[int, ...]) -> bool:
    """Tell whether one of the ops takes a row of a batch of these dims."""
    return any(dims[1:] in (trace.event(row).input_shapes or ()) for row in ops.tolist())
