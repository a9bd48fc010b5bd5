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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidy.trace import Rows, Trace
from tidy.trace.inputs import ITEM_NBYTES, is_dims
from tidy.trace.kept import kept

from ..python.op_names import VIEWS, aten
from .result_dims import LOSSES, Dims, result_dims

_MOST_NBYTES = 1 << 60  # a damaged file may have any dims
_UNIT_NBYTES = 512  # what allocators of devices round up to
_SELECT, _LIST = "aten::select", "TensorList"
_OF_NUMBERS = "aten::lift_fresh"  # what Python made a tensor of
_SUMS, _SCALES = aten("add sub add_ sub_"), aten("mul mul_")
_FLOATING = frozenset(
    each for each in ITEM_NBYTES if "float" in each.lower() or "Half" in each or each == "double"
)
# Losses call it to check that dims go together; it returns what it is given.
_CHECKS = aten("broadcast_tensors")
_MAKES_FLOATS = aten("div to _to_copy mean exp log sqrt sigmoid tanh softmax log_softmax")
_OF_PYTHON = frozenset({"double", "long int"})  # dtypes of tensors made of Python numbers
_COMPARES = aten("eq ne gt ge lt le argmax argmin logical_and logical_or logical_not")


class SeenTensor(NamedTuple):
    """What is known of a tensor: its dims, and whether its elements are floating-point numbers."""

    dims: Dims
    is_float: bool


@dataclass(frozen=True, slots=True)
class RoundOp:
    """An operator of a round: where in it, what it reads, and what it makes if that is known."""

    at: int
    name: str
    reads: tuple[SeenTensor, ...]
    makes: SeenTensor | None
    element_nbytes: frozenset[int]
    dim: str
    index: str

    @property
    def is_sum(self) -> bool:
        """Whether it may add to what the round before has left."""
        return self.name in _SUMS and len(self.reads) == 2 and self.makes in self.reads


@dataclass(frozen=True, slots=True)
class Flow:
    """What a round may read of the round before.

    Attributes:
        ops: of the round, in the order in which they were given.
        doubted: operators that may read a tensor of it, with what they may read; none where all
            that rounds share are sums, which no other operator reads.
        sums: operators that may add to a sum.
        is_whole: whether all dims of results are known.
        writes_back: whether it reads an element that an earlier round may have written.
        has_state: whether it changes a tensor in place that it may have of the round before.
    """

    ops: tuple[RoundOp, ...]
    doubted: tuple[tuple[RoundOp, SeenTensor], ...]
    sums: tuple[RoundOp, ...]
    is_whole: bool
    writes_back: bool
    has_state: bool

    def sizes(self) -> NDArray[np.int64]:
        """Return the bytes that tensors may take which a round reads of the round before."""
        exact = {
            min(prod(each.dims) * nbytes, _MOST_NBYTES)
            for op, each in self.doubted
            for nbytes in op.element_nbytes
        }
        nbytes = np.array(sorted(exact), np.int64)
        return np.union1d(nbytes, -(-nbytes // _UNIT_NBYTES) * _UNIT_NBYTES)


def flow_of(trace: Trace, a_round: Rows) -> Flow | None:
    """Return the flow of a round that begins with a select; None if dims do not tell it.

    What is made of no tensor, as random numbers are, has unknown ones.
    """
    known, names, inputs = _known_flows(trace), trace.name_id[a_round], trace.inputs_id[a_round]
    key = names.tobytes(), inputs.tobytes()
    if key not in known:
        known[key] = _flow_anew(trace, a_round)
    return known[key]


@kept
def _known_flows(_: Trace) -> dict[tuple[bytes, bytes], Flow | None]:
    """By the names and inputs of a round its flow: those of one step are those of others."""
    return {}


def _flow_anew(trace: Trace, a_round: Rows) -> Flow | None:
    every = (_op(trace, at, row) for at, row in enumerate(a_round.tolist()))
    ops = [op for op in every if op.name not in _CHECKS]
    if not ops or not all(op.reads for op in ops):
        return None
    # Where a loop begins is not known: what a round reads of the one before is the same anywhere.
    flow, starts = _flow(ops), (at + 1 for at, op in enumerate(ops[:-1]) if op.is_sum)
    of_numbers = (at for at, op in enumerate(ops) if at and op.name == _OF_NUMBERS)
    for at in (*starts, *of_numbers) if flow.doubted else ():
        turned = _flow(ops[at:] + ops[:at])
        if len(turned.doubted) < len(flow.doubted):
            flow = replace(turned, ops=tuple(ops))
    return flow


def _op(trace: Trace, at: int, row: int) -> RoundOp:
    number, name = int(trace.inputs_id[row]), trace.names[trace.name_id[row]]
    shapes, dtypes = trace.inputs.shapes(number), trace.inputs.dtypes(number)
    values = trace.inputs.concrete(number)
    reads = tuple(_reads(shapes, dtypes))
    of_tensors = [each for each in dtypes if each in ITEM_NBYTES]
    makes = None
    if reads and not any(each == _LIST for each in dtypes):
        dims = result_dims(name, [each.dims for each in reads], values)
        is_float = any(each.is_float for each in reads) or name in _MAKES_FLOATS
        is_float &= name not in _COMPARES
        is_float = reads[0].is_float if name in VIEWS else is_float
        makes = None if dims is None else SeenTensor(dims, is_float)
    nbytes = frozenset(ITEM_NBYTES[each] for each in of_tensors)
    dim, index = (*map(str, values[1:3]), "", "")[:2]
    return RoundOp(at, name, reads, makes, nbytes, dim, index)


def _reads(shapes: Sequence[object], dtypes: Sequence[str]) -> Iterator[SeenTensor]:
    """Yield tensors among inputs. PyTorch records a Python number as a tensor of its own dtype."""
    first = next((each for each in dtypes if each in ITEM_NBYTES), None)
    for at, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=False)):
        if dtype == _LIST and isinstance(shape, tuple):
            yield from (SeenTensor(each, True) for each in shape if is_dims(each))
        elif dtype in ITEM_NBYTES and is_dims(shape):
            is_number = (
                at > 0 and shape == () and dtype != first and dtype in ("double", "long int")
            )
            if not is_number:
                yield SeenTensor(shape, dtype in _FLOATING)  # type: ignore[arg-type]


def _flow(ops: Sequence[RoundOp]) -> Flow:
    """Return the flow of a round that begins with the first of these operators."""
    is_whole = all(op.makes is not None for op in ops)
    writes = _writes(ops)
    computed = {op.makes for op in ops if op.name != _SELECT}
    left, doubted, sums = Counter[SeenTensor](), list[tuple[RoundOp, SeenTensor]](), list[RoundOp]()
    for op in ops:
        outside = list[SeenTensor]()
        for each in op.reads if op.name != _OF_NUMBERS else ():
            if left[each]:
                left[each] -= 1
            elif not is_whole or each in computed:
                outside.append(each)
        if op.is_sum and outside == [op.makes]:
            sums.append(op)
            continue
        doubted += [(op, each) for each in outside]
        if op.makes is not None and op.at not in writes:
            left[op.makes] += 1
    for summed in {op.makes for op in sums if op.makes is not None}:
        others = [op for op in ops if op not in sums and summed in op.reads]
        if not _are_of_losses(ops, others, sums, summed):
            doubted += [(op, summed) for op in others]
    if doubted:
        doubted += [(op, op.makes) for op in sums if op.makes is not None]
    has_state = any(
        op.name.endswith("_") and op.at not in writes and op.reads[0] == each
        for op, each in doubted
    )
    writes_back = _writes_back(ops, writes)
    return Flow(tuple(ops), tuple(doubted), tuple(sums), is_whole, writes_back, has_state)


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
    is_selected = any(op.name == _SELECT for op in makers)
    reduces = [op for op in makers if any(each.dims for each in op.reads) and op.name not in VIEWS]
    if sum(op.name in _SCALES for op in others) > len(reduces):
        return False  # the sum is scaled, too, as a moving average is
    if scales or is_selected:
        return bool(reduces) and all(op.name in LOSSES for op in reduces)
    return makers[0] in reduces


def _writes(ops: Sequence[RoundOp]) -> dict[int, RoundOp]:
    """Return by the operators that write into an element the select that takes it."""
    found, selects = dict[int, RoundOp](), dict[SeenTensor | None, RoundOp]()
    for op in ops:
        if op.name == _SELECT:
            selects[op.makes] = op
        elif op.name.endswith("_") and op.reads[0] in selects:
            found[op.at] = selects[op.reads[0]]
        elif op.makes not in op.reads:
            selects.pop(op.makes, None)
    return found


def _writes_back(ops: Sequence[RoundOp], writes: Mapping[int, RoundOp]) -> bool:
    """Tell whether elements are read at other indexes of tensors than are written."""
    selects = [op for op in ops if op.name == _SELECT]
    return any(
        each.reads[0] == one.reads[0] and each.dim == one.dim and each.index != one.index
        for one in writes.values()
        for each in selects
    )
