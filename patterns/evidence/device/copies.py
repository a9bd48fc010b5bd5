"""Copies between host and device: their direction and size, and what is made to be copied."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

import numpy as np
from numpy.typing import NDArray

from tidy.trace import Event, EventKind, Rows, Trace
from tidy.trace.inputs import ITEM_NBYTES, is_dims
from tidy.trace.location import parse_frame

from ..python.op_names import LOOK_UP_INSIDE, aten
from .launches import has_name, outermost_op

PAGEABLE = "Memcpy HtoD (Pageable -> *"
PINNED = "Memcpy HtoD (Pinned -> *"
# Ops by which one copies. In others it is a side effect, as in indexing with indexes on the CPU.
ASKED = aten("to _to_copy copy_")
# Lines of the function itself that `tidy run` noted because they took long, but not so long that
# they did something else besides, such as NumPy's work on a view.
_MOST_EMPTY, _LONGEST_EMPTY_NS = 8, 200_000
_NON_BLOCKING = 2  # of aten::copy_(self, src, non_blocking)
_FILLS = aten(
    "fill_ zero_ normal_ uniform_ random_ bernoulli_ exponential_ "
    "arange linspace eye randperm tril_indices triu_indices"
)
# The calls of Python that make a tensor of numbers, and that move one.
_MADE = re.compile(r"<built-in (method|function) (tensor|as_tensor|scalar_tensor)\b")
_MOVED = re.compile(r"<built-in (method|function) (to|cuda)\b")
# What torch.tensor() calls on its result.
_FRESH = aten("lift_fresh detach_")


def is_copy(work: Event, direction: str) -> bool:
    """Tell whether work is a copy in a direction: "HtoD" to a device, "DtoH" from one, "PtoP"."""
    return work.kind == EventKind.Memcpy and direction in work.name


def copy_rows(trace: Trace, direction: str) -> Rows:
    """Return all copies in a direction ("HtoD", "DtoH", "PtoP")."""
    rows = trace.rows_of_kind(EventKind.Memcpy)
    found: Rows = rows[has_name(trace, f"*{direction}*")[trace.name_id[rows]]]
    return found


def nbytes_of(work: Event, copy: Event) -> int:
    """Bytes of a copy; by shape and type of what the op copies where they were not recorded.

    0 where neither is known. On AMD, for example, copies have no bytes.
    """
    nbytes = work.nbytes
    if nbytes:
        return nbytes
    shapes, dtypes = copy.input_shapes[1:2], copy.input_dtypes[1:2]
    if not shapes or not dtypes:
        return 0
    return prod(shapes[0]) * ITEM_NBYTES.get(dtypes[0], 0) if is_dims(shapes[0]) else 0


def copy_op(work: Event) -> Event | None:
    """Return the `aten::copy_` that made device work copy; None if another op did."""
    call = work.parent
    op = call.parent if call is not None and call.kind == EventKind.Runtime else call
    return op if op is not None and op.name == "aten::copy_" else None


def non_blocking(copy: Event) -> str:
    """Tell what an `aten::copy_` was told of that (True, False); "" where it was not recorded."""
    inputs = copy.concrete_inputs
    return str(inputs[_NON_BLOCKING]) if len(inputs) > _NON_BLOCKING else ""


def unpinned(trace: Trace) -> Rows:
    """Copies to a device from memory that is not pinned, as far as the trace tells."""
    return trace.rows_named(PAGEABLE, "Memcpy HtoD (Host -> *")


def fill_copied_by(op: Event) -> Event | None:
    """Return the op that filled a tensor on the CPU right before `op` uploads it; None for other
    ops.
    """
    cast = op.last_child
    copy = cast.last_child if cast is not None and cast.name == "aten::_to_copy" else None
    if copy is None or copy.name != "aten::copy_":
        return None
    dtypes = copy.input_dtypes
    if len(dtypes) < 2 or not dtypes[0] or dtypes[0] != dtypes[1]:  # the copy changes the type
        return None
    moved = next((work for work in copy.kernels if is_copy(work, "HtoD")), None)
    if moved is None:
        return None
    fills = (each for each in ran_before(op) if each.name in _FILLS)
    return next((each for each in fills if _fills_what_is_copied(each, copy, moved)), None)


def follow_fills(trace: Trace, ops: Rows) -> NDArray[np.bool_]:
    """Tell for each tree row whether `ran_before` gives an op that fills a tensor."""
    above = ops.astype(np.int64)
    for _ in range(3):
        parent = trace.parent[above]
        above = np.where((_rows_before(trace, above) < 0) & (parent >= 0), parent, above)
    before = _rows_before(trace, above)
    # All last children of what ran before hold its last row.
    fills, found = has_name(trace, *_FILLS)[trace.name_id], np.zeros(len(ops), bool)
    rising = np.flatnonzero(before >= 0)
    row = trace.subtree_end[before[rising]] - 1
    while len(rising):
        found[rising] |= fills[row]
        goes_on = row != before[rising]
        rising, row = rising[goes_on], trace.parent[row[goes_on]]
    return found


def ran_before(event: Event) -> Iterator[Event]:
    """Yield what ran last before `event`: the sibling before it (or before what only wraps it) and
    the last child of each level below that. Lines of Python in which nothing ran do not count.
    """
    previous, above = _before(event), event
    for _ in range(3):
        if previous is not None or (parent := above.parent) is None:
            break
        previous, above = _before(parent), parent
    while previous is not None:
        yield previous
        previous = previous.last_child


def _rows_before(trace: Trace, rows: Rows) -> Rows:
    """The same as `_before` of each tree row; -1 for none."""
    before: Rows = trace.previous_sibling[rows].astype(np.int64)
    for _ in range(_MOST_EMPTY):
        is_empty = (before >= 0) & (trace.kind[before] == EventKind.PyCall)
        is_empty &= trace.subtree_end[before] == before + 1
        is_empty[is_empty] = _are_own_lines(trace, before[is_empty])
        if not is_empty.any():
            break
        before = np.where(is_empty, trace.previous_sibling[before], before)
    return before


def _are_own_lines(trace: Trace, rows: Rows) -> NDArray[np.bool_]:
    """Tell of each frame whether it is a line of the function around it, and short."""
    own, parent = trace.name_id[rows].astype(np.int64), trace.parent[rows]
    above = np.where(parent >= 0, trace.name_id[parent], -1)
    pairs, which = np.unique(own * (len(trace.names) + 1) + above + 1, return_inverse=True)
    names = [divmod(pair, len(trace.names) + 1) for pair in pairs.tolist()]
    is_own = [above > 0 and _is_line_of(trace, line, above - 1) for line, above in names]
    return np.array(is_own, bool)[which] & (trace.duration_ns[rows] <= _LONGEST_EMPTY_NS)


def _is_line_of(trace: Trace, line: int, above: int) -> bool:
    """Tell whether the frame of one name is a line of the function of another."""
    own, function = parse_frame(trace.names[line]), parse_frame(trace.names[above])
    return (
        own is not None
        and function is not None
        and (own.file, own.function) == (function.file, function.function)
    )


def _before(event: Event) -> Event | None:
    """The sibling before an event, over some lines of Python that are empty."""
    before = event.previous_sibling
    for _ in range(_MOST_EMPTY):
        if before is None or before.kind != EventKind.PyCall or before.last_child is not None:
            break
        if not _are_own_lines(event.trace, np.array([before.row]))[0]:
            break
        before = before.previous_sibling
    return before


def _fills_what_is_copied(fill: Event, copy: Event, moved: Event) -> bool:
    if fill.kernels:  # on the device
        return False
    source = copy.input_shapes[1] if len(copy.input_shapes) > 1 else ()
    filled = fill.input_shapes[0] if fill.input_shapes else None
    item_nbytes = ITEM_NBYTES.get(copy.input_dtypes[1])
    if not is_dims(source):
        return False
    if moved.nbytes and item_nbytes and moved.nbytes != prod(source) * item_nbytes:
        return False
    if filled == source:
        return fill.input_dtypes[0] in ("", copy.input_dtypes[1])
    # arange and its kin take sizes, not a tensor, so that the shape of the tensor is not recorded.
    return filled == () and not fill.name.endswith("_")


def small_uploads(trace: Trace, most_nbytes: int) -> Iterator[Event]:
    """Return the outermost op around each small copy to a device."""
    rows = copy_rows(trace, "HtoD")
    for row, op in zip(rows.tolist(), trace.launching_ops(rows).tolist(), strict=True):
        if op >= 0 and 0 < nbytes_of(trace.event(row), trace.event(op)) <= most_nbytes:
            yield outermost_op(trace.event(op))


def is_of_python(op: Event) -> bool:
    """Tell whether torch.tensor() makes the copy, or has made what is copied right before.

    What an op copies that indexes with a tensor on the CPU is its index.
    """
    if op.name in LOOK_UP_INSIDE:
        return False
    above, after = op.parent, op.next_sibling
    if (above is not None and _MADE.match(above.name)) or (
        after and after.name == "aten::lift_fresh"
    ):
        return True
    before = _before(op)
    if before is None and above is not None and _MOVED.match(above.name):
        before = _before(above)
    return before is not None and (bool(_MADE.match(before.name)) or before.name in _FRESH)
