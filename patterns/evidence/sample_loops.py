"""Loops that work on the samples of a batch one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidy.trace import Location, Rows, Trace

from .launches import has_name
from .op_names import PRODUCTS, RECURRENT, TRAINING_STEPS, VIEWS

Numbers = NDArray[np.int32]  # of names
# What copies or reads a sample, and computes nothing of it.
_NO_WORK = VIEWS | {
    f"aten::{name}"
    for name in "cat to contiguous clone copy_ item resolve_conj resolve_neg cpu".split()
}


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


def sample_loop(
    trace: Trace,
    ops: Rows,
    rounds: int,
    dims: tuple[int, ...],
    in_rounds: Numbers,
    *,
    is_maybe_recurrent: bool = False,
) -> SampleLoop | None:
    """The loop that these ops are; None where rounds are training steps, or need the one before.

    Args:
        in_rounds: numbers of the names of all operators in rounds.
        is_maybe_recurrent: of all such loops; else of those with a product or a convolution.
    """
    called = {trace.names[number] for number in in_rounds.tolist()}
    is_step = has_name(trace, *TRAINING_STEPS)[in_rounds].any()
    if is_step or "aten::select" in called or called & RECURRENT:
        return None
    location = trace.event(int(ops[0])).location
    maybe = is_maybe_recurrent or bool(called & PRODUCTS)
    return SampleLoop(ops, rounds, dims, maybe, location)


def computes(trace: Trace, names: Numbers) -> bool:
    """Whether an operator with one of these names computes something."""
    return any(trace.names[number] not in _NO_WORK for number in names.tolist())
