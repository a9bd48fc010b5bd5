"""Memory over time, and what holds it where most is in use."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..check.checked_trace import CheckedTrace
from ..patterns.evidence.device import memory
from ..trace import EventKind, Trace, printable
from ..trace.kept import kept
from .columns import packed
from .labels import device_name

_MOST_POINTS = 600
_MOST_POINTS_OF_STEP = 2_000  # a step can be zoomed
_MOST_HOLDERS = 8


class _Curve(NamedTuple):
    """What is in use from each time on, by time; shape (n,) each.

    Attributes:
        at_ns: when it changes.
        nbytes: in use from then on.
        before_nbytes: in use before the first change.
        reserved_nbytes: held by the allocator, -1 where that is not known.
        is_known: whether the trace says what is in use; else it is the sum of what was seen.
    """

    at_ns: NDArray[np.int64]
    nbytes: NDArray[np.int64]
    before_nbytes: int
    reserved_nbytes: NDArray[np.int64]
    is_known: bool


def memory_to_json(report: CheckedTrace) -> list[dict[str, Any]]:
    """Return for each device, and the CPU, what is in use within the window, in bytes."""
    window = report.trace.window
    made = _in_range(report.trace, window.start_ns, window.end_ns, _MOST_POINTS)
    for each in made:
        each["points"] = each["points"].tolist()
    return made


def step_memory_to_json(trace: Trace, start_ns: int, end_ns: int) -> list[dict[str, Any]]:
    """Return the same of a step, with the points as columns."""
    made = _in_range(trace, start_ns, end_ns, _MOST_POINTS_OF_STEP)
    for each in made:
        columns = dict(zip(("at_ns", "nbytes"), each["points"].T, strict=True))
        each["points"] = packed(columns, frozenset(columns))
    return made


def _in_range(trace: Trace, start_ns: int, end_ns: int, most: int) -> list[dict[str, Any]]:
    devices = (*memory.devices_with_memory(trace), memory.CPU)
    made = (_of_device(trace, device, start_ns, end_ns, most) for device in devices)
    return [each for each in made if each is not None]


def _of_device(
    trace: Trace, device: int, start_ns: int, end_ns: int, most: int
) -> dict[str, Any] | None:
    """Say what is in use in a stretch of time; None if nothing was recorded of the device.

    `points` has the most in use in each of so many pieces of the stretch, as (ns, bytes).
    """
    curve = _curve(trace, device)
    first, last = np.searchsorted(curve.at_ns, (start_ns, end_ns))
    if not len(curve.at_ns):
        return None
    # What was in use when the stretch began counts, too.
    before = int(curve.nbytes[first - 1]) if first else curve.before_nbytes
    at_ns = np.append(0, curve.at_ns[first:last] - start_ns)
    in_use = np.append(max(before, 0), curve.nbytes[first:last])
    reserved = curve.reserved_nbytes[max(first - 1, 0) : max(last, 1)]
    peak, length_ns = int(np.argmax(in_use)), end_ns - start_ns
    piece = at_ns * most // max(length_ns, 1)
    firsts = np.flatnonzero(np.diff(piece, prepend=-1))
    peak_at_ns, peak_nbytes = int(at_ns[peak]), int(in_use[peak])
    return {
        "label": device_name(trace, device),
        "device": None if device == memory.CPU else device,
        "is_known": curve.is_known,
        "length_ns": length_ns,
        "total_nbytes": memory.total_nbytes(trace, device),
        "reserved_nbytes": max(int(reserved.max()), 0),
        "peak_nbytes": peak_nbytes,
        "peak_at_ns": peak_at_ns,
        "points": np.stack([at_ns[firsts], np.maximum.reduceat(in_use, firsts)], axis=1),
        "holders": _holders(trace, device, start_ns + peak_at_ns, peak_nbytes),
    }


@kept
def _curve(trace: Trace, device: int) -> _Curve:
    changes = memory.changes_of(trace, device)
    by_time = np.argsort(trace.start_ns[changes.row], kind="stable")
    rows, in_use = changes.row[by_time], changes.allocated_nbytes[by_time]
    is_known = bool((in_use >= 0).any())
    if not is_known:  # the sum of what was seen, of which nobody knows where it began
        in_use = np.cumsum(trace.nbytes[rows])
        in_use = in_use - min(int(in_use.min(initial=0)), 0)
    before = int(in_use[0] - trace.nbytes[rows[0]]) if len(rows) else 0
    reserved = changes.reserved_nbytes[by_time]
    return _Curve(trace.start_ns[rows], in_use, before, reserved, is_known)


def _holders(trace: Trace, device: int, at_ns: int, in_use: int) -> list[dict[str, Any]]:
    """The lines, or operators, that took what is in use at a moment, with their bytes."""
    taken = memory.of_device(trace, device)
    held = (taken.start_ns <= at_ns) & (taken.freed_ns > at_ns)
    sums = Counter[str]()
    listed: list[dict[str, Any]]
    for row, nbytes in zip(taken.row[held].tolist(), taken.nbytes[held].tolist(), strict=True):
        sums[_what(trace, row)] += nbytes
    listed = [
        {"what": printable(what), "nbytes": nbytes}
        for what, nbytes in sums.most_common(_MOST_HOLDERS)
    ]
    rest = sum(sums.values()) - sum(each["nbytes"] for each in listed)
    before = in_use - sum(sums.values())
    listed += [{"what": "others", "nbytes": rest}] if rest > 0 else []
    listed += [{"what": "taken before the recording", "nbytes": before}] if before > 0 else []
    return listed


def _what(trace: Trace, row: int) -> str:
    location = trace.location(row)
    if location is not None:
        return str(location)
    op = int(trace.caller[row])
    while op >= 0 and trace.kind[op] != EventKind.TorchOp:
        op = int(trace.parent[op])
    return trace.names[trace.name_id[op]] if op >= 0 else "outside of operators"
