"""Makes accounts: puts the time of a window to its parts, and the parts to their places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from ..trace import Capability, Intervals, Location, Step, Trace, Window
from .account import Account, LineTime, Part
from .causes import CAUSE_OF, Cause
from .device_work import KINDS, busy_pieces
from .efficiency import efficiency_of
from .flame import FlameGraph, flame_graph
from .host_kinds import HOST_KINDS, LEFT_OUT, LOST, LOST_IN_GRAPHS, NOT_RECORDED
from .host_time import HostTime
from .idle_time import cut_by_host, host_in_window, host_pieces
from .own_code import OwnCode
from .pieces import Stretches, cut_at
from .places import Place, Places
from .ranks import RankWaits, told_apart
from .step_parts import StepParts, step_parts_of

_MOST_PLACES = 5
_AT_ONCE = 1 << 15  # pieces of a thread's time
# From this part of a recording on what the window leaves out has parts, too.
_WORTH_PARTS = 0.1
# Of more devices those with most work have an account: no machine has as many, and each account
# looks at all the host's time.
MOST_DEVICES = 64
_NAMED_BY_FUNCTION = ("python", "cpu-op", "data-loading", "hook-host", "other-process")
_LACKING = (LOST_IN_GRAPHS, LOST, LEFT_OUT)
# A launch may take long now and then; where so much of the window is between launches and their
# work, something ran that is not recorded.
_MUCH = 0.05
_KEPT = "_accounts"  # where a trace keeps what `keep_accounts` was given
_PART_OF = {
    "transfer": "communication",
    "rank-wait": "communication",
    "copy": "copy",
    "fill": "copy",
}


def devices_with_most_work(trace: Trace) -> list[int]:
    """Return the devices that have an account, by index: all of them, but where there are
    too many.
    """
    devices = trace.devices_used
    if len(devices) > MOST_DEVICES:
        devices = tuple(sorted(devices, key=lambda d: -len(trace.rows_of_device(d)))[:MOST_DEVICES])
    return sorted(devices)


def make_accounts(
    trace: Trace, window: Window | None = None, waits: RankWaits | None = None
) -> tuple[Account, ...]:
    """Return one account for each device that had work, or one of the host; arguments as of
    Accountant.
    """
    return Accountant(trace, window, waits).accounts()


def keep_accounts(trace: Trace, accounts: Iterable[Account]) -> None:
    """Have a trace keep the accounts of its window that another process has made, without waits."""
    own = tuple(replace(each, window=trace.window) for each in accounts)
    trace.__dict__[_KEPT] = trace.window, own


class Accountant:
    """Makes accounts of one trace."""

    def __init__(
        self, trace: Trace, window: Window | None = None, waits: RankWaits | None = None
    ) -> None:
        """Take the trace, and the window if it is not to be the trace's own.

        Args:
            waits: how long its collectives wait for other ranks, where their traces tell it.
        """
        self._trace, self._window = trace, trace.window if window is None else window
        self._waits = waits
        self._host, self._places = HostTime(trace), Places(trace)
        self._own_code = OwnCode(trace)

    def accounts(self) -> tuple[Account, ...]:
        """Return one account for each device that had work, or one of the host."""
        window, kept = self._trace.__dict__.get(_KEPT, (None, ()))
        if window is self._window and self._waits is None:
            return tuple(kept)
        made, not_counted = [], self._not_counted()
        for device, pieces in self._pieces.items():
            known = None if device is None else efficiency_of(self._trace, device, self._window)
            account = self._account(device, self._window, pieces)
            rest = not_counted.get(device, ())
            made.append(replace(account, efficiency=known, not_counted=rest))
        return tuple(made)

    def _not_counted(self) -> dict[int | None, tuple[Part, ...]]:
        """The parts of what the window leaves out, where that is much of the recording."""
        start_ns, span_ns = self._trace.start_ns_first, self._trace.span_ns
        run = Intervals([start_ns], [start_ns + span_ns])
        rest = run - self._window.time - self._window.others
        if rest.total_ns < _WORTH_PARTS * span_ns:
            return {}
        window = Window((), rest, (), "run")
        return {
            device: self._account(device, window, pieces).parts
            for device, pieces in self._pieces_of(window).items()
        }

    def by_step(self) -> Iterator[tuple[Step, tuple[Account, ...]]]:
        """Return the accounts of each step that counts."""
        ranges = self._window.finished_ranges
        edges = np.unique(np.array(ranges, np.int64))
        cut = {
            device: [cut_at(each, edges) for each in pieces]
            for device, pieces in self._pieces.items()
        }
        for step, (start_ns, end_ns) in zip(self._window.steps, ranges, strict=True):
            time = Intervals([start_ns], [end_ns]) & self._window.time
            window = Window((step,), time, (), self._window.unit)
            accounts = (
                self._account(device, window, [_between(each, start_ns, end_ns) for each in pieces])
                for device, pieces in cut.items()
            )
            yield replace(step, start_ns=start_ns, end_ns=end_ns), tuple(accounts)

    def step_parts(self) -> StepParts:
        """Return what each step is spent on, those that the window leaves out as well."""
        judged = self._window.all_steps
        ranges = [lasts for _, lasts, _ in judged]
        rest = Intervals(*np.array(ranges, np.int64).reshape(-1, 2).T) - self._window.time
        found = [self._pieces]
        if rest:
            found.append(self._pieces_of(Window((), rest, (), "run")))
        pieces = (
            (stretches, [_name_of(kind, sort) for kind in names])
            for by_device in found
            for device, of_device in by_device.items()
            for stretches, (names, sort) in zip(of_device, _kinds_of(device), strict=True)
        )
        numbers = [step.number for step, _, _ in judged]
        return step_parts_of(numbers, ranges, pieces, len(self._pieces))

    def by_line(self, most: int) -> tuple[LineTime, ...]:
        """Return the lines that take most time, on the host or on devices."""
        sums: dict[tuple[Location | None, str], list[int]] = {}
        for side, stretches in enumerate((self._on_threads(), self.device_pieces())):
            for each in stretches:
                spent = each.end_ns - each.start_ns
                for place in self._places.sums(self._own_code.rows_of(each), spent):
                    sums.setdefault((place.location, place.name), [0, 0])[side] += place.time_ns
        lines = [LineTime(Place(*key, sum(ns)), *ns) for key, ns in sums.items()]
        lines.sort(key=lambda line: (-max(line.host_ns, line.device_ns), str(line.place)))
        return tuple(lines[:most])

    def flame_graph(self, *, all_frames: bool = False) -> FlameGraph:
        """Return the time by Python frame, module and operator, on the host and on devices."""
        host, device = self._on_threads(), self.device_pieces()
        return flame_graph(self._trace, host, device, all_frames=all_frames)

    def host_pieces(self, device: int | None) -> Stretches:
        """Return what the host does in the trace's window while a device is idle; for None, all the
        time.
        """
        return host_in_window(self._trace, device, self._host)

    def _on_threads(self) -> Iterator[Stretches]:
        """What each thread of the host is in, some of it at a time: all takes much memory."""
        for track in np.unique(self._trace.track_id[: self._trace.tree_count]).tolist():
            edges = self._host.pieces(track).starts_ns[::_AT_ONCE].tolist()
            for edge, next_edge in pairwise([*edges, np.iinfo(np.int64).max]):
                time = self._window.time & Intervals([edge], [next_edge])
                pieces = cut_by_host(self._host, track, time.starts_ns, time.ends_ns)
                yield pieces.at((pieces.row >= 0) & (self._trace.track_id[pieces.row] == track))

    def device_pieces(self) -> Iterator[Stretches]:
        """Return the time in which each device has work; `kind` is an index into
        device_work.KINDS.
        """
        for device, pieces in self._pieces.items():
            if device is not None:
                yield pieces[0]

    @cached_property
    def _pieces(self) -> dict[int | None, list[Stretches]]:
        return self._pieces_of(self._window)

    def _pieces_of(self, window: Window) -> dict[int | None, list[Stretches]]:
        """For each device time with work and idle time; for the host of a CPU run all its time."""
        trace, time = self._trace, window.time
        if Capability.DEVICE not in trace.capabilities:
            return {None: [self._host_pieces(None, window, time)]}
        pieces: dict[int | None, list[Stretches]] = {}
        for device in devices_with_most_work(trace):
            busy = told_apart(trace, busy_pieces(trace, device, time), self._waits)
            idle = time - Intervals(busy.start_ns, busy.end_ns)
            pieces[device] = [busy, self._host_pieces(device, window, idle)]
        return pieces

    def _host_pieces(self, device: int | None, window: Window, time: Intervals) -> Stretches:
        if window is self._trace.window:
            return self.host_pieces(device)
        return host_pieces(self._trace, self._host, device, time)

    def _account(self, device: int | None, window: Window, pieces: list[Stretches]) -> Account:
        made = (
            part
            for own, (names, sort) in zip(pieces, _kinds_of(device), strict=True)
            for part in self._named_parts(own, names, sort, window.time_ns)
        )
        parts = tuple(sorted(made, key=lambda each: (-each.time_ns, str(each.name))))
        if device is None:
            return Account(device, window, parts, "host")
        times = {kind: time_ns for part in parts for kind, time_ns in part.kinds}
        lacks = (
            self._trace.info.is_thinned
            or self._trace.loses_kernels
            or not times.keys().isdisjoint(_LACKING)
            or times.get(NOT_RECORDED, 0) >= _MUCH * window.time_ns
        )
        return Account(device, window, parts, self._trace.devices[device].sort, lacks)

    def _named_parts(
        self, pieces: Stretches, names: Sequence[str], part: str | None, whole_ns: int
    ) -> Iterator[Part]:
        spent, rows = pieces.end_ns - pieces.start_ns, self._own_code.rows_of(pieces)
        kinds: dict[Cause, dict[int, int]] = {}
        by_code = np.bincount(pieces.kind, spent, len(names))  # exact: sums of less than 2**53
        for code in np.flatnonzero(by_code).tolist():
            kinds.setdefault(CAUSE_OF[names[code]], {})[code] = int(by_code[code])
        for cause, times in kinds.items():
            is_mine = np.zeros(len(names), bool)
            is_mine[list(times)] = True
            mine = is_mine[pieces.kind]
            total = sum(times.values())
            longest_first = sorted(times, key=times.__getitem__, reverse=True)
            yield Part(
                _part_of(cause, part),
                *cause,
                tuple((names[code], times[code]) for code in longest_first),
                total,
                total / whole_ns,
                self._places.costliest(rows[mine], spent[mine], _MOST_PLACES),
                self._places.mostly_in(pieces.row[mine], spent[mine])
                if cause.word in _NAMED_BY_FUNCTION
                else "",
                len(np.unique(pieces.row[mine])) if cause.word == "host-stall" else 0,
            )


def _kinds_of(device: int | None) -> list[tuple[Sequence[str], str | None]]:
    """Return the kinds of each of a device's pieces of time, and their part if it is one."""
    return [(HOST_KINDS, "host")] if device is None else [(KINDS, None), (HOST_KINDS, "idle")]


def _part_of(cause: Cause, part: str | None) -> str:
    return part or _PART_OF.get(cause.word, "compute")


def _name_of(kind: str, part: str | None) -> tuple[str, str]:
    cause = CAUSE_OF[kind]
    return _part_of(cause, part), cause.word


def _between(pieces: Stretches, start_ns: int, end_ns: int) -> Stretches:
    inside = (pieces.start_ns >= start_ns) & (pieces.start_ns < end_ns)
    return pieces.at(inside)
