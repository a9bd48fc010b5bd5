"""When what was recorded began and ended, as one sequence a thread and a stream.

A moment is the start or the end of an op, a range, a call of the driver or a piece of device work.
Its label tells which; moments of two recordings with one label are of the same thing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..trace.kinds import COLLECTIVES_ON_HOST, DEVICE_WORK, EventKind
from ..trace.links import grouped, match_correlation
from ..trace.raw_columns import Column, Interner, Strings, Track

Numbers = NDArray[np.int64]
_ON_HOST = (EventKind.TorchOp, EventKind.Annotation, EventKind.Runtime)


@dataclass(frozen=True)
class Moments:
    """Of one track, ascending by time; all of shape (n,).

    Attributes:
        labels: twice the number of the name, and one more for an end.
        step: the index of the step that it belongs to, -1 for none.
        asked_ns: when the host asked for it: for device work the start of its call, -1 where that
            is not known.
        is_device: whether the track is a stream of a device.
    """

    times_ns: Numbers
    labels: Numbers
    step: Numbers
    asked_ns: Numbers
    is_device: bool

    def within(self, step: int) -> Moments:
        """Return the moments of a step."""
        order, steps = self._by_step
        some = order[slice(*np.searchsorted(steps, (step, step + 1)))]
        times_ns, labels = self.times_ns[some], self.labels[some]
        return Moments(times_ns, labels, self.step[some], self.asked_ns[some], self.is_device)

    @cached_property
    def _by_step(self) -> tuple[Numbers, Numbers]:
        """The moments sorted by step, within each by time, and their steps."""
        order = np.argsort(self.step, kind="stable")
        return order, self.step[order]


def moments_of(
    table: dict[str, Column],
    strings: Strings,
    steps: Sequence[tuple[int, int]],
    names: Interner,
    given: tuple[Numbers, Numbers] | None = None,
) -> dict[Track, Moments]:
    """Return the moments of each track.

    Args:
        steps: times of the host, [start, end) each, ascending.
        names: the numbers that labels are made of; is added to.
        given: starts and ends that rows get instead of their recorded ones, in the same order.
    """
    name_of = np.array([names[name] for name in strings.names], np.int64)
    kind, start, track = table["kind"], table["start_ns"], table["track_id"]
    # A pool's threads take collectives by turns: they keep their place beside the main thread's.
    pooled = np.array([name.startswith(COLLECTIVES_ON_HOST) for name in strings.names], bool)
    on_host = np.isin(kind, _ON_HOST) & ~pooled[table["name_id"]]
    rows = np.flatnonzero(on_host | np.isin(kind, DEVICE_WORK))
    # Device work is of the step that launched it, however late it runs.
    caller, is_work = rows.copy(), ~on_host[rows]
    launched, calls = rows[is_work], np.flatnonzero(kind == EventKind.Runtime)
    of_work, of_calls = (table["correlation"][some] for some in (launched, calls))
    callers = match_correlation(of_work, start[launched], of_calls, start[calls])
    caller[is_work] = np.append(calls, -1)[callers]
    at = np.where(caller >= 0, start[caller], -1)
    ends = start[rows] + table["duration_ns"][rows]
    step = step_of(at, steps)
    # The end of what began in one step and goes on into the next is of the next one.
    end_step = np.where(is_work, step, step_of(ends, steps))
    times = np.concatenate([start[rows], ends])
    labels = 2 * name_of[table["name_id"][rows]]
    labels = np.concatenate([labels, labels + 1])
    steps_at = np.concatenate([step, end_step])
    tracks = np.concatenate([track[rows], track[rows]])
    # A stream that is never idle begins the next piece of work when the last one ends.
    is_after = np.concatenate([np.ones(len(rows), bool), ~is_work])
    order = np.lexsort((is_after, times))
    if given is not None:
        times = np.concatenate([each[rows] for each in given])
        at = np.where(caller >= 0, given[0][caller], -1)
    asked = np.concatenate([at, np.where(is_work, at, times[len(rows) :])])
    places = list(strings.tracks)
    found = dict[Track, Moments]()
    for number, some in grouped(tracks[order]).items():
        mine, place = order[some], Track(*places[number])
        is_device = bool(is_work[mine[0] % len(rows)])
        ascending = np.maximum.accumulate(times[mine])
        found[place] = Moments(ascending, labels[mine], steps_at[mine], asked[mine], is_device)
    return found


class HostTimes(NamedTuple):
    """When what the host did began and ended, each ascending."""

    starts_ns: Numbers
    ends_ns: Numbers


def host_times(table: dict[str, Column]) -> HostTimes:
    """Return the starts and ends of ops and ranges: recording them takes the host's time."""
    rows = np.flatnonzero(np.isin(table["kind"], (EventKind.TorchOp, EventKind.Annotation)))
    starts = table["start_ns"][rows]
    return HostTimes(np.sort(starts), np.sort(starts + table["duration_ns"][rows]))


def step_of(times_ns: Numbers, steps: Sequence[tuple[int, int]] | Numbers) -> Numbers:
    """Return the index of the step that each time is in, -1 for none."""
    if not len(steps):
        return np.full(len(times_ns), -1, np.int64)
    starts, ends = np.array(steps, np.int64).T
    at = np.searchsorted(starts, times_ns, side="right") - 1
    return np.where((at >= 0) & (times_ns < ends[np.maximum(at, 0)]), at, -1)
