"""Copies between host and device: their direction, and what is known of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from tidy.finding import NotChecked, Obstacle
from tidy.trace import Event, EventKind, Intervals, Trace
from tidy.trace.inputs import ITEM_NBYTES, is_dims

from . import places
from .frames import MOVES_A_MODULE
from .launches import Rows, ops_after, outermost_op
from .obstacles import without_device
from .op_names import VIEWS
from .timing import Cost
from .waits import synchronizing_calls

PAGEABLE = "Memcpy HtoD (Pageable -> *"
PINNED = "Memcpy HtoD (Pinned -> *"
_BACK_TO_PAGEABLE = "Memcpy DtoH (Device -> Pageable)*"
# Ops by which one copies. In others it is a side effect, as in indexing with indexes on the CPU.
_ASKED = {"aten::to", "aten::_to_copy", "aten::copy_"}
_SCALAR_NBYTES = 8
# Ops that take an index or a mask, and the types of these.
LOOK_UP_INSIDE = frozenset({"aten::index", "aten::index_put_", "aten::index_put"})
_LOOK_UP = LOOK_UP_INSIDE | {
    f"aten::{name}"
    for name in (
        "_index_put_impl_ index_select gather take take_along_dim masked_fill_ masked_fill "
        "masked_select masked_scatter index_add_ index_copy_ index_fill_ scatter_ scatter_add_"
    ).split()
}
_OF_INDEXES = frozenset({"long int", "long", "int", "bool", "unsigned char"})
# By major compute capability.
_PINNED_GB_PER_S = {6: (8, 13), 7: (8, 13), 8: (5, 26), 9: (22, 55), 10: (22, 58)}
_FILLS = {
    f"aten::{name}"
    for name in (
        "fill_ zero_ normal_ uniform_ random_ bernoulli_ exponential_ "
        "arange linspace eye randperm tril_indices triu_indices"
    ).split()
}


@dataclass(frozen=True, slots=True)
class Upload:
    """A copy to a device or from one, its `aten::copy_`, and the outermost op around that."""

    work: Event
    copy: Event
    op: Event
    nbytes: int


def is_copy(work: Event, direction: str) -> bool:
    """Whether device work is a copy in a direction: "HtoD" to a device, "DtoH" from one, "PtoP"."""
    return work.kind == EventKind.Memcpy and direction in work.name


def copy_rows(trace: Trace, direction: str) -> Rows:
    """All copies in a direction ("HtoD", "DtoH", "PtoP")."""
    rows = trace.rows_of_kind(EventKind.Memcpy)
    named = [i for i, name in enumerate(trace.names) if direction in name]
    return rows[np.isin(trace.name_id[rows], named)]


def nbytes_of(work: Event, copy: Event) -> int:
    """Bytes of a copy; by shape and type of what the op copies where they were not recorded.

    0 where neither is known. On AMD, for example, copies have no bytes.
    """
    shapes, dtypes = copy.input_shapes[1:2], copy.input_dtypes[1:2]
    if work.nbytes or not shapes or not dtypes:
        return work.nbytes
    return prod(shapes[0]) * ITEM_NBYTES.get(dtypes[0], 0) if is_dims(shapes[0]) else 0


def uploads(trace: Trace, name: str) -> Iterator[Upload]:
    """Copies of one kind (`PAGEABLE`, `PINNED`) that the program asks for, by start.

    Left out are scalars, tensors that were filled on the CPU just before, modules that move, and
    what an index is made of that the next op looks up.
    """
    for each in _copies(trace, name):
        if each.op.name not in _ASKED or fill_copied_by(each.op):
            continue
        if name == PAGEABLE and index_made_for(each.op, each.copy):
            continue
        if not any(MOVES_A_MODULE.search(above.name) for above in each.op.ancestors()):
            yield each


def downloads(trace: Trace) -> Iterator[Upload]:
    """Copies from a device into a pageable tensor that the program has: it calls `copy_` itself."""
    return (each for each in _copies(trace, _BACK_TO_PAGEABLE) if each.op.row == each.copy.row)


def _copies(trace: Trace, name: str) -> Iterator[Upload]:
    """Copies with a name that `aten::copy_` makes, by start; without scalars."""
    for work in trace.events(trace.rows_named(name)):
        call = work.parent
        copy = call.parent if call is not None and call.kind == EventKind.Runtime else call
        if work.kind != EventKind.Memcpy or copy is None or copy.name != "aten::copy_":
            continue
        if not _is_scalar(work, copy):
            yield Upload(work, copy, outermost_op(copy), nbytes_of(work, copy))


def _is_scalar(work: Event, copy: Event) -> bool:
    shapes = copy.input_shapes
    return (len(shapes) > 1 and shapes[1] == ()) or 0 < work.nbytes <= _SCALAR_NBYTES


def cost_of_uploads(trace: Trace, copies: Iterable[Upload], warning_from: float) -> Cost:
    """The time of the copies and the waits for them in which no device does anything else.

    It matters from `warning_from` of the window on. Before the first device work it is not known
    what the devices did, because the profiler had just begun.
    """
    rows = _blocked_rows(trace, copies)
    others = np.setdiff1d(trace.device_rows, np.asarray(rows, np.int64))
    busy = Intervals(trace.start_ns[others], trace.end_ns[others])
    first_ns = int(trace.start_ns[trace.device_rows].min())
    known = Intervals([first_ns], [first_ns + trace.span_ns])
    time = (trace.time_of(rows) & known & trace.step_time) - busy
    return Cost(time, matters=time.total_ns >= warning_from * trace.window.time_ns)


def pinned_nbytes_per_s(trace: Trace, work: Sequence[int]) -> tuple[float, float] | None:
    """How fast these copies are from pinned memory, at worst and at best; None if not known.

    By the generation of PCIe that devices of each compute capability have, all 16 lanes of it: some
    12, 25 and 50 GB/s are measured (CUDA's bandwidthTest, nvbandwidth), less on older hosts and on
    virtual machines, where 5 to a device and 9 from it were measured with an A100.
    """
    devices = {int(trace.device[row]) for row in work}
    majors = {
        device.compute[0] if (device := trace.devices.get(index)) and device.compute else 0
        for index in devices
    }
    rates = [_PINNED_GB_PER_S.get(major) for major in majors]
    known = [rate for rate in rates if rate is not None]
    if not known or len(known) < len(rates):
        return None
    return 1e9 * min(low for low, _ in known), 1e9 * max(high for _, high in known)


def by_window(
    trace: Trace, same: Sequence[Upload], warning_from: float
) -> Iterator[tuple[list[Event], Cost, str]]:
    """Copies at one place of the source, those in the window apart from those outside of it.

    Yields:
        The ops that copy, what they cost, and ` in NAME` where only a range tells the place.
    """
    for part in places.by_window(same, lambda each: each.op):
        events = [each.op for each in part]
        yield events, cost_of_uploads(trace, part, warning_from), places.within_range(events)


def _blocked_rows(trace: Trace, copies: Iterable[Upload]) -> Sequence[int]:
    """Rows of the copies and of the calls in which the host waits for them."""
    waits = set(synchronizing_calls(trace).tolist())
    rows: set[int] = set()
    for each in copies:
        rows.add(each.work.row)
        call = each.work.parent
        if call is not None and call.kind == EventKind.Runtime:
            rows.add(call.row)
        rows.update(waits.intersection(trace.runtime_rows_under(each.copy.row).tolist()))
    return sorted(rows)


def unknown_memory(trace: Trace) -> Obstacle | None:
    """Why one cannot tell the kind of host memory; None where one can, or nothing is copied."""
    obstacle = without_device(trace)
    if obstacle is not None:
        return obstacle
    told = len(trace.rows_named(PAGEABLE, PINNED))
    if not told and len(trace.rows_named("Memcpy HtoD (Host -> *", "Memcpy HtoD (Unknown -> *")):
        return NotChecked(
            "the trace does not say whether copies are from pinned memory, as on ROCm",
            "look for pin_memory=True at the DataLoader",
        )
    return None


def fill_copied_by(op: Event) -> Event | None:
    """The op that filled a tensor on the CPU right before `op` uploads it; None for other ops."""
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
    return next(
        (
            fill
            for fill in _before(op)
            if fill.name in _FILLS and _fills_what_is_copied(fill, copy, moved)
        ),
        None,
    )


def index_made_for(op: Event, copy: Event) -> Event | None:
    """The op right after `op` that indexes a tensor with what `op` uploads; None where none does.

    Indexes are whole numbers or masks; a single one is no index of many. What goes to `gather` or
    `masked_fill` and no op on the CPU made right before may have come with the batch, as labels and
    paddings do.
    """
    shapes, dtypes = copy.input_shapes[1:2], copy.input_dtypes[1:2]
    if not shapes or not shapes[0] or not dtypes or dtypes[0] not in _OF_INDEXES:
        return None
    after = next(ops_after(op), None)
    if after is None or after.name not in _LOOK_UP:
        return None
    if after.name not in LOOK_UP_INSIDE and not _is_made_before(op):
        return None
    used = [each for shape in after.input_shapes for each in ([shape] if is_dims(shape) else shape)]
    return after if shapes[0] in used[1:] else None


def _is_made_before(op: Event) -> bool:
    """Whether the op right before is one that computes on the CPU."""
    before = next((each for each in _before(op) if each.kind == EventKind.TorchOp), None)
    if before is None:
        return False
    made = outermost_op(before)
    return made.name not in _ASKED | VIEWS and not made.kernels


def _before(event: Event) -> Iterator[Event]:
    """What ran last before `event`: the sibling before it (or before what only wraps it) and the
    last child of each level below that.
    """
    previous, above = event.previous_sibling, event
    for _ in range(3):
        if previous is not None or (parent := above.parent) is None:
            break
        previous, above = parent.previous_sibling, parent
    while previous is not None:
        yield previous
        previous = previous.last_child


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
    # arange and its kin take sizes, not a tensor, so that the shape of the tensor is not recorded.
    return filled == source or (filled == () and not fill.name.endswith("_"))
