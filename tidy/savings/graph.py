"""The recorded run as a graph: what each call and each device activity waits for.

Nodes are calls of the driver on host threads, and the bounds of steps; activities (`work` in the
code) are kernels, copies and fills. Each begins at the latest of what it waits for:

    a call         the call before it on its thread (or on the thread that handed over to it), and
                   the time that the host needed in between
    an activity    its launch, and a launch's delay; the activity before it on its stream; the
                   activity on another stream that it was seen to follow, or asked to
    the return of a call that waits    the end of the activity that it waits for

The host's time between two calls stays as recorded, and so does the length of each activity.
Sources: Daydream (Zhu et al., USENIX ATC 2020), Lumos (Liang et al., MLSys 2025).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..trace import EventKind, Rows, Trace
from .waits import find_waits

Numbers = NDArray[np.int32]  # of rows, nodes, activities: a graph of a whole run is long
_LONG_AGO = np.iinfo(np.int64).min // 2
_NEVER = np.iinfo(np.int64).max
# A launch arrives within microseconds, and a stream turns to its next kernel within one or two.
# A kernel that takes longer to begin waited for something else.
_LONGEST_DELAY_NS = 60_000
_LONGEST_TURN_NS = 12_000
_USUAL_DELAY_NS, _USUAL_TURN_NS = 5_000, 1_000
_LONGEST_USUAL_TURN_NS = 4_000
_LATE_NS = 3_000
_STREAM_WAIT = "Stream Wait Event"
# A thread that made no call for this long while another did takes over from that one.
_HANDED_OVER_NS = 30_000


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes by recorded start, shape (n,); device activities by launch, shape (m,). -1 is none.

    Attributes:
        row: of a call; -1 for the bound of a step.
        start_ns: as recorded.
        before: the node that this one follows on the host.
        gap_ns: the host's time between that one's end and this one's start.
        length_ns: how long a call takes that has nothing to wait for.
        waits_for: the activity whose end the call waits for.
        return_ns: from that end to the call's return.
        first_work, last_work: the activities [first, last) that a call launches.
        work_row, work_length_ns, stream: of each activity; streams are numbered from 0.
        launcher: the node that launches an activity.
        delay_ns: from the start of that to the start of the activity, at the least.
        turn_ns: from the end of the activity before it on its stream to its start, at the least.
        follows: the activity on another stream whose end it waits for.
        not_before_ns: when other ranks let an activity begin, at the earliest; long ago for most.
        bounds: the nodes that are bounds of steps, by time.
    """

    row: Numbers
    start_ns: Rows
    before: Numbers
    gap_ns: Rows
    length_ns: Rows
    waits_for: Numbers
    return_ns: Rows
    first_work: Numbers
    last_work: Numbers
    work_row: Numbers
    work_length_ns: Rows
    stream: Numbers
    launcher: Numbers
    delay_ns: Rows
    turn_ns: Rows
    follows: Numbers
    not_before_ns: Rows
    bounds: Rows


def build_graph(trace: Trace, bounds_ns: Sequence[int], track: int) -> Graph:
    """Return the graph of a whole trace.

    Args:
        bounds_ns: times of the host whose replayed counterparts are wanted, ascending.
        track: the thread that they are on.
    """
    calls, bounds = trace.rows_of_kind(EventKind.Runtime), np.array(bounds_ns, np.int64)
    start = np.concatenate([trace.start_ns[calls], bounds])
    end = np.concatenate([trace.end_ns[calls], bounds])
    row = np.concatenate([calls, np.full(len(bounds), -1)])
    tracks = np.concatenate([trace.track_id[calls], np.full(len(bounds), track)])
    order = np.lexsort((end, start))
    start, end, row, tracks = start[order], end[order], row[order], tracks[order]
    before = _before(start, end, tracks)
    work, launcher = _launched(trace, row, start)
    nodes = np.arange(len(row))
    first, last = (np.searchsorted(launcher, nodes, side=side) for side in ("left", "right"))
    length, waits_for, return_ns = find_waits(trace, row, start, end, launcher, work)
    delay, turn, follows = _after_what(trace, work, start[launcher])
    return Graph(
        row=row.astype(np.int32),
        start_ns=start,
        before=before.astype(np.int32),
        gap_ns=np.where(before >= 0, start - end[np.maximum(before, 0)], 0),
        length_ns=length,
        waits_for=waits_for.astype(np.int32),
        return_ns=return_ns,
        first_work=first.astype(np.int32),
        last_work=last.astype(np.int32),
        work_row=work.astype(np.int32),
        work_length_ns=trace.duration_ns[work],
        stream=np.unique(trace.track_id[work], return_inverse=True)[1].astype(np.int32),
        launcher=launcher.astype(np.int32),
        delay_ns=delay,
        turn_ns=turn,
        follows=follows.astype(np.int32),
        not_before_ns=np.broadcast_to(np.int64(_LONG_AGO), work.shape),
        bounds=np.flatnonzero(row < 0),
    )


def _before(start: Rows, end: Rows, tracks: Rows) -> Rows:
    """For each node the one before it on its thread, or on the thread that handed over to it."""
    nodes = np.arange(len(start))
    if not len(nodes) or (tracks == tracks[0]).all():
        return nodes - 1
    own = _previous(tracks, nodes)
    # The node that ended last among all before each, the later one of two that ended together.
    highest = np.maximum.accumulate(end)
    latest = np.maximum.accumulate(np.where(end >= highest, nodes, -1))
    latest = np.append(-1, latest[:-1])
    free_since = np.where(own >= 0, end[own], _LONG_AGO)
    latest_end = np.where(latest >= 0, end[latest], _LONG_AGO)
    handed_over = (free_since < latest_end) & (latest_end <= start)
    return np.where(handed_over & (start - free_since > _HANDED_OVER_NS), latest, own)


def _previous(groups: Rows, by: Rows) -> Rows:
    """For each number the one before it in its group, in the order of `by`; -1 for none."""
    order = np.lexsort((by, groups))
    same = groups[order][1:] == groups[order][:-1]
    result = np.full(len(groups), -1, np.int64)
    result[order[1:][same]] = order[:-1][same]
    return result


def _launched(trace: Trace, row: Rows, start: Rows) -> tuple[Rows, Rows]:
    """Return the rows of device activities by launch, and the node that launched each.

    An activity whose launch is not known is given to the last node before it, or to one so early
    that it stays before those that follow it on its stream.
    """
    work = trace.device_rows if len(row) else np.empty(0, np.int64)
    node_of_row = np.full(len(trace), -1, np.int32)
    node_of_row[row[row >= 0]] = np.flatnonzero(row >= 0)
    call = trace.caller[work].astype(np.int64)
    launcher = np.where(call >= 0, node_of_row[np.maximum(call, 0)], -1).astype(np.int64)
    latest = np.maximum(np.searchsorted(start, trace.start_ns[work], side="right") - 1, 0)
    if (launcher < 0).any():
        latest = np.minimum(latest, _next_known(trace, work, launcher))
    launcher = np.where(launcher >= 0, launcher, latest)
    order = np.lexsort((trace.start_ns[work], launcher))
    return work[order], launcher[order]


def _next_known(trace: Trace, work: Rows, launcher: Rows) -> Rows:
    """Return for each activity the earliest launcher known of those after it on its stream.

    A stream runs them in the order of their launches: what was launched before the recording began
    runs before what is launched in it, however late.
    """
    order = np.lexsort((trace.start_ns[work], trace.track_id[work]))
    known = np.where(launcher >= 0, launcher, _NEVER)[order]
    result = np.full(len(work), _NEVER, np.int64)
    streams = trace.track_id[work][order]
    for first, last in pairwise([0, *(np.flatnonzero(np.diff(streams)) + 1).tolist(), len(work)]):
        result[order[first:last]] = np.minimum.accumulate(known[first:last][::-1])[::-1]
    return result


def _after_what(trace: Trace, work: Rows, launched: Rows) -> tuple[Rows, Rows, Rows]:
    """Return the least times in ns from the events that each activity waits for to its start.

    Returns:
        From its launch; from the end of the activity before it on its stream; and the activity on
        another stream that it follows, -1 for none.
    """
    began, ended = trace.start_ns[work], trace.end_ns[work]
    previous = _previous(trace.track_id[work].astype(np.int64), began)
    has = previous >= 0
    free = np.where(has, ended[np.maximum(previous, 0)], _LONG_AGO)
    delay, turn = began - launched, np.where(has, began - free, 0)
    usual_delay = _usual(delay[launched >= free], _LONGEST_DELAY_NS, _USUAL_DELAY_NS)
    by_launch = launched + usual_delay >= free  # the launch arrives when the stream is free
    usual_turn = _usual(turn[has & ~by_launch], _LONGEST_USUAL_TURN_NS, _USUAL_TURN_NS)
    follows = _followed(trace, work, np.maximum(launched + usual_delay, free))
    alone = follows < 0
    most_delay = np.where(by_launch & alone, _LONGEST_DELAY_NS, usual_delay)
    most_turn = np.where(~by_launch & alone, _LONGEST_TURN_NS, usual_turn)
    # Kernels of a graph run at once; those recorded late followed others that were not recorded.
    in_graph = np.isin(trace.caller[work], trace.rows_named("*GraphLaunch*"))
    most_turn = np.where(in_graph & has & ~by_launch, _NEVER, most_turn)
    most_delay = np.where(in_graph & by_launch, _NEVER, most_delay)
    follows = np.where(alone, _asked_to_follow(trace, work, launched), follows)
    return np.minimum(delay, most_delay), np.clip(turn, 0, most_turn), follows


def _usual(values: Rows, longest: int, default: int) -> int:
    values = values[values < longest]
    return int(np.median(values)) if len(values) else default


def _followed(trace: Trace, work: Rows, expected: Rows) -> Rows:
    """Return, for an activity that begins late, the one on another stream that ended just then."""
    result = np.full(len(work), -1, np.int64)
    tracks, began, ended = trace.track_id[work], trace.start_ns[work], trace.end_ns[work]
    late = np.flatnonzero(began - expected > _LATE_NS)
    by_end = np.argsort(ended, kind="stable")
    at = np.searchsorted(ended[by_end], began[late], side="right") - 1
    candidate = by_end[np.maximum(at, 0)] if len(work) else at
    fits = (at >= 0) & (candidate < late) & (began[late] - ended[candidate] < _LONGEST_TURN_NS)
    fits &= tracks[candidate] != tracks[late]
    result[late[fits]] = candidate[fits]
    return result


def _asked_to_follow(trace: Trace, work: Rows, launched: Rows) -> Rows:
    """Return, for an activity whose stream was told to wait for another, what that has before it.

    Where the host is slow all is done when an activity is launched, and nothing shows that it had
    to wait. Of what another stream was given before the call to wait it follows the last, unless
    that ended later. Which event is waited for PyTorch does not always record.
    """
    result = np.full(len(work), -1, np.int64)
    waits = trace.rows_named(_STREAM_WAIT)
    waits = waits[trace.kind[waits] == EventKind.Sync]
    if not len(waits) or not len(work):
        return result
    call, tracks = trace.caller[waits].astype(np.int64), trace.track_id[work]
    asked = np.where(call >= 0, trace.start_ns[np.maximum(call, 0)], trace.start_ns[waits])
    number = np.arange(len(work))
    before = _previous(tracks.astype(np.int64), number)  # in the order of launches
    last_launch = np.where(before >= 0, launched[np.maximum(before, 0)], _LONG_AGO)
    # The last one on another stream than that of the one before it, or on which the last one was.
    switched = np.append(True, tracks[1:] != tracks[:-1])
    of_run = np.maximum.accumulate(np.where(switched, number, 0))
    for track in np.unique(trace.track_id[waits]).tolist():
        mine = np.flatnonzero(tracks == track)
        times = np.sort(asked[trace.track_id[waits] == track])
        last = np.searchsorted(times, launched[mine], side="right") - 1
        told = (last >= 0) & (times[np.maximum(last, 0)] >= last_launch[mine])
        mine, wait_ns = mine[told], times[last[told]]
        given = np.searchsorted(launched, wait_ns, side="left") - 1
        own = (given >= 0) & (tracks[np.maximum(given, 0)] == track)
        given = np.where(own, of_run[np.maximum(given, 0)] - 1, given)
        known = (given >= 0) & (trace.end_ns[work[given]] <= trace.start_ns[work[mine]])
        known &= trace.device[work[given]] == trace.device[work[mine]]
        result[mine[known]] = given[known]
    return result
