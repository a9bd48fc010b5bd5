"""Copies that a program asks for, from pageable or from pinned memory, and what they cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tidy.finding import NotChecked, Obstacle
from tidy.trace import Event, EventKind, Intervals, Rows, Trace, number_text

from ..device.copies import ASKED, PAGEABLE, PINNED, fill_copied_by, follow_fills, nbytes_of
from ..device.devices import busy_with_others
from ..device.launches import below, has_name, outermost_op_rows
from ..device.lookups import index_made_for, may_be_indexes
from ..device.obstacles import without_device
from ..python import places
from ..python.frames import MOVES_A_MODULE
from .timing import Cost
from .waits import SYNCHRONIZE

_BACK_TO_PAGEABLE = "Memcpy DtoH (Device -> Pageable)*"
_APPLY = "*torch/nn/modules/module.py(*): _apply"
_SCALAR_NBYTES = 8
_LARGE_NBYTES = 1 << 20  # of which the rate does not depend on the size
# By major compute capability.
_PINNED_GB_PER_S = {6: (8, 13), 7: (8, 13), 8: (5, 26), 9: (22, 55), 10: (22, 58)}
# Of the time of copies, where neither their size nor the device's link is known.
_USUALLY_LEFT = 0.35, 0.8


class Upload(NamedTuple):
    """A copy to a device or from one, its `aten::copy_`, and the outermost op around that."""

    work: Event
    copy: Event
    op: Event
    nbytes: int


def uploads(trace: Trace, name: str) -> Iterator[Upload]:
    """Copies of one kind (`PAGEABLE`, `PINNED`) that the program asks for, by start.

    Left out are scalars, tensors that were filled on the CPU just before, modules that move, and
    what an index is made of that the next op looks up.
    """
    copies, ops = _copies(trace, name)
    asked = has_name(trace, *ASKED)[trace.name_id[ops]]
    asked &= ~moves_of_modules(trace).contains(ops)
    copies, ops = copies[asked], ops[asked]
    filled = follow_fills(trace, ops).tolist()
    indexes = may_be_indexes(trace, trace.launching_ops(copies)).tolist()
    for each, is_filled, is_index in zip(
        _uploads(trace, copies, ops), filled, indexes, strict=True
    ):
        if is_filled and fill_copied_by(each.op):
            continue
        if name != PAGEABLE or not is_index or not index_made_for(each.op, each.copy):
            yield each


def moves_of_modules(trace: Trace) -> Intervals:
    """Return the rows at which modules move, as by `Module.to()`, as a set of numbers."""
    moves = [
        each for each in trace.names_fitting(_APPLY) if MOVES_A_MODULE.search(trace.names[each])
    ]
    return below(trace, trace.rows_of_names(moves))


def downloads(trace: Trace) -> Iterator[Upload]:
    """Copies from a device into a pageable tensor that the program has: it calls `copy_` itself."""
    copies, ops = _copies(trace, _BACK_TO_PAGEABLE)
    own = ops == trace.launching_ops(copies)
    return _uploads(trace, copies[own], ops[own])


def _copies(trace: Trace, name: str) -> tuple[Rows, Rows]:
    """Copies that `aten::copy_` makes, but for scalars, and the outermost op of each."""
    rows = trace.rows_named(name)
    rows = rows[trace.kind[rows] == EventKind.Memcpy]
    ops = trace.launching_ops(rows)
    is_copy = (ops >= 0) & has_name(trace, "aten::copy_")[trace.name_id[ops]]
    rows, ops = rows[is_copy], ops[is_copy]
    is_scalar = (trace.nbytes[rows] > 0) & (trace.nbytes[rows] <= _SCALAR_NBYTES)
    is_scalar |= trace.by_call(ops, lambda _, inputs: _copies_scalar(trace, inputs)) > 0
    return rows[~is_scalar], outermost_op_rows(trace, ops[~is_scalar])


def _copies_scalar(trace: Trace, inputs_id: int) -> bool:
    return trace.inputs.shapes(inputs_id)[1:2] == ((),)


def _uploads(trace: Trace, rows: Rows, ops: Rows) -> Iterator[Upload]:
    columns = map(trace.events, (rows, trace.launching_ops(rows), ops))
    for work, copy, op in zip(*columns, strict=True):
        yield Upload(work, copy, op, nbytes_of(work, copy))


def cost_of_uploads(trace: Trace, copies: Iterable[Upload], warning_from: float) -> Cost:
    """Return the time of the copies and the waits for them in which no device does anything else.

    It matters from `warning_from` of the window on. Before the first device work it is not known
    what the devices did, because the profiler had just begun.
    """
    rows = _blocked_rows(trace, copies)
    first_ns = int(trace.start_ns[trace.device_rows].min())
    known = Intervals([first_ns], [first_ns + trace.span_ns])
    time = trace.time_of(rows) & known & trace.step_time
    time = time - busy_with_others(trace, time, rows)
    return Cost(time, matters=time.total_ns >= warning_from * trace.window.time_ns)


def part_from_pinned(trace: Trace, work: Rows) -> tuple[tuple[float, float], str]:
    """Return the part of the copies' time that they take from pinned memory, at best and at worst.

    By the generation of PCIe that devices of each compute capability have, all 16 lanes of it: some
    12, 25 and 50 GB/s are measured (CUDA's bandwidthTest, nvbandwidth), less on older hosts and on
    virtual machines, where 5 to a device and 9 from it were measured with an A100.

    Returns:
        The parts, and in words the two rates, which the trace does not tell; "" where it does.
    """
    devices = (trace.devices.get(index) for index in np.unique(trace.device[work]).tolist())
    majors = [each.compute[0] if each is not None and each.compute else 0 for each in devices]
    rates = [_PINNED_GB_PER_S[major] for major in majors if major in _PINNED_GB_PER_S]
    nbytes, took_s = trace.nbytes[work].sum(), trace.duration_ns[work].sum() / 1e9
    if not (nbytes and took_s) or not majors:
        return _USUALLY_LEFT, ""
    seen = _rate_from_pinned(trace)
    if seen is not None:
        part = min(float(nbytes / (1e9 * seen) / took_s), 1.0)
        return (part, part), ""
    if not rates or len(rates) < len(majors):
        return _USUALLY_LEFT, ""
    slowest, fastest = min(low for low, _ in rates), max(high for _, high in rates)
    now = nbytes / took_s / 1e9
    worst, best = (min(float(now / rate), 1.0) for rate in (slowest, fastest))
    slow = f"the {number_text(now, 2)} GB/s of now" if worst == 1.0 else f"{slowest} GB/s"
    untold = f"the rate after pinning is not in the trace: {slow}, or up to {fastest} GB/s"
    return (best, worst), untold


def _rate_from_pinned(trace: Trace) -> float | None:
    """Return the GB/s of large copies from pinned memory in this trace; None where it has none."""
    rows = trace.rows_named(PINNED)
    rows = rows[trace.nbytes[rows] >= _LARGE_NBYTES]
    took_ns = int(trace.duration_ns[rows].sum())
    return float(trace.nbytes[rows].sum()) / took_ns if took_ns else None


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


def _blocked_rows(trace: Trace, copies: Iterable[Upload]) -> Rows:
    """Rows of the copies and of the calls in which the host waits for them."""
    pairs = np.array([(each.work.row, each.copy.row) for each in copies], np.int64).reshape(-1, 2)
    work, ops = pairs.T
    calls = trace.caller[work]
    calls = calls[(calls >= 0) & (trace.kind[calls] == EventKind.Runtime)]
    inside = trace.runtime_rows_under_any(ops)
    waits = inside[has_name(trace, *SYNCHRONIZE)[trace.name_id[inside]]]
    rows: Rows = np.unique(np.concatenate([work, calls, waits]))
    return rows


def unknown_memory(trace: Trace) -> Obstacle | None:
    """Say why one cannot tell the kind of host memory; None where one can, or nothing is copied."""
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
