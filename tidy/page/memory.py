"""Memory over time, and what holds it where most is in use."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..check.checked_trace import CheckedTrace
from ..patterns.evidence.device import memory
from ..trace import EventKind, Trace, printable
from .labels import device_name

_Integers = NDArray[np.int64]
_MOST_POINTS = 600
_MOST_HOLDERS = 8


def memory_to_json(report: CheckedTrace) -> list[dict[str, Any]]:
    """Return for each device, and the CPU, what is in use within the window, in bytes."""
    trace = report.trace
    made = []
    for device in (*memory.devices_with_memory(trace), memory.CPU):
        shown = _of_device(trace, device)
        if shown is not None:
            made.append(shown)
    return made


def _of_device(trace: Trace, device: int) -> dict[str, Any] | None:
    window = trace.window
    changes = memory.changes_of(trace, device)
    start_ns = trace.start_ns[changes.row]
    inside = (start_ns >= window.start_ns) & (start_ns < window.end_ns)
    if not inside.any():
        return None
    is_known = bool((changes.allocated_nbytes >= 0).any())
    if is_known:
        in_use = changes.allocated_nbytes
    else:  # the sum of what was seen, of which nobody knows where it began
        in_use = np.cumsum(trace.nbytes[changes.row])
        in_use = in_use - min(int(in_use.min()), 0)
    first = int(np.argmax(inside))
    before = int(in_use[first - 1] if first else in_use[0] - trace.nbytes[changes.row[0]])
    # What was in use when the window began counts, too.
    start_ns = np.append(window.start_ns, start_ns[inside])
    in_use = np.append(max(before, 0), in_use[inside])
    held = changes.reserved_nbytes[inside]
    peak = int(np.argmax(in_use))
    return {
        "label": device_name(trace, device),
        "is_known": is_known,
        "length_ns": window.end_ns - window.start_ns,
        "total_nbytes": memory.total_nbytes(trace, device),
        "reserved_nbytes": max(int(held.max()), 0),
        "peak_nbytes": int(in_use[peak]),
        "peak_at_ns": int(start_ns[peak]) - window.start_ns,
        "points": _thinned(start_ns - window.start_ns, in_use, window.end_ns - window.start_ns),
        "holders": _holders(trace, device, int(start_ns[peak]), int(in_use[peak])),
    }


def _thinned(
    at_ns: NDArray[np.int64], nbytes: NDArray[np.int64], length_ns: int
) -> list[list[int]]:
    """The most in use in each of so many pieces of the time: [ns, bytes]."""
    piece = at_ns * _MOST_POINTS // max(length_ns, 1)
    firsts = np.flatnonzero(np.diff(piece, prepend=-1))
    most = np.maximum.reduceat(nbytes, firsts)
    return np.stack([at_ns[firsts], most], axis=1).tolist()  # type: ignore[no-any-return]


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
