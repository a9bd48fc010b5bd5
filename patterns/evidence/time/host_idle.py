"""The host while no device works, or all the time where there is none, by the account.

    device   ####................####....................####
    host     [launch][py][launch]    [ Python, 400 us ][launch]
             `-- from op to op --'   `---- a stretch --'

Between two launches the host runs Python, operators that compute on the CPU, or both. Where that
takes long it is a stretch, which has a function that most of it is in; what is shorter is what it
takes to get from one operator to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidy.account import Stretches, host_in_window, main_track
from tidy.account import host_kinds as kinds
from tidy.account.places import Places
from tidy.trace import (
    Event,
    EventKind,
    Intervals,
    Location,
    Rows,
    Trace,
    plain_name,
    range_text,
    time_text,
)
from tidy.trace.kept import kept, kept_of_window
from tidy.trace.lost import capturing

from ..device import autograd, devices
from ..device.graphs import KERNEL_LAUNCHES
from ..device.launches import COMPILED, below, by_start, calls_of, has_name, ops_around_all
from ..python.places import grouped

Numbers = NDArray[np.int32]
# A stretch by rows, -1 for none: its start, end and track, event, functions and op.
_Rows = tuple[int, int, int, int, tuple[int, ...], int]

# Shorter than this, Python is on its way from one operator to the next.
LONG_NS = 500_000
# An op that takes longer for each launch does something else besides: it is called for the first
# time, asks for memory, or computes on the CPU.
_LONGEST_LAUNCH_NS = 200_000
# A function is where a stretch is spent if so much of it is in the function.
_MOST = 0.6
# So much of idle time before launches of one name, which are so few of all, is told.
_MOST_BEFORE, _FEW = 2 / 3, 1 / 3
# A line is named if more than this part of the idle time lies before what it launches.
_MAIN = 0.5
_FUNCTIONS = (int(EventKind.PyCall), int(EventKind.PyCCall))
_IN_PYTHON = [
    kinds.CODE_OF[kind] for kind in (kinds.PYTHON, kinds.PREPROCESSING, kinds.OTHER_PROCESS)
]


@dataclass(frozen=True)
class Stretch:
    """A long time in which the host launches nothing.

    Attributes:
        event: the innermost that the longest part of it is in; None where nothing was open.
        functions: the frames and calls of Python that most of it is in, from the innermost out.
        op: the operator on the CPU that takes most of it; None where Python does.
    """

    start_ns: int
    end_ns: int
    track: int
    event: Event | None
    functions: tuple[Event, ...]
    op: Event | None


@dataclass(frozen=True)
class HostIdle:
    """The host's time in the window while no device works, or without devices all of it.

    Left out is the capture of graphs: what is launched then need not run.

    Attributes:
        launching: it launches, one operator after the other, and a launch is on its way.
        gaps: a kernel that was launched by itself has not begun yet.
        python: it is on its way from one operator to the next, by thread (its track).
        stretches: it does something else, for long.
        captures: whether graphs are captured in the window, so that later steps launch less.
    """

    launching: Intervals
    gaps: Intervals
    python: Mapping[int, Intervals]
    stretches: tuple[Stretch, ...]
    captures: bool


def host_idle(trace: Trace) -> HostIdle:
    """Tell what the host does in the window while the devices wait for it."""
    launching, gaps, python, stretches, captures = _host_idle(trace)
    made = tuple(_made(trace, each) for each in stretches)
    return HostIdle(launching, gaps, python, made, captures)


@kept_of_window
def _host_idle(
    trace: Trace,
) -> tuple[Intervals, Intervals, dict[int, Intervals], tuple[_Rows, ...], bool]:
    device = max(trace.devices_used, key=lambda d: len(trace.rows_of_device(d)), default=None)
    pieces = host_in_window(trace, device)
    if len(trace.devices_used) > 1:
        pieces = pieces.at(devices.all_idle(trace).contains(pieces.start_ns))
    captured = capturing(trace)
    if len(captured):
        pieces = pieces.at(~captured.contains(pieces.start_ns))
    ops, launches, launches_nothing = _ops_and_launches(trace, pieces)
    is_hook = pieces.kind == kinds.CODE_OF[kinds.HOOK]
    in_op = (ops >= 0) | (pieces.row >= trace.tree_count)
    is_launching = (pieces.kind == kinds.CODE_OF[kinds.LAUNCHING]) | (is_hook & in_op)
    # No optimizer is to blame for how compiled code launches.
    compiled = has_name(trace, *COMPILED)[trace.name_id[np.maximum(ops, 0)]] & (ops >= 0)
    is_launching |= (pieces.kind == kinds.CODE_OF[kinds.OPTIMIZER]) & compiled
    launches &= is_launching
    # A launch that came just in time has its kernel begin when it arrives.
    is_gap = (pieces.kind == kinds.CODE_OF[kinds.GAP]) & (pieces.row >= 0)
    arrives = is_gap & (trace.end_ns[pieces.row] == pieces.start_ns)
    is_gap &= np.isin(pieces.row, calls_of(trace, *KERNEL_LAUNCHES))
    is_python = np.isin(pieces.kind, _IN_PYTHON) | (is_hook & ~in_op)
    other = is_python | (pieces.kind == kinds.CODE_OF[kinds.CPU_OP])
    if device is not None:
        other |= is_launching & launches_nothing
    group, chosen = _groups(pieces, other), np.flatnonzero(other)
    spent_ns = np.bincount(group[chosen], pieces.end_ns[chosen] - pieces.start_ns[chosen])
    is_long = np.zeros(len(other), bool)
    is_long[chosen] = spent_ns[group[chosen]] >= LONG_NS
    tracks = np.where(pieces.row >= 0, trace.track_id[pieces.row], main_track(trace))
    between = is_python & ~is_long
    of_tracks = {
        track: _time(pieces, between & (tracks == track))
        for track in np.unique(tracks[between]).tolist()
    }
    stretches = _stretches(trace, pieces, ops, tracks, np.where(is_long, group, -1))
    launching, gaps = _time(pieces, launches | arrives), _time(pieces, is_gap)
    return launching, gaps, of_tracks, tuple(stretches), bool(captured & trace.step_time)


def _time(pieces: Stretches, chosen: NDArray[np.bool_]) -> Intervals:
    return Intervals(pieces.start_ns[chosen], pieces.end_ns[chosen])


def _ops_and_launches(
    trace: Trace, pieces: Stretches
) -> tuple[Numbers, NDArray[np.bool_], NDArray[np.bool_]]:
    """Of each piece the op in no other op, -1 for none, and how long what launches takes in it.

    Returns:
        The ops; whether they launch, within what a launch takes at the longest; whether they launch
        nothing. A call in no op is a launch of its own.
    """
    count = trace.tree_count
    op_of = np.append(ops_around_all(trace), np.int32(-1))  # the last of none
    is_call = pieces.row >= count
    ops = op_of[np.where(is_call, trace.caller[pieces.row], pieces.row)]
    launching = op_of[trace.launching_ops(trace.device_rows)]
    launches = np.bincount(launching[launching >= 0], minlength=count)
    takes_ns = trace.duration_ns[:count] / np.maximum(launches, 1)
    op_is_short = np.append((launches > 0) & (takes_ns <= _LONGEST_LAUNCH_NS), False)
    call_is_short = is_call & (trace.duration_ns[pieces.row] <= _LONGEST_LAUNCH_NS)
    is_short = np.where(ops >= 0, op_is_short[ops], call_is_short)
    return ops, is_short, np.where(ops >= 0, np.append(launches == 0, True)[ops], ~is_call)


def _groups(pieces: Stretches, chosen: NDArray[np.bool_]) -> Numbers:
    """A number for each piece, the same for chosen ones that follow each other without a gap."""
    follows = np.zeros(len(chosen), bool)
    follows[1:] = chosen[1:] & chosen[:-1] & (pieces.start_ns[1:] == pieces.end_ns[:-1])
    return np.cumsum(~follows, dtype=np.int32)


def _made(trace: Trace, stretch: _Rows) -> Stretch:
    start_ns, end_ns, track, row, functions, op = stretch
    event, cpu_op = (trace.event(each) if each >= 0 else None for each in (row, op))
    return Stretch(start_ns, end_ns, track, event, tuple(trace.events(functions)), cpu_op)


def _stretches(
    trace: Trace, pieces: Stretches, ops: Numbers, tracks: Numbers, group: Numbers
) -> Iterator[_Rows]:
    """The stretches that the pieces with one number are; -1 is none."""
    chosen = np.flatnonzero(group >= 0)
    if not len(chosen):
        return
    pieces, ops, tracks, group = pieces.at(chosen), ops[chosen], tracks[chosen], group[chosen]
    firsts = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    ends_ns = pieces.end_ns[np.append(firsts[1:], len(group)) - 1]
    spent_ns = pieces.end_ns - pieces.start_ns
    in_ops_ns = np.where(ops >= 0, spent_ns, -1)
    longest, in_op = (_first_longest(ns, firsts) for ns in (spent_ns, in_ops_ns))
    all_ns, of_ops_ns = (np.add.reduceat(ns, firsts) for ns in (spent_ns, np.maximum(in_ops_ns, 0)))
    op = np.where(2 * of_ops_ns > all_ns, ops[in_op], -1)
    columns = pieces.start_ns[firsts], ends_ns, tracks[longest], pieces.row[longest], op
    for start_ns, end_ns, track, row, op_row in zip(*(c.tolist() for c in columns), strict=True):
        functions = tuple(_functions(trace, row, start_ns, end_ns))
        yield start_ns, end_ns, track, row, functions, op_row


def _first_longest(lengths: Rows, firsts: Rows) -> Rows:
    """The index of the longest, and of these the first, from each of `firsts` to the next."""
    longest = np.maximum.reduceat(lengths, firsts)
    counts = np.diff(firsts, append=len(lengths))
    at = np.flatnonzero(lengths == np.repeat(longest, counts))
    found: Rows = at[np.searchsorted(at, firsts)]
    return found


def _functions(trace: Trace, row: int, start_ns: int, end_ns: int) -> Iterator[int]:
    """Rows of the frames and calls of Python at or around a row that hold most of a stretch."""
    least_ns = _MOST * (end_ns - start_ns)
    while row >= 0:
        if trace.kind[row] in _FUNCTIONS:
            held_ns = min(trace.end_ns[row], end_ns) - max(trace.start_ns[row], start_ns)
            if held_ns >= least_ns:
                yield row
        row = int((trace.parent if row < trace.tree_count else trace.caller)[row])


def time_of(stretches: Iterable[Stretch]) -> Intervals:
    """Return all the time of stretches."""
    times = np.array([(each.start_ns, each.end_ns) for each in stretches], np.int64).reshape(-1, 2)
    return Intervals(times[:, 0], times[:, 1])


def by_track(stretches: Iterable[Stretch]) -> dict[int, Intervals]:
    """Return the time of stretches by the thread that they are on."""
    return {own[0].track: time_of(own) for own in grouped(stretches, lambda each: each.track)}


def mostly_before(trace: Trace, idle: Intervals) -> str:
    """Name what most of idle time lies before, of few launches, as a message ends; "" for none."""
    following, spent_ns = _work_after(trace, idle)
    in_all = trace.device_rows[trace.in_window(trace.device_rows)]
    if not len(following):
        return ""
    ops, all_ops = trace.launching_ops(following), trace.launching_ops(in_all)
    for rows, all_rows in ((following, in_all), (ops, all_ops[all_ops >= 0])):
        names = np.where(rows >= 0, trace.name_id[rows] + 1, 0)  # 0 is none
        of_name = np.bincount(names, spent_ns)
        most = int(of_name.argmax())
        few = np.count_nonzero(trace.name_id[all_rows] == most - 1) <= _FEW * len(in_all)
        if most and few and of_name[most] >= _MOST_BEFORE * idle.total_ns:
            count = trace.window.step_count
            part_ns, whole_ns = of_name[most] / count, idle.total_ns / count
            part, name = range_text(part_ns, part_ns, whole_ns), trace.names[most - 1]
            name = plain_name(name).rpartition("::")[2] if rows is following else name
            return f", {part} of {time_text(whole_ns)} before {name}"
    return ""


def main_line(trace: Trace, idle: Intervals, calls: Rows) -> Location | None:
    """Return the line that more than half of idle time lies before, and of these calls comes from.

    None if there is no such line, or no Python stack was recorded. What a backward launches has
    none: its line is the same for all that the model is.
    """
    work, spent_ns = _work_after(trace, idle)
    backward = below(trace, autograd.calls_of(trace))
    own_ns = np.where(backward.contains(trace.launching_ops(work)), 0, spent_ns)
    own_calls = np.where(backward.contains(trace.caller[calls]), 0, 1)
    places = Places(trace)
    found = []
    for rows, weight, whole in ((work, own_ns, spent_ns.sum()), (calls, own_calls, len(calls))):
        most = places.costliest(rows.astype(np.int32), weight, 1)
        found += [each.location for each in most if each.time_ns > _MAIN * whole]
    return found[0] if len(found) == 2 and found[0] == found[1] else None


def is_mostly_before(trace: Trace, idle: Intervals, ops: Intervals) -> bool:
    """Tell whether two thirds of idle time lie before what these rows of the tree launch."""
    work, spent_ns = _work_after(trace, idle)
    inside = ops.contains(trace.launching_ops(work))
    return bool(0 < _MOST_BEFORE * idle.total_ns <= spent_ns[inside].sum())


def _work_after(trace: Trace, idle: Intervals) -> tuple[Rows, NDArray[np.int64]]:
    """The device work that each stretch of idle time ends with, and how long that is."""
    work = _work_by_start(trace)
    at = np.searchsorted(trace.start_ns[work], idle.ends_ns)
    known = at < len(work)
    return work[at[known]].astype(np.int64), (idle.ends_ns - idle.starts_ns)[known]


@kept
def _work_by_start(trace: Trace) -> Rows:
    return by_start(trace, trace.device_rows)


def usual_time(trace: Trace, stretches: Iterable[Stretch]) -> Intervals:
    """Return the time of stretches without the step or round of the window that has most of it.

    None counts where they are in fewer than half of the steps: what takes long now and then happens
    once, at the end of a recording for instance, or is what else the machine does.
    """
    time = time_of(stretches)
    edges = np.array(trace.window.step_ranges, np.int64).reshape(-1, 2)
    spent_ns = time.covered_ns(edges[:, 0], edges[:, 1])
    if 2 * np.count_nonzero(spent_ns) < max(len(edges), 1):
        return Intervals()
    most = int(spent_ns.argmax())
    return time - Intervals(edges[most : most + 1, 0], edges[most : most + 1, 1])


def op_after(trace: Trace, stretch: Stretch) -> Event | None:
    """Return the operator that comes next on its thread, within a millisecond."""
    soon = trace.within(stretch.end_ns, stretch.end_ns + 1_000_000, stretch.track)
    return next((each for each in soon if each.kind == EventKind.TorchOp), None)
