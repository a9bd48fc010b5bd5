"""Why a device has no work: what the thread that makes the next launch was doing meanwhile.

    device   ####............................####
    host     [ wait ][ fetch ][python][ launch ]
             |waiting|loading.|Python.|launch|gap|

From the end of the call that launches the next work to its start the device is on its own: a
launch's latency, or where it is long, work that the profiler did not record. Before that the time
is the launching thread's. A thread that waited for the device has lost the lead that it had: what
it takes to launch again is the wait's, up to the time that was waited.
"""

from __future__ import annotations

import numpy as np

from ..trace import EventKind, Intervals, Rows, Trace, Window
from ..trace.intervals import repeated
from .host_kinds import (
    BETWEEN_OPS,
    CODE_OF,
    COPYING,
    GAP,
    HOST_KINDS,
    LAUNCHING,
    LEFT_OUT,
    LOST,
    LOST_IN_GRAPHS,
    NOT_RECORDED,
    OPTIMIZER,
    RECORDING,
    UNKNOWN,
    WAITING,
)
from .host_time import HostTime
from .lost_work import graph_launched, lost_launched
from .pieces import NO_STRETCHES, Stretches, concatenated, cut_at, joined

# A launch takes microseconds to arrive; a device that begins later had something else to do.
_LONG_GAP_NS = 50_000
_NEVER = np.iinfo(np.int64).max
_KEPT = "_host_in_window"  # where a trace keeps what `host_in_window` found


def host_in_window(trace: Trace, device: int | None, host: HostTime | None = None) -> Stretches:
    """Return what the host does in the window of its trace while a device is idle; for None, all
    the time.

    Rules and the account of one report ask for the same, so the trace keeps it.
    """
    kept: dict[int | None, tuple[Window, Stretches]] = trace.__dict__.setdefault(_KEPT, {})
    window, pieces = kept.get(device, (None, NO_STRETCHES))
    if window is not trace.window:
        host, time = HostTime(trace) if host is None else host, trace.window.time
        free = time if device is None else time - trace.device_busy(device)
        pieces = host_pieces(trace, host, device, free)
        kept[device] = trace.window, pieces
    return pieces


def host_pieces(trace: Trace, host: HostTime, device: int | None, time: Intervals) -> Stretches:
    """Tell what the host does while a device is idle, or in any time of a run without devices."""
    if device is None:
        pieces = cut_by_host(host, host.main, time.starts_ns, time.ends_ns)
    else:
        pieces = _idle_pieces(trace, host, device, time) if len(time) else NO_STRETCHES
    return _recording_apart(trace, pieces)


def _idle_pieces(trace: Trace, host: HostTime, device: int, idle: Intervals) -> Stretches:
    """Idle time of a device by its kind; `row` is the event that the launching thread was in."""
    work = trace.rows_of_device(device)
    following = np.searchsorted(trace.start_ns[work], idle.ends_ns, side="left")
    launch = trace.caller[work[np.minimum(following, len(work) - 1)]].astype(np.int64)
    launch = np.where(following < len(work), launch, -1)
    known, at = launch >= 0, np.maximum(launch, 0)
    track = np.where(known, trace.track_id[at], host.main)
    launched = np.clip(trace.end_ns[at], idle.starts_ns, idle.ends_ns)
    launched = np.where(known, launched, idle.ends_ns)
    late = launched < idle.ends_ns
    starts, ends = launched[late], idle.ends_ns[late]
    before = trace.caller[work[np.maximum(following[late] - 1, 0)]].astype(np.int64)
    kind = np.where(
        ends - starts < _LONG_GAP_NS, CODE_OF[GAP], _why_late(trace, before, launch[late])
    )
    parts = [Stretches(starts, ends, kind.astype(np.int8), launch[late].astype(np.int32))]
    parts += [
        cut_by_host(host, int(each), idle.starts_ns[track == each], launched[track == each])
        for each in np.unique(track)
    ]
    pieces = joined(parts)
    del parts  # there may be a piece for each event
    return _after_waits(trace, pieces)


def _why_late(trace: Trace, before: Rows, launch: Rows) -> Rows:
    """Why work begins long after its launch, though the device has nothing else to do.

    Args:
        before: the call that launched the work before it, -1 for none.
        launch: the call that launched it.
    """
    upto = trace.start_ns[launch]
    since = np.minimum(np.where(before >= 0, trace.start_ns[before], upto), upto)
    other = LEFT_OUT if trace.info.is_thinned else NOT_RECORDED
    kind = np.where(lost_launched(trace, since, upto), CODE_OF[LOST], CODE_OF[other])
    return np.where(graph_launched(trace, since, upto), CODE_OF[LOST_IN_GRAPHS], kind)


def cut_by_host(host: HostTime, track: int, starts: Rows, ends: Rows) -> Stretches:
    """Return the given stretches, cut where a thread turns to something else."""
    pieces = host.pieces(track)
    if not len(pieces.starts_ns):
        unknown = np.full(len(starts), CODE_OF[UNKNOWN], np.int8)
        return Stretches(starts, ends, unknown, np.full(len(starts), -1, np.int32))
    first = np.searchsorted(pieces.starts_ns, starts, side="right") - 1
    last = np.searchsorted(pieces.starts_ns, ends, side="left")
    which, piece = repeated(np.where(ends > starts, last - first, 0), first)
    low, high = pieces.starts_ns[piece], np.append(pieces.starts_ns, _NEVER)[piece + 1]
    np.maximum(low, starts[which], out=low)
    np.minimum(high, ends[which], out=high)
    cut = Stretches(low, high, pieces.kind[piece], pieces.row[piece])
    if track == host.main:
        return cut
    # Where the launching thread had nothing to do yet (a backward's, before it is called), the main
    # thread is what it waited for.
    free = cut.row < 0
    below = cut_by_host(host, host.main, low[free], high[free])
    return concatenated([cut.at(~free), below])


def _after_waits(trace: Trace, pieces: Stretches) -> Stretches:
    """Give to each wait the launching that follows it, up to the time that was waited."""
    waits = (pieces.kind == CODE_OF[WAITING]) | (pieces.kind == CODE_OF[COPYING])
    wait = np.flatnonzero(waits & (pieces.row >= 0))
    waited = pieces.start_ns[wait] - trace.start_ns[pieces.row[wait]]
    wait, waited = wait[waited > 0], waited[waited > 0]
    if not len(wait):
        return pieces
    is_host_work = np.zeros(len(HOST_KINDS), bool)
    is_host_work[[CODE_OF[kind] for kind in (LAUNCHING, *BETWEEN_OPS, OPTIMIZER)]] = True
    length = (pieces.end_ns - pieces.start_ns) * is_host_work[pieces.kind]
    upto = np.cumsum(length)
    # Each reaches as far as its lead does, or to the next wait.
    reach = np.searchsorted(upto, upto[wait] + waited) + 1
    last = np.minimum(reach, np.append(wait[1:], len(upto)))
    which, at = repeated(np.maximum(last - wait - 1, 0), wait + 1)
    spent = upto[at] - length[at] - upto[wait][which]
    charged = np.clip(waited[which] - spent, 0, length[at])  # of each piece, from its start
    which, at, charged = which[charged > 0], at[charged > 0], charged[charged > 0]
    parted = charged < length[at]
    middle = pieces.start_ns[at] + charged
    rest = Stretches(middle, pieces.end_ns[at], pieces.kind[at], pieces.row[at]).at(parted)
    kind, row, end = pieces.kind.copy(), pieces.row.copy(), pieces.end_ns.copy()
    kind[at], row[at], end[at] = CODE_OF[WAITING], pieces.row[wait][which], middle
    del length, upto, reach, last
    return concatenated([Stretches(pieces.start_ns, end, kind, row), rest])


def _recording_apart(trace: Trace, pieces: Stretches) -> Stretches:
    """The time in which the profiler itself was at work, as a kind of its own."""
    own = trace.time_of(trace.rows_of_kind(EventKind.Overhead))
    if not len(own):
        return pieces
    pieces = cut_at(pieces, np.sort(np.concatenate([own.starts_ns, own.ends_ns])))
    kind = np.where(own.contains(pieces.start_ns), CODE_OF[RECORDING], pieces.kind)
    return pieces._replace(kind=kind)
