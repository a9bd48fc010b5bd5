"""Calls that wait for the device, and the kernel or copy that each waits for.

These are calls that synchronise, copies that return when done, calls that free memory, and launches
that a full queue has no room for until the device has finished some of those in it.
"""

from __future__ import annotations

import numpy as np

from ..trace import Rows, Trace

# A call that returns this soon after the end of a kernel waited for it.
_LONGEST_RETURN_NS = 120_000
# CUDA's queue holds 1024 launches. A launch this long, with at least half as many ahead of it, that
# returns as one of them ends waits for room. The clocks of both sides may be so far apart.
_FULL_QUEUE, _LONG_NS, _CLOCKS_OF_LONG_CALLS = 512, 100_000, 0.05
_FREES = "cudaFree", "hipFree"
# A copy's end may be recorded a little after the return of the call that waited for it.
_CLOCKS_NS = 5_000


def find_waits(
    trace: Trace, row: Rows, start: Rows, end: Rows, launcher: Rows, work: Rows
) -> tuple[Rows, Rows, Rows]:
    """Find the activity that each call waits for.

    Args:
        row, start, end: of the nodes.
        launcher, work: the node that launched each device activity, and its row.

    Returns:
        For each node the ns that it takes without waiting, the activity that it waits for (-1 for
        none), and the ns from the end of that to its return.
    """
    length, waits_for = end - start, np.full(len(row), -1, np.int64)
    return_ns = np.zeros(len(row), np.int64)
    ended = trace.end_ns[work]
    by_end = np.argsort(ended, kind="stable")
    ends = ended[by_end]
    usual = int(np.median(length[row >= 0])) if (row >= 0).any() else 0
    last = np.searchsorted(launcher, np.arange(len(row)), side="right") - 1
    launches = np.bincount(launcher, minlength=len(row)) > 0
    waiters = trace.rows_named("*ynchronize*", "*EventWait*", "*EventsWait*", "*QueueFinish*")
    synchronizes = np.isin(row, waiters)
    copies = np.isin(row, trace.rows_named("*Memcpy*", "*memcpy*", "*AppendMemoryCopy*"))
    copies &= launches & (length > 2 * usual)
    for node in np.flatnonzero(synchronizes).tolist():
        at = int(np.searchsorted(ends, end[node], side="right")) - 1
        while at >= 0 and max(start[node], end[node] - _LONGEST_RETURN_NS) < ends[at]:
            if launcher[by_end[at]] < node:
                waits_for[node] = by_end[at]
                break
            at -= 1
    own = np.flatnonzero(copies)
    own = own[ended[last[own]] <= end[own] + _CLOCKS_NS] if len(own) else own
    waits_for[own] = last[own]
    full = np.flatnonzero(launches & (waits_for < 0) & (length > max(_LONG_NS, 10 * usual)))
    ahead = np.searchsorted(launcher, full) - np.searchsorted(ends, start[full], side="right")
    full = full[ahead >= _FULL_QUEUE]
    ended_then = _nearest_end(ends, by_end, end[full], length[full])
    # On another stream that may be a kernel which is launched only later.
    known = (ended_then >= 0) & (launcher[ended_then] < full)
    waits_for[full[known]] = ended_then[known]
    waiting = np.flatnonzero(waits_for >= 0)
    return_ns[waiting] = end[waiting] - ended[waits_for[waiting]]
    length[waiting] = np.minimum(length[waiting], 3 * usual)
    _wait_to_free(trace, row, end, launcher, ended, (length, waits_for, return_ns))
    return length, waits_for, return_ns


def _wait_to_free(
    trace: Trace,
    row: Rows,
    end: Rows,
    launcher: Rows,
    ended: Rows,
    found: tuple[Rows, Rows, Rows],
) -> None:
    """Let calls that free memory wait until the device has finished all that was launched before.

    A device that was idle already kept none of them; after a fix it may still be at work.

    Args:
        ended: the end of each device activity.
        found: what `find_waits` returns, which is changed.
    """
    length, waits_for, return_ns = found
    frees = np.flatnonzero(np.isin(row, trace.rows_named(*_FREES)))
    before = np.searchsorted(launcher, frees)
    frees, before = frees[before > 0], before[before > 0]
    if not len(frees):
        return
    latest = np.maximum.accumulate(ended)
    # The index of the activity that ends last of those launched so far.
    last = np.maximum.accumulate(np.where(ended == latest, np.arange(len(ended)), 0))[before - 1]
    # Where one goes on nevertheless, it is of another device.
    known = (waits_for[frees] < 0) & (ended[last] <= end[frees])
    frees, last = frees[known], last[known]
    waits_for[frees] = last
    length[frees] = np.minimum(length[frees], end[frees] - ended[last])
    return_ns[frees] = length[frees]


def _nearest_end(ends: Rows, by_end: Rows, returned: Rows, length: Rows) -> Rows:
    """Return the activity whose end is nearest to the return of each call, -1 if none is near."""
    if not len(returned):
        return returned
    after = np.minimum(np.searchsorted(ends, returned), len(ends) - 1)
    before = np.maximum(after - 1, 0)
    nearest = np.where(ends[after] - returned < returned - ends[before], after, before)
    most_ns = np.maximum(_LONGEST_RETURN_NS, _CLOCKS_OF_LONG_CALLS * length)
    return np.where(np.abs(ends[nearest] - returned) <= most_ns, by_end[nearest], -1)
