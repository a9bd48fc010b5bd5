"""Lookups on a GPU whose index or mask comes from the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidy.trace import Event, EventKind, Rows, Trace
from tidy.trace.inputs import is_dims

from ..python.op_names import LOOK_UP, LOOK_UP_INSIDE, VIEWS
from . import copies
from .launches import has_name, ops_after, outermost_op, outermost_op_rows

_OF_INDEXES = frozenset({"long int", "long", "int", "bool", "unsigned char"})


class Lookup(NamedTuple):
    """An op that indexes, and the one in it or before it that brings the index to the GPU."""

    lookup: Event
    upload: Event
    is_mask: bool


def lookups(trace: Trace, least_nbytes: int) -> Iterator[Lookup]:
    """Return all of them; where another op brings the index, those of more bytes than that."""
    rows = copies.unpinned(trace)
    made_by = trace.launching_ops(rows)
    is_copy = (made_by >= 0) & has_name(trace, "aten::copy_")[trace.name_id[made_by]]
    rows, made_by = rows[is_copy], made_by[is_copy]
    ops = outermost_op_rows(trace, made_by)
    looks_up = has_name(trace, *LOOK_UP_INSIDE)[trace.name_id[ops]]
    some = looks_up | may_be_indexes(trace, made_by)
    columns = (each[some].tolist() for each in (rows, made_by, ops))
    for row, *of in zip(*columns, strict=True):
        copy, op = map(trace.event, of)
        is_mask = "bool" in copy.input_dtypes[1:2]
        if op.name in LOOK_UP_INSIDE:
            upload = _moved_by(copy, op)
            if upload is not None and copies.fill_copied_by(upload) is None:
                yield Lookup(op, upload, is_mask)
        elif copies.nbytes_of(trace.event(row), copy) > least_nbytes:
            lookup = index_made_for(op, copy)
            if lookup is not None and copies.fill_copied_by(op) is None:
                yield Lookup(lookup, op, is_mask)


def may_be_indexes(trace: Trace, made_by: Rows) -> NDArray[np.bool_]:
    """Return for each `aten::copy_` whether what it copies has a dtype of indexes or masks."""
    return trace.by_dtypes(made_by, lambda dtypes: not _OF_INDEXES.isdisjoint(dtypes[1:2]))


def _moved_by(copy: Event, op: Event) -> Event | None:
    """The op below a lookup that moves its index: the last on the way up to it."""
    below = copy
    while (above := below.parent) is not None and above.row != op.row:
        below = above
    return below if below.name in ("aten::to", "aten::_to_copy") else None


def index_made_for(op: Event, copy: Event) -> Event | None:
    """Return the op right after `op` that indexes a tensor with what `op` uploads; None if none
    does.

    Indexes are whole numbers or masks; a single one is no index of many. What goes to `gather` or
    `masked_fill` and no op on the CPU made right before may have come with the batch, as labels and
    paddings do.
    """
    shapes, dtypes = copy.input_shapes[1:2], copy.input_dtypes[1:2]
    if not shapes or not shapes[0] or not dtypes or dtypes[0] not in _OF_INDEXES:
        return None
    after = next(ops_after(op), None)
    if after is None or after.name not in LOOK_UP:
        return None
    if after.name not in LOOK_UP_INSIDE and not _is_made_before(op):
        return None
    used = [each for shape in after.input_shapes for each in ([shape] if is_dims(shape) else shape)]
    return after if shapes[0] in used[1:] else None


def _is_made_before(op: Event) -> bool:
    """Tell whether the op right before is one that computes on the CPU."""
    before = next((each for each in copies.ran_before(op) if each.kind == EventKind.TorchOp), None)
    if before is None:
        return False
    made = outermost_op(before)
    return made.name not in copies.ASKED | VIEWS and not made.kernels
