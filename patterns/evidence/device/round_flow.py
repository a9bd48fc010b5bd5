"""Which tensors of the round before a round of a loop may read, by the dims of what it reads.

Each tensor that a round makes is read in it once, unless it is what the round is for. So a read of
dims that no tensor made before it in the round has left is one of a tensor made outside, or a
second read: where another round makes tensors of such dims it may be one of these.

    x = select(...)  [16]     made
    y = tanh(x)      [16]     reads x
    s = add(s, y)    [16]     reads y, and one more: s of the round before
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from tidy.trace import Rows, Trace
from tidy.trace.kept import kept

from ..python.op_names import VIEWS, aten
from .result_dims import LOSSES, Dims
from .round_ops import SELECT, Kind, RoundOp, SeenTensor, ops_of_round

_MOST_NBYTES = 1 << 60  # a damaged file may have any dims
_UNIT_NBYTES = 512  # what allocators of devices round up to
_OF_NUMBERS = "aten::lift_fresh"  # what Python made a tensor of
_SCALES = aten("mul mul_")


@dataclass(frozen=True, slots=True)
class Flow:
    """What a round may read of the round before.

    Attributes:
        ops: of the round, in the order in which they were given.
        doubted: operators that may read a tensor of it, with what they may read; none where all
            that rounds share are sums, which no other operator reads.
        sums: operators that may add to a sum.
        unread: operators whose results no later one of the round may read.
        writes_back: whether it reads an element that an earlier round may have written.
        has_state: whether it changes a tensor in place that it may have of the round before, or
            looks up indexes that may be of it.
        writes: whether it writes into elements.
    """

    ops: tuple[RoundOp, ...]
    doubted: tuple[tuple[RoundOp, SeenTensor], ...]
    sums: tuple[RoundOp, ...]
    unread: tuple[RoundOp, ...]
    writes_back: bool
    has_state: bool
    writes: bool

    @property
    def doubted_dims(self) -> frozenset[Dims]:
        """The dims of what it may read of the round before."""
        return frozenset(each.dims for _, each in self.doubted)

    def sizes(self) -> NDArray[np.int64]:
        """Return the bytes that tensors may take which a round reads of the round before."""
        exact = {
            min(prod(each.dims) * nbytes, _MOST_NBYTES)
            for op, each in self.doubted
            for nbytes in op.element_nbytes
        }
        nbytes = np.array(sorted(exact), np.int64)
        return np.union1d(nbytes, -(-nbytes // _UNIT_NBYTES) * _UNIT_NBYTES)


def flow_of(trace: Trace, a_round: Rows, before: Rows) -> Flow | None:
    """Return the flow of a round; None if what one of its operators reads was not recorded.

    Args:
        a_round: its operators by start, and `before` those of the round before.
    """
    known = _known_flows(trace)
    rounds = np.concatenate((a_round, before))
    key = trace.name_id[rounds].tobytes(), trace.inputs_id[rounds].tobytes()
    if key not in known:
        known[key] = _flow_anew(trace, a_round, before)
    return known[key]


@kept
def _known_flows(_: Trace) -> dict[tuple[bytes, bytes], Flow | None]:
    """By the names and inputs of two rounds the flow: those of one step are those of others."""
    return {}


def _flow_anew(trace: Trace, a_round: Rows, before: Rows) -> Flow | None:
    ops, ops_before = ops_of_round(trace, a_round), ops_of_round(trace, before)
    if ops is None or ops_before is None:
        return None
    ops, ops_before = _with_dims_of_readers(ops, ops_before)
    computed = _computed(ops_before)
    # Where a loop begins is not known: what a round reads of the one before is the same anywhere.
    flow = _flow(ops, computed)
    starts = [at + 1 for at, op in enumerate(ops[:-1]) if op.is_sum]
    starts += [
        at for at, op in enumerate(ops) if at and (op.name == _OF_NUMBERS or op.is_made_of_nothing)
    ]
    for at in starts if flow.doubted else ():
        turned = _flow(ops[at:] + ops[:at], computed)
        if not turned.doubted:
            return replace(turned, ops=ops)
    return flow


def _with_dims_of_readers(
    ops: Sequence[RoundOp], before: Sequence[RoundOp]
) -> tuple[tuple[RoundOp, ...], tuple[RoundOp, ...]]:
    """Return the operators of two rounds with dims of results that only their readers tell.

    What reads dims that neither the round before nor an operator of its own is known to have made
    reads the first result of unknown dims that nothing has read yet.
    """
    rounds = list(ops), list(before)
    computed, left = _computed(before), Counter[SeenTensor]()
    unknown = list[int]()
    for at, op in enumerate(ops):
        for nth, each in enumerate(op.reads):
            if _take(left, each) or not unknown or _is_in(each, computed) or op.name == SELECT:
                continue
            maker = unknown.pop(0)
            for one_round in rounds:
                if at < len(one_round) and nth < len(one_round[at].reads):
                    made = one_round[at].reads[nth]
                    one_round[maker] = replace(one_round[maker], makes=made)
        if op.makes is not None:
            left[op.makes] += 1
        elif not op.returns_none:
            unknown.append(at)
    return tuple(rounds[0]), tuple(rounds[1])


def _computed(ops: Sequence[RoundOp]) -> frozenset[SeenTensor]:
    """Return what operators make from tensors, but for views of what they do not make."""
    made = {
        op.makes
        for op in ops
        if op.makes is not None and op.name not in VIEWS and not op.is_made_of_nothing
    }
    for op in ops:
        if op.makes is not None and op.name in VIEWS and op.name != SELECT:
            made |= {op.makes} if _is_in(op.reads[0], made) else set()
    return frozenset(made)


def _is_in(tensor: SeenTensor, tensors: set[SeenTensor] | frozenset[SeenTensor]) -> bool:
    return any(each in tensors for each in _kin(tensor))


def _take(left: Counter[SeenTensor], tensor: SeenTensor) -> bool:
    """Take such a tensor from those that are left, and tell whether there was one."""
    found = next((each for each in _kin(tensor) if left[each]), None)
    if found is not None:
        left[found] -= 1
    return found is not None


def _kin(tensor: SeenTensor) -> tuple[SeenTensor, ...]:
    """Return it, and what it may be if its dtype or that of the other is not known."""
    others: tuple[Kind | None, ...] = tuple(Kind) if tensor.kind is None else (None,)
    return (tensor, *(tensor._replace(kind=each) for each in others))


def _flow(ops: Sequence[RoundOp], computed: frozenset[SeenTensor]) -> Flow:
    """Return the flow of a round that begins with the first of these operators.

    Args:
        computed: what the round before has made.
    """
    is_whole = all(op.makes is not None or op.returns_none for op in ops if op.reads)
    selects = _writes(ops)
    left, doubted, sums = Counter[SeenTensor](), list[tuple[RoundOp, SeenTensor]](), list[RoundOp]()
    changed, writes = list[SeenTensor](), dict[int, RoundOp]()
    looks_up = False
    for op in ops:
        outside = list[SeenTensor]()
        for each in op.reads if op.name != _OF_NUMBERS else ():
            if not _take(left, each) and (not is_whole or _is_in(each, computed)):
                outside.append(each)
        if op.reads_unseen and not _take_index(left):
            looks_up |= any(each.kind is not Kind.FLOAT for each in computed) or (
                op.makes is None and all(each.kind is not Kind.FLOAT for each in op.reads)
            )
        if op.changes is not None:
            is_own = _take(left, op.changes) if op.overwrites else op.changes not in outside
            if is_own and op.at in selects:
                writes[op.at] = selects[op.at]
            elif not is_own:
                changed.append(op.changes)
        if op.is_sum and outside == [op.makes]:
            sums.append(op)
            continue
        doubted += [(op, each) for each in outside]
        if op.makes is not None and not (op.overwrites and op.at in writes):
            left[op.makes] += 1
    for summed in {op.makes for op in sums if op.makes is not None}:
        others = [op for op in ops if op not in sums and summed in op.reads]
        if not _are_of_losses(ops, others, sums, summed):
            doubted += [(op, summed) for op in others]
    if doubted:
        doubted += [(op, op.makes) for op in sums if op.makes is not None]
    has_state = looks_up or any(each in changed for _, each in doubted)
    return Flow(
        tuple(ops),
        tuple(doubted),
        tuple(sums),
        tuple(_unread(ops)),
        _writes_back(ops, writes),
        has_state,
        bool(writes),
    )


def _take_index(left: Counter[SeenTensor]) -> bool:
    """Take an index or a mask from the tensors that are left, and tell whether there was one."""
    found = next(
        (each for each, count in left.items() if count and each.kind is not Kind.FLOAT), None
    )
    return found is not None and _take(left, found)


def _unread(ops: Sequence[RoundOp]) -> list[RoundOp]:
    """Return operators that compute what no later one may read."""
    return [
        op
        for at, op in enumerate(ops)
        if op.makes is not None
        and not op.is_made_of_nothing
        and op.name not in VIEWS
        and not any(_is_in(op.makes, set(later.reads)) for later in ops[at + 1 :])
        and not any(later.reads_unseen for later in ops[at + 1 :])
    ]


def _are_of_losses(
    ops: Sequence[RoundOp], others: Sequence[RoundOp], sums: Sequence[RoundOp], summed: SeenTensor
) -> bool:
    """Tell whether operators that read single numbers read what the round reduces, not the sum.

    A sum that decays, `s = r.sum() + 0.9 * s`, scales right before it adds, and one of numbers that
    are selected may be a recurrence: there all numbers have to come of what a loss returned.
    """
    if not others:
        return True
    makers = [op for op in ops if op.makes == summed and op not in sums]
    if summed.dims != () or not makers or ops.index(makers[0]) > ops.index(others[0]):
        return False
    scales = any(
        op.name in _SCALES and after in sums for op, after in pairwise(ops) if op in others
    )
    is_selected = any(op.name == SELECT for op in makers)
    reduces = [op for op in makers if any(each.dims for each in op.reads) and op.name not in VIEWS]
    if sum(op.name in _SCALES for op in others) > len(reduces):
        return False  # the sum is scaled, too, as a moving average is
    if scales or is_selected:
        return bool(reduces) and all(op.name in LOSSES for op in reduces)
    return makers[0] in reduces


def _writes(ops: Sequence[RoundOp]) -> dict[int, RoundOp]:
    """Return by the operators that may write into an element the select that takes it."""
    found, selects = dict[int, RoundOp](), dict[SeenTensor | None, RoundOp]()
    for op in ops:
        if op.name == SELECT:
            selects[op.makes] = op
        elif op.changes is not None and op.changes in selects:
            found[op.at] = selects[op.changes]
        elif op.makes not in op.reads:
            selects.pop(op.makes, None)
    return found


def _writes_back(ops: Sequence[RoundOp], writes: Mapping[int, RoundOp]) -> bool:
    """Tell whether elements are read at other indexes of tensors than are written."""
    selects = [op for op in ops if op.name == SELECT]
    return any(
        each.reads[0] == one.reads[0] and each.dim == one.dim and each.index != one.index
        for one in writes.values()
        for each in selects
    )
