"""Loops over the samples of a batch by slices: `x[i : i + 1]` for each `i`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tidy.trace import Rows, Trace
from tidy.trace.inputs import is_dims

from .autograd import called_by_script
from .launches import ops_in_no_op
from .sample_loops import Numbers, SampleLoop, computes, sample_loop

FEWEST_INPUTS = 4  # of aten::slice(self, dim, start, end, step)
# A form that one round alone has is no branch that the others take too.
_FEWEST_OF_A_FORM = 2


@dataclass(frozen=True, slots=True)
class SlicedSamples:
    """Finds them.

    Attributes:
        fewest_rounds: of a loop.
        alike_share: so many of the rounds are alike.
        most_forms: how many forms these have: branches add operators to some.
    """

    fewest_rounds: int
    alike_share: float
    most_forms: int

    def loops(self, trace: Trace) -> Iterator[SampleLoop]:
        """All of them that the script has."""
        slices = called_by_script(trace, "aten::slice")
        if len(slices) < self.fewest_rounds:
            return
        numbers = np.flatnonzero(np.bincount(trace.inputs_id[slices] + 1)) - 1
        of_one = {number: _one_of(trace, number) for number in numbers.tolist()}
        is_slice = np.zeros(trace.tree_count, bool)
        is_slice[slices] = True
        for track in np.unique(trace.track_id[slices]).tolist():
            ops = ops_in_no_op(trace, track)
            at = np.flatnonzero(is_slice[ops])
            by_tensor: dict[tuple[int, ...], list[tuple[int, int]]] = {}
            for place, number in zip(at.tolist(), trace.inputs_id[ops[at]].tolist(), strict=True):
                if (one := of_one[number]) is not None:
                    by_tensor.setdefault(one[0], []).append((place, one[1]))
            taken = np.zeros(len(ops) + 1, bool)
            for dims, taken_at in by_tensor.items():
                for run in _counting_up(taken_at):
                    loop = self._loop(trace, ops, run, dims)
                    # Of several slices in a round the first stands for it.
                    if loop is not None and not taken[run[0] : run[-1]].any():
                        taken[run[0] : run[-1] + 1] = True
                        yield loop

    def _loop(
        self, trace: Trace, ops: Rows, run: list[int], dims: tuple[int, ...]
    ) -> SampleLoop | None:
        """The loop that a stretch is, None where the rounds differ or do something else."""
        if len(run) < self.fewest_rounds:
            return None
        names = trace.name_id[ops]
        kinds = self._kinds_of_rounds(trace, names, run)
        if not kinds:
            return None
        rows = ops[run[0] : run[-1] + len(_last_round(names[run[-1] :], kinds))]
        return sample_loop(trace, rows, len(run), dims, np.unique(np.concatenate(kinds)))

    def _kinds_of_rounds(self, trace: Trace, names: Numbers, run: list[int]) -> list[Numbers]:
        """The operators of a round; several forms of it where a branch adds to some rounds.

        Nothing where the rounds have more forms, or compute nothing.
        """
        rounds = Counter(names[first:last].tobytes() for first, last in pairwise(run))
        kinds, count = list[Numbers](), 0
        for form, times in rounds.most_common(self.most_forms):
            kind = np.frombuffer(form, names.dtype)
            if times >= _FEWEST_OF_A_FORM and computes(trace, kind):
                kinds.append(kind)
                count += times
        return kinds if count >= self.alike_share * (len(run) - 1) else []


def _last_round(names: Numbers, kinds: Sequence[Numbers]) -> Numbers:
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
