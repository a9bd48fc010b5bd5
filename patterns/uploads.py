"""Copies from host to device that a program asks for in its loop, by kind of host memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from math import prod

import numpy as np

from tidy.finding import Finding, NotApplicable, NotChecked, Saving, Severity
from tidy.trace import Event, EventKind, Intervals, Trace
from tidy.trace.inputs import ITEM_NBYTES

from .base import Pattern
from .hardware import without_device
from .places import Loop, within_range
from .rules.extra_device_copy import ExtraDeviceCopy
from .waits import SYNCHRONIZE, WORTH_A_WARNING, calls_of, costing

PAGEABLE = "Memcpy HtoD (Pageable -> *"
PINNED = "Memcpy HtoD (Pinned -> *"
# Ops by which one copies. In others it is a side effect, as in indexing with indexes on the CPU.
_ASKED = {"aten::to", "aten::_to_copy", "aten::copy_"}
_MOVES_A_MODULE = re.compile(r"(^|/)torch/nn/modules/module\.py\(\d+\): _apply$")
_SCALAR_NBYTES = 8


@dataclass(frozen=True, slots=True)
class Upload:
    """A copy, the `aten::copy_` that made it, and the outermost op around that."""

    work: Event
    copy: Event
    op: Event
    nbytes: int


def uploads(trace: Trace, name: str) -> Iterable[Upload]:
    """Copies of a kind, by start, without scalars, fills that TDY201 reports, and modules."""
    extra = ExtraDeviceCopy()
    for work in trace.events(trace.rows_named(name)):
        call = work.parent
        copy = call.parent if call is not None and call.kind == EventKind.Runtime else call
        if work.kind != EventKind.Memcpy or copy is None or copy.name != "aten::copy_":
            continue
        op = copy
        while (above := op.parent) is not None and above.kind == EventKind.TorchOp:
            if not above.name.startswith("aten::"):
                break
            op = above
        if op.name not in _ASKED or _is_scalar(work, copy):
            continue
        if extra.match(op) or any(_MOVES_A_MODULE.search(e.name) for e in op.ancestors()):
            continue
        yield Upload(work, copy, op, work.nbytes or _nbytes_of(copy))


def _is_scalar(work: Event, copy: Event) -> bool:
    shapes = copy.input_shapes
    return (len(shapes) > 1 and shapes[1] == ()) or 0 < work.nbytes <= _SCALAR_NBYTES


def _nbytes_of(copy: Event) -> int:
    """Bytes by shape and type of the source, 0 where they were not recorded."""
    shapes, dtypes = copy.input_shapes[1:2], copy.input_dtypes[1:2]
    return prod(shapes[0]) * ITEM_NBYTES.get(dtypes[0], 0) if shapes and dtypes else 0


def in_the_loop(loop: Loop, copies: Sequence[Upload]) -> list[Upload]:
    """Those that repeat in the steps."""
    return list(compress(copies, loop.repeated([each.op.start_ns for each in copies])))


def blocked_rows(trace: Trace, copies: Iterable[Upload]) -> list[int]:
    """Rows of the copies and of the calls in which the host waits for them."""
    waits = set(calls_of(trace, *SYNCHRONIZE).tolist())
    rows: set[int] = set()
    for each in copies:
        rows.add(each.work.row)
        call = each.work.parent
        if call is not None and call.kind == EventKind.Runtime:
            rows.add(call.row)
        rows.update(waits.intersection(trace.runtime_rows_under(each.copy.row).tolist()))
    return sorted(rows)


def exposed(trace: Trace, rows: Sequence[int]) -> Intervals:
    """The time of these rows in which no device does anything but these copies.

    Before the first device work it is not known what the devices did: the profiler had just begun.
    """
    others = np.setdiff1d(trace.device_rows, np.asarray(rows, np.int64))
    busy = Intervals(trace.start_ns[others], trace.end_ns[others])
    first_ns = int(trace.start_ns[trace.device_rows].min())
    known = Intervals([first_ns], [first_ns + trace.span_ns])
    return (trace.time_of(rows) & known) - busy


def finding_of(rule: Pattern, trace: Trace, copies: Sequence[Upload], message: str) -> Finding:
    """A finding for copies at one place; a warning from 1 % of the steps, or of the whole trace."""
    events = [each.op for each in copies]
    cost = exposed(trace, blocked_rows(trace, copies))
    worth = cost.total_ns >= WORTH_A_WARNING * trace.step_time.total_ns
    finding = rule.report(
        trace,
        events,
        message=message + within_range(events),
        severity=Severity.WARNING if worth else Severity.INFO,
    )
    saving = Saving(0, cost.total_ns, "copy and wait that no other device work covers")
    return costing(finding, trace, cost, saving, on_device=False)


def unknown_memory(trace: Trace) -> NotChecked | NotApplicable | None:
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
