"""Loops over the samples of a batch: by slices, `x[i : i + 1]`, and by rows, `for row in x`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tidy.trace import Location, Rows, Trace
from tidy.trace.inputs import is_dims

from ..device.autograd import called_by_script
from ..device.launches import has_name, ops_in_no_op
from ..python.loops import index_changes
from ..python.op_names import PRODUCTS, RECURRENT, TRAINING_STEPS, VIEWS, aten

_Numbers = NDArray[np.int32]  # of names
# They copy or read a sample, and compute nothing of it.
_NO_WORK = VIEWS | aten("cat to contiguous clone copy_ item resolve_conj resolve_neg cpu")
FEWEST_INPUTS = 4  # of aten::slice(self, dim, start, end, step)
# A form that one round alone has is no branch that the others take too.
_FEWEST_OF_A_FORM = 2
_FEWEST_DIMS = 2  # rows of fewer are single numbers


@dataclass(frozen=True, slots=True)
class SampleLoop:
    """One round for each sample.

    Attributes:
        ops: from the first that takes a sample on.
        rounds: how many there are.
        dims: of the batch.
        is_maybe_recurrent: whether a round may need the one before, unless samples are pictures.
        location: where the first op is called.
    """

    ops: Rows
    rounds: int
    dims: tuple[int, ...]
    is_maybe_recurrent: bool
    location: Location | None


def loops_over_slices(
    trace: Trace, fewest_rounds: int, alike_share: float, most_forms: int
) -> Iterator[SampleLoop]:
    """All loops of the script by slices of one sample each.

    Args:
        alike_share: so many of the rounds are alike.
        most_forms: how many forms these have: branches add operators to some.
    """
    slices = called_by_script(trace, "aten::slice")
    if len(slices) < fewest_rounds:
        return
    numbers = np.flatnonzero(np.bincount(trace.inputs_id[slices] + 1)) - 1
    of_one = {number: _one_of(trace, number) for number in numbers.tolist()}
    for track in np.unique(trace.track_id[slices]).tolist():
        ops = ops_in_no_op(trace, track)
        names = trace.name_id[ops]
        at = np.flatnonzero(np.isin(ops, slices))
        by_tensor: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        for place, number in zip(at.tolist(), trace.inputs_id[ops[at]].tolist(), strict=True):
            if (one := of_one[number]) is not None:
                by_tensor.setdefault(one[0], []).append((place, one[1]))
        taken = np.zeros(len(ops) + 1, bool)
        for dims, taken_at in by_tensor.items():
            for run in _counting_up(taken_at):
                # Of several slices in a round the first stands for it.
                if len(run) < fewest_rounds or taken[run[0] : run[-1]].any():
                    continue
                kinds = _kinds_of_rounds(trace, names, run, alike_share, most_forms)
                if not kinds:
                    continue
                rows = ops[run[0] : run[-1] + len(_last_round(names[run[-1] :], kinds))]
                in_rounds = np.unique(np.concatenate(kinds))
                loop = _sample_loop(trace, rows, len(run), dims, in_rounds, fewest_rounds)
                if loop is not None:
                    taken[run[0] : run[-1] + 1] = True
                    yield loop


def _kinds_of_rounds(
    trace: Trace, names: _Numbers, run: list[int], alike_share: float, most_forms: int
) -> list[_Numbers]:
    """The operators of a round; several forms of it where a branch adds to some rounds.

    Nothing where the rounds have more forms, or compute nothing.
    """
    rounds = Counter(names[first:last].tobytes() for first, last in pairwise(run))
    kinds, count = list[_Numbers](), 0
    for form, times in rounds.most_common(most_forms):
        kind = np.frombuffer(form, names.dtype)
        if times >= _FEWEST_OF_A_FORM and _computes(trace, kind):
            kinds.append(kind)
            count += times
    return kinds if count >= alike_share * (len(run) - 1) else []


def loops_over_rows(trace: Trace, fewest_rounds: int, longest_round: int) -> Iterator[SampleLoop]:
    """All loops in which the same operators come for each row, and one takes it.

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
            if length and _computes(trace, in_round) and _takes(trace, ops[one_round], dims):
                rows = ops[at : at + 1 + length * dims[0]]
                loop = _sample_loop(trace, rows, dims[0], dims, in_round, fewest_rounds, maybe=True)
                if loop is not None:
                    yield loop


def _sample_loop(
    trace: Trace,
    ops: Rows,
    rounds: int,
    dims: tuple[int, ...],
    in_rounds: _Numbers,
    fewest_rounds: int,
    *,
    maybe: bool = False,
) -> SampleLoop | None:
    """The loop that these ops are; None where rounds are training steps, or need the one before.

    A loop whose rounds index something else each is none over samples.

    Args:
        in_rounds: numbers of the names of all operators in rounds.
        maybe: all such loops may be recurrent; else those with a product or a convolution.
    """
    called = {trace.names[number] for number in in_rounds.tolist()}
    is_step = has_name(trace, *TRAINING_STEPS)[in_rounds].any()
    selects = ops[has_name(trace, "aten::select")[trace.name_id[ops]]]
    counts = len(selects) and index_changes(
        trace, selects, -(-len(selects) // rounds), fewest_rounds
    )
    if is_step or counts is None or counts or called & RECURRENT:
        return None
    location = trace.event(int(ops[0])).location
    return SampleLoop(ops, rounds, dims, maybe or bool(called & PRODUCTS), location)


def _computes(trace: Trace, names: _Numbers) -> bool:
    """Tell whether an operator with one of these names computes something."""
    return any(trace.names[number] not in _NO_WORK for number in names.tolist())


def _last_round(names: _Numbers, kinds: Sequence[_Numbers]) -> _Numbers:
    """The longest form of a round that these names begin with, else the most usual one."""
    fitting = [kind for kind in kinds if np.array_equal(names[: len(kind)], kind)]
    return max(fitting, key=len, default=kinds[0])


def _one_of(trace: Trace, inputs: int) -> tuple[tuple[int, ...], int] | None:
    """The dims that one sample is sliced from, and which; None for other slices."""
    values = trace.inputs.concrete(inputs)
    if len(values) < FEWEST_INPUTS or str(values[1]) != "0":
        return None
    start, end = str(values[2]), str(values[3])
    if not (start.isdigit() and end.isdigit()) or int(end) - int(start) != 1:
        return None
    shapes = trace.inputs.shapes(inputs)
    return (tuple(shapes[0]), int(start)) if shapes and is_dims(shapes[0]) else None


def _counting_up(taken: list[tuple[int, int]]) -> Iterator[list[int]]:
    """Stretches in which samples follow each other: where each sample is first sliced."""
    run: list[int] = []
    before = -1
    for place, sample in taken:
        if run and sample == before:
            continue
        if run and sample != before + 1:
            yield run
            run = []
        run.append(place)
        before = sample
    if run:
        yield run


def _dims_along_the_first(trace: Trace, row: int) -> tuple[int, ...]:
    """Those of the tensor, if it is taken apart along its first dimension."""
    event = trace.event(row)
    shapes, values = event.input_shapes, event.concrete_inputs
    is_first = len(values) > 1 and str(values[1]) == "0"
    return tuple(shapes[0]) if is_first and shapes and is_dims(shapes[0]) else ()


def _length_of_round(names: _Numbers, rounds: int, longest: int) -> int:
    """Count the operators that come again in each of the rounds that these begin with."""
    for length in range(min(longest, len(names) // rounds), 0, -1):
        some = names[: rounds * length]
        if some[0] == some[length] and np.array_equal(some[:-length], some[length:]):
            return length
    return 0


def _takes(trace: Trace, ops: Rows, dims: tuple[int, ...]) -> bool:
    """Tell whether one of the ops takes a row of a batch of these dims."""
    return any(dims[1:] in (trace.event(row).input_shapes or ()) for row in ops.tolist())
