"""Values of device tensors that the host reads and waits for, and which of them are norms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from tidy.trace import EventKind, Trace
from tidy.trace.intervals import total_ns_of_groups

from ..device.copies import ASKED, copy_rows
from ..device.launches import (
    calls_that_launched,
    has_name,
    launches_any,
    ops_in_no_op,
    outermost_op_rows,
)
from ..python.frames import Owner
from ..python.op_names import aten
from ..python.places import owner_of
from .waits import Wait, waiting_calls

# Ops that read from the device: a value, or how large their result will be.
READS = aten(
    "_local_scalar_dense item is_nonzero nonzero nonzero_numpy masked_select _unique _unique2 "
    "unique_dim unique_consecutive unique_dim_consecutive repeat_interleave bincount equal"
)
_LEFT_ALONE = (Owner.PROFILER, Owner.GRAD_SCALER)
_SCALER_OP = "aten::_amp_foreach_non_finite_check_and_unscale_"

# The norm of gradients, and what clipping does with it: one norm of many gradients, or one each.
_NORMS = ("aten::linalg_vector_norm", "aten::norm", "aten::linalg_norm", "aten::_foreach_norm")
_OF_MANY, _FEWEST = "aten::_foreach_norm", 3
_CLIPPING = aten(
    "stack mul mul_ div add reciprocal clamp clamp_ clamp_max minimum _foreach_mul_ to detach "
    "detach_ isnan isinf isfinite logical_or logical_not pow sqrt item _local_scalar_dense "
    "is_nonzero lt gt alias view zeros tensor lift_fresh cat sum"
)


def _value_reads(trace: Trace) -> Iterator[Wait]:
    """The outermost ops in which a value is read and waited for, by start."""
    waiting = waiting_calls(trace)
    calls = np.union1d(waiting, calls_that_launched(trace, "Memcpy DtoH*"))
    ops = trace.caller[calls].astype(np.int64)
    in_op = (ops >= 0) & (trace.kind[ops] == EventKind.TorchOp)
    calls, ops = calls[in_op], ops[in_op]
    # A read always waits, also where the file has lost the call that does; a copy need not.
    reads = has_name(trace, *ASKED)[trace.name_id[ops]] & np.isin(calls, waiting)
    reads &= launches_any(trace, ops, copy_rows(trace, "DtoH"))
    reads |= has_name(trace, *READS)[trace.name_id[ops]]
    calls, ops = calls[reads], outermost_op_rows(trace, ops[reads])
    rows, number = np.unique(ops, return_inverse=True)
    waited_ns = total_ns_of_groups(ops, trace.start_ns[calls], trace.end_ns[calls]).tolist()
    until_ns = np.full(len(rows), np.iinfo(np.int64).min)
    np.maximum.at(until_ns, number, trace.end_ns[calls])
    unscales = len(trace.rows_named(_SCALER_OP)) > 0
    for event, *times_ns in zip(trace.events(rows), waited_ns, until_ns.tolist(), strict=True):
        owner = owner_of(event)
        # For want of stacks: in the scaler an optimizer step follows at once.
        after = event.next_sibling if unscales else None
        decides = after is not None and after.name.startswith("Optimizer.step#")
        if owner not in _LEFT_ALONE and not decides:
            yield Wait(event, *times_ns)


def of_values(trace: Trace) -> list[Wait]:
    """Return the reads, but those of norms of gradients."""
    found = list(_value_reads(trace))
    return list(compress(found, ~_of_norms(trace, found)))


def of_norms(trace: Trace) -> list[Wait]:
    """Return the reads with nothing but clipping between them and norms of several tensors."""
    found = list(_value_reads(trace)) if len(trace.rows_named(*_NORMS)) else []
    return list(compress(found, _of_norms(trace, found)))


def _of_norms(trace: Trace, found: Sequence[Wait]) -> NDArray[np.bool_]:
    """For each read whether it is of norms of several tensors."""
    rows = np.array([wait.event.row for wait in found], np.int64)
    result = np.zeros(len(rows), bool)
    tracks = trace.track_id[rows]
    for track in np.unique(tracks).tolist() if len(trace.rows_named(*_NORMS)) else ():
        ops = ops_in_no_op(trace, track)
        is_norm = has_name(trace, *_NORMS)[trace.name_id[ops]]
        ends = ~is_norm & ~has_name(trace, *_CLIPPING)[trace.name_id[ops]]
        # Norms and clipping with nothing else between them have one number.
        number = np.cumsum(ends)
        tensors = is_norm + (_FEWEST - 1) * has_name(trace, _OF_MANY)[trace.name_id[ops]]
        of_several = np.bincount(number, tensors) >= _FEWEST
        first = np.searchsorted(number, np.arange(len(of_several)))
        so_far = np.append(0, np.cumsum(is_norm))
        own = np.flatnonzero(tracks == track)
        at = np.searchsorted(ops, rows[own])
        known = at < len(ops)
        own, at = own[known], at[known]
        after_norm = so_far[at] > so_far[first[number[at]]]
        result[own] = (ops[at] == rows[own]) & of_several[number[at]] & after_norm
    return result
