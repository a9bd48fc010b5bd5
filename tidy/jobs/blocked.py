"""How long a rank did nothing because it waited for a collective, from its trace.

What no other work hides of a collective says too much in jobs whose host is the limit: the device
idles between small kernels while a collective runs beside them, and waits for the host, not for
the collective. A rank waits for it in the time right before its end, if what the device does next
was launched before that end, or if the host waited for the device.
"""

from __future__ import annotations

import numpy as np

from ..trace import EventKind, Intervals, Rows, Trace
from .table import Bools, Ints

_WAITS = "*ynchronize*", "*emcpy*"  # calls that hold the host until the device is done


def blocked_on_device(trace: Trace, rows: Rows) -> Ints:
    """Return how long the device did nothing but wait for each kernel to end, -1 if not known.

    Args:
        rows: kernels of collectives; shape (n,).
    """
    result = np.full(len(rows), -1, np.int64)
    if trace.info.is_thinned:
        return result
    host_waits = _host_waits(trace)
    devices = trace.device[rows]
    for device in np.unique(devices).tolist():
        mine = devices == device
        start, end = trace.start_ns[rows[mine]], trace.end_ns[rows[mine]]
        work = np.setdiff1d(trace.rows_of_device(device), rows)
        work = work[np.argsort(trace.start_ns[work], kind="stable")]
        since, is_idle = _idle_since(trace.time_of(work), start, end)
        # What runs next was kept by the collective from the time on at which it was launched.
        starts = np.append(trace.start_ns[work], np.iinfo(np.int64).max)
        after = np.searchsorted(starts[:-1], end)
        caller = np.append(trace.caller[work], -1)[after]
        launched = np.where(caller >= 0, trace.start_ns[caller], start)
        launched = np.where(after < len(work), launched, np.iinfo(np.int64).max)
        waited, is_held = _held_since(host_waits, end)
        launched = np.where(is_held, np.minimum(launched, waited), launched)
        since = np.maximum(since, launched)
        result[mine] = np.where(is_idle, np.maximum(end - since, 0), 0)
    return result


def blocked_on_host(trace: Trace, rows: Rows) -> Ints:
    """Return how long no operator ran before each collective on the host was over.

    It is -1 if no operators were recorded.

    Args:
        rows: what Gloo, MPI or UCC recorded; shape (n,).
    """
    if trace.info.is_thinned or not len(rows):
        return np.full(len(rows), -1, np.int64)
    tree = np.arange(trace.tree_count)
    is_leaf = trace.subtree_end[tree] == tree + 1
    ops = tree[is_leaf & (trace.kind[tree] == EventKind.TorchOp)]
    communication = trace.rows_named("c10d::*", "record_param_comms", "*:*send*", "*:*recv*")
    ops = np.setdiff1d(ops, np.append(rows, communication), assume_unique=True)
    if not len(ops):
        return np.full(len(rows), -1, np.int64)
    start, end = trace.start_ns[rows], trace.end_ns[rows]
    since, is_idle = _idle_since(trace.time_of(ops), start, end)
    return np.where(is_idle, np.maximum(end - since, 0), 0)


def _idle_since(busy: Intervals, start: Ints, end: Ints) -> tuple[Ints, Bools]:
    """Return since when nothing else ran at each end, at most since the start; and whether so."""
    if not len(busy):
        return start, np.ones(len(start), bool)
    before = np.searchsorted(busy.starts_ns, end) - 1
    last = np.where(before >= 0, busy.ends_ns[before], np.iinfo(np.int64).min)
    return np.maximum(start, last), last < end


def _host_waits(trace: Trace) -> Intervals:
    rows = trace.rows_named(*_WAITS)
    return trace.time_of(rows[trace.kind[rows] == EventKind.Runtime])


def _held_since(waits: Intervals, end: Ints) -> tuple[Ints, Bools]:
    """Return since when the host has waited for the device at each end, and whether it has."""
    if not len(waits):
        return end, np.zeros(len(end), bool)
    before = np.searchsorted(waits.starts_ns, end) - 1
    at = np.maximum(before, 0)
    return waits.starts_ns[at], (before >= 0) & (waits.ends_ns[at] >= end)
