"""Elementwise operators that run one after the other over tensors of one size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np

from tidy.account.op_nbytes import Moved, computes_elementwise, moved
from tidy.trace import EventKind, Rows, Trace

_Call = tuple[str, int]  # the name of an operator and the number of its inputs
_MOST_OPS = 64
# In place on a value that has just been made; others may each be of another parameter.
_IN_PLACE = frozenset(
    f"aten::{name}_" for name in "div masked_fill clamp clamp_min relu sigmoid tanh".split()
)
_CAST = "aten::copy_"
# They take a whole tensor to a smaller one, in a kernel that can compute what comes before, too.
_REDUCTIONS = frozenset({"aten::mean", "aten::sum", "aten::var", "aten::amax"})
_JOINS = frozenset({"aten::cat"})  # their bytes are not known: lists of tensors have no dtypes
_OPTIMIZER = "Optimizer.step#*"
_BREAK, _NEUTRAL = -1, 0


@dataclass(frozen=True, slots=True)
class Chain:
    """Operators that a single kernel could compute.

    Attributes:
        ops: their rows, by start.
        kernels: the rows of their kernels.
        names: of the operators, without `aten::`.
        dims: of the tensors.
        nbytes: what they read and write.
        fused_nbytes: what one kernel would: what comes from elsewhere, and the result.
    """

    ops: tuple[int, ...]
    kernels: tuple[int, ...]
    names: tuple[str, ...]
    dims: tuple[int, ...]
    nbytes: int
    fused_nbytes: int


class _Moves(NamedTuple):
    """What a chain moves; see `Chain`."""

    names: tuple[str, ...]
    dims: tuple[int, ...]
    nbytes: int
    fused_nbytes: int


def chains(trace: Trace, fewest_elements: int, fewest_ops: int) -> Iterator[Chain]:
    """All chains outside of optimizers and compiled regions, by start on each thread.

    Args:
        fewest_elements: of the tensors.
        fewest_ops: of a chain.
    """
    kernels = trace.rows_of_kind(EventKind.Kernel)
    ops = trace.launching_ops(kernels)
    kernels, ops = kernels[ops >= 0], ops[ops >= 0]
    if not len(kernels):
        return
    order = np.lexsort((kernels, trace.start_ns[ops], trace.track_id[ops]))
    kernels, ops = kernels[order], ops[order]
    calls = _CallMoves(trace)
    size = trace.by_call(ops, calls.elements)
    steps = trace.rows_named(_OPTIMIZER)
    in_step = trace.time_of(steps[steps < trace.tree_count]).contains(trace.start_ns[ops])
    size[in_step] = _BREAK
    new_track = np.append(True, np.diff(trace.track_id[ops]) != 0)
    for first, last in _stretches(size.tolist(), new_track.tolist(), fewest_elements):
        if last - first >= fewest_ops:
            part = slice(first, last)
            yield from _made(trace, ops[part], kernels[part], size[part], calls, fewest_ops)


class _CallMoves:
    """What calls of operators move, alone and in a row; told once for what is alike."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._moves: dict[_Call, Moved | None] = {}
        self._moved_in_all: dict[tuple[_Call, ...], _Moves] = {}

    def elements(self, name: str, inputs_id: int) -> int:
        """Of the tensors of a member; a code for what is none, or breaks a chain."""
        if name in _JOINS:
            return _NEUTRAL
        move = self._moves[name, inputs_id] = _member(self._trace, name, inputs_id)
        return prod(move.dims) if move is not None else _BREAK

    def moved_by(self, calls: tuple[_Call, ...]) -> _Moves:
        """What members of a chain move."""
        if calls not in self._moved_in_all:
            known = [move for call in calls if (move := self._moves.get(call)) is not None]
            names = tuple(name.removeprefix("aten::") for name, _ in calls)
            nbytes = sum(move.nbytes for move in known)
            self._moved_in_all[calls] = _Moves(names, known[0].dims, nbytes, _fused(known))
        return self._moved_in_all[calls]


def _member(trace: Trace, name: str, inputs_id: int) -> Moved | None:
    """What an operator moves that may be a part of a chain."""
    inputs = trace.inputs
    if name in _REDUCTIONS:
        whole = moved("aten::neg", inputs, inputs_id)
        return whole and Moved(whole.dims, whole.read, 0)
    if name == _CAST:
        dtypes = inputs.dtypes(inputs_id)[:2]
        return moved(name, inputs, inputs_id) if len(set(dtypes)) == 2 else None
    if computes_elementwise(name) or name in _IN_PLACE:
        return moved(name, inputs, inputs_id)
    return None


def _stretches(
    size: list[int], new_track: list[bool], fewest_elements: int
) -> Iterator[tuple[int, int]]:
    """[first, last) of neighbours over one size, with smaller ones among them."""
    first, whole = -1, 0
    for at, (elements, is_new) in enumerate(zip(size, new_track, strict=True)):
        goes_on = first >= 0 and not is_new and elements != _BREAK
        if goes_on and (elements == whole or 2 * elements <= whole):
            continue
        if first >= 0:
            yield first, at
        first, whole = (at, elements) if elements >= fewest_elements else (-1, 0)
    if first >= 0:
        yield first, len(size)


def _made(
    trace: Trace,
    ops: Rows,
    kernels: Rows,
    size: Rows,
    calls: _CallMoves,
    fewest_ops: int,
) -> Iterator[Chain]:
    """The chains of a stretch; of a loop over tensors of one size that of each round."""
    sizes = size.tolist()
    whole = sizes[0]
    last = len(sizes) - sizes[::-1].index(whole)
    if not fewest_ops <= last <= _MOST_OPS:
        return
    names = [trace.names[each] for each in trace.name_id[ops[:last]].tolist()]
    inputs = trace.inputs_id[ops[:last]].tolist()
    period = _period(names)
    if period < fewest_ops:
        return
    for start in range(0, last, period):
        part = slice(start, min(start + period, last))
        if sizes[part].count(whole) < fewest_ops:
            continue
        moves = calls.moved_by(tuple(zip(names[part], inputs[part], strict=True)))
        yield Chain(tuple(ops[part].tolist()), tuple(kernels[part].tolist()), *moves)


def _period(names: Sequence[str]) -> int:
    """After how many operators the names begin again; their number where they do not."""
    for period in range(1, len(names) // 2 + 1):
        if names[period:] == names[:-period]:
            return period
    return len(names)


def _fused(known: list[Moved]) -> int:
    """What comes from elsewhere, and the last result: one input of each is the result before."""
    others = sum(sum(move.read) - max(move.read, default=0) for move in known[1:])
    return sum(known[0].read) + others + known[-1].written
