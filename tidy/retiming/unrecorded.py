"""Light steps without what even recording them lightly adds.

The host's clock stands at each event (stopped_clock.py) for as long as makes a typical step as long
as with nothing recorded. Where the parts of such steps were timed (the fetch, the optimizer), it is
what makes each part as long as there. What a step or a part is off by beyond that is evened out
over it, as is what no recording explains: large operators may be slower in some steps.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from ..savings.graph import build_graph
from ..savings.simulate import Simulator, Times
from ..trace.finished import finished_by_devices
from ..trace.intervals import Intervals
from ..trace.steps import Step
from .light import BareStep, LightSteps, typical_ns
from .moments import HostTimes, Numbers, host_times, step_of
from .parts import Middle, Parts, common_parts
from .stopped_clock import (
    MOST_NS,
    PRECISION_NS,
    StoppedClock,
    calibrate,
    laid_out,
    most_recorded_ns,
)

# Devices that work for so much of the time set the pace; else they wait for the host, too.
_PACED = 0.9
# What calibrating could take off a step with a device at the least for its result to tell anything.
_TELLING = 0.02


def is_paced_by_devices(light: LightSteps) -> bool:
    """Tell whether the host runs ahead of devices, so that its times do not decide on a step's."""
    if not light.has_device:
        return False
    trace = light.trace
    steps = [Step(number, *bounds) for number, bounds in enumerate(light.recorded)]
    finished = finished_by_devices(trace, steps)
    if finished is None:
        return False
    time = Intervals(*np.array(finished, np.int64).T)
    devices = len(trace.devices_used)
    return trace.devices_busy_ns(time) >= _PACED * time.total_ns * devices


def unrecorded(light: LightSteps, bare: list[BareStep]) -> LightSteps | None:
    """Return the steps as they are with nothing recorded, given such steps; none gets longer.

    None where recording alone cannot have made the light ones so much longer: something else did.
    """
    made = _kind_of(light)(light).calibrated(bare)
    return made if (made.taken_off_ns or 0) < MOST_NS - PRECISION_NS else None


def as_short_as(light: LightSteps, bare: list[BareStep]) -> LightSteps:
    """Return the steps as long as the given ones with nothing recorded, whatever made them longer.

    That is the host's part of them. Devices take as long as they do, so that steps stay longer
    where these set the pace.
    """
    return _kind_of(light)(light).scaled(bare)


def _kind_of(light: LightSteps) -> type[HostOnly]:
    return WithDevice if light.has_device else HostOnly


class HostOnly:
    """Steps of a run without devices: all times are the clock's."""

    def __init__(self, light: LightSteps) -> None:
        self._light = self._rows = light
        self._host = host_times(light.table)
        self._bounds = np.array(light.recorded, np.int64).ravel()
        self._most_ns = most_recorded_ns(self._host)

    def calibrated(self, bare: list[BareStep]) -> LightSteps:
        """Return the steps as they are with nothing recorded, or as near as plausible."""
        wanted = typical_ns([step.end_ns - step.start_ns for step in bare])
        event_ns = calibrate(self._typical, wanted)
        parts = None if self._light.has_device else common_parts(self._light, bare)
        if not event_ns and parts is None:
            return replace(self._light, taken_off_ns=0)
        is_more = self._most_ns < event_ns < MOST_NS - PRECISION_NS and not self._light.has_device
        if is_more:
            event_ns = int(self._most_ns)
        if is_more and parts is None:
            clock = self._evenly(wanted / self._typical(event_ns), event_ns)
        else:
            clock = self._clock(event_ns, parts)
        return self._taken_off(clock, event_ns)

    def scaled(self, bare: list[BareStep]) -> LightSteps:
        """Return the steps, and their parts where these were timed, no longer than with nothing
        recorded.

        Half of the steps with nothing recorded are as short in each part, or shorter.
        """
        parts = common_parts(self._light, bare, is_disturbed=True)
        if parts is None:
            clock = self._evenly(min(1.0, _middle_ns(bare) / self._typical(0)))
        else:
            clock = StoppedClock(self._host, 0, parts.evened_out(parts.bounds_ns))
        return self._taken_off(clock, 0)

    def _typical(self, event_ns: int) -> float:
        return self._typical_on(StoppedClock(self._host, event_ns))

    def _typical_on(self, clock: StoppedClock) -> float:
        bounds = self._bounds_on(clock)
        return typical_ns(bounds[1::2] - bounds[::2])

    def _evenly(self, part: float, event_ns: int = 0) -> StoppedClock:
        """One on which each step takes this part of its time, once it has stood at each event."""
        shown = self._bounds
        if event_ns:
            shown = StoppedClock(self._host, event_ns).at(shown)
        bounds = shown.reshape(-1, 2)
        given = laid_out(bounds, (np.diff(bounds) * part).astype(np.int64))
        return StoppedClock(self._host, event_ns, (shown, np.concatenate(given)))

    def _clock(self, event_ns: int, parts: Parts | None) -> StoppedClock:
        """One that stands so long, but in parts that were timed as long as it has to there."""
        if parts is None:
            return StoppedClock(self._host, event_ns)
        both = self._host.starts_ns, self._host.ends_ns
        each = [np.full(len(times), float(event_ns)) for times in both]
        for part, wanted in enumerate(parts.length_ns.tolist()):
            starts, ends = parts.bounds_ns[:, part], parts.bounds_ns[:, part + 1]
            # The pause before a range that begins a part was over when that was timed.
            bounds = np.column_stack([starts, ends])
            inside = step_of(both[0], bounds + 1) >= 0, step_of(both[1], bounds) >= 0
            mine = HostTimes(*(times[some] for times, some in zip(both, inside, strict=True)))
            stretches = starts[parts.usual], ends[parts.usual]
            took = calibrate(partial(_long, mine, *stretches, parts.middle[part]), wanted)
            for times, some in zip(each, inside, strict=True):
                times[some] = min(took, self._most_ns)
        all_of_them = np.concatenate(each)
        shown = StoppedClock(self._host, all_of_them).at(parts.bounds_ns)
        return StoppedClock(self._host, all_of_them, parts.evened_out(shown))

    def _bounds_on(self, clock: StoppedClock) -> Numbers:
        return clock.at(self._bounds)

    def _times_on(self, clock: StoppedClock) -> tuple[Numbers, Numbers]:
        """The starts and ends of all rows."""
        table = self._light.table
        return clock.at(table["start_ns"]), clock.at(table["start_ns"] + table["duration_ns"])

    def _taken_off(self, clock: StoppedClock, event_ns: int) -> LightSteps:
        bounds = self._bounds_on(clock).reshape(-1, 2)
        steps, given = [(start, end) for start, end in bounds.tolist()], self._times_on(clock)
        return replace(self._rows, steps=steps, given=given, taken_off_ns=event_ns)


class WithDevice(HostOnly):
    """Steps of a run with devices: its graph is replayed with the host's times on the clock.

    Where a step takes as long as the devices need, less work of the host changes nothing.
    """

    def __init__(self, light: LightSteps) -> None:
        super().__init__(light)
        self._trace = trace = light.trace
        names = "name_id", "kind", "track_id", "correlation", "start_ns", "duration_ns"
        self._rows = replace(light, table={name: getattr(trace, name) for name in names})
        main = light.strings.tracks[light.main]
        self._marks = np.unique(self._bounds)
        self._graph = graph = build_graph(trace, self._marks.tolist(), main)
        self._tracks = np.where(graph.row >= 0, trace.track_id[graph.row], main)
        self._simulator = Simulator(graph)
        self._node_ends = np.where(graph.row >= 0, trace.end_ns[graph.row], graph.start_ns)

    def calibrated(self, bare: list[BareStep]) -> LightSteps:
        # Where the host hardly matters, next to nothing tells how long its events took to record.
        before = self._typical(0)
        if before - self._typical(MOST_NS) < _TELLING * before:
            return self._light
        return super().calibrated(bare)

    def scaled(self, bare: list[BareStep]) -> LightSteps:
        """Return the steps with the host's times scaled, so that they are no longer than the given
        ones.

        Where devices keep them longer, that does not tell by how much: then by as much as the step
        would have to be.
        """
        wanted_ns = _middle_ns(bare)
        # A whole number is looked for: of as many parts of the time so many go.
        gone = calibrate(lambda each: self._typical_on(self._evenly(1 - each / MOST_NS)), wanted_ns)
        part = 1 - gone / MOST_NS
        if gone >= MOST_NS - PRECISION_NS:
            part = wanted_ns / self._typical(0)
        return self._taken_off(self._evenly(part), 0)

    def _replay(self, clock: StoppedClock) -> Times:
        graph = self._graph
        start, free = clock.at(graph.start_ns), clock.at(graph.start_ns - graph.gap_ns)
        end = clock.at(graph.start_ns + graph.length_ns)
        changed = replace(graph, start_ns=start, gap_ns=start - free, length_ns=end - start)
        return self._simulator.run(changed)

    def _bounds_on(self, clock: StoppedClock) -> Numbers:
        at = self._replay(clock).start_ns[self._graph.bounds]
        return at[np.searchsorted(self._marks, self._bounds)]

    def _times_on(self, clock: StoppedClock) -> tuple[Numbers, Numbers]:
        times, graph, trace = self._replay(clock), self._graph, self._trace
        starts, ends = trace.start_ns.copy(), trace.end_ns.copy()
        on_host = np.ones(len(trace), bool)
        on_host[trace.device_rows] = False
        for track in np.unique(trace.track_id[on_host]).tolist():
            nodes = np.flatnonzero(self._tracks == track)
            rows = np.flatnonzero(on_host & (trace.track_id == track))
            there = np.ravel(np.column_stack([times.start_ns[nodes], times.end_ns[nodes]]))
            turns = np.ravel(np.column_stack([graph.start_ns[nodes], self._node_ends[nodes]]))
            for column in (starts, ends):
                column[rows] = _moved(clock, turns, there, column[rows])
        starts[graph.work_row], ends[graph.work_row] = times.work_start_ns, times.work_end_ns
        return starts, ends


def _middle_ns(bare: list[BareStep]) -> float:
    return float(np.median([step.end_ns - step.start_ns for step in bare]))


def _long(
    when: HostTimes, starts_ns: Numbers, ends_ns: Numbers, middle: Middle, event_ns: int
) -> float:
    """How long stretches are on a clock that stands so long at each event."""
    clock = StoppedClock(when, event_ns)
    return float(middle(clock.at(ends_ns) - clock.at(starts_ns)))


def _moved(clock: StoppedClock, turns: Numbers, there: Numbers, times_ns: Numbers) -> Numbers:
    """Times of a thread whose `turns` a replay moved there, as far behind as the clock says."""
    if not len(turns):
        return clock.at(times_ns)
    at = np.searchsorted(turns, times_ns, side="right") - 1
    last = np.maximum(at, 0)
    since = clock.at(times_ns) - clock.at(turns[last])
    moved = there[last] + since
    upto = np.append(there[1:], np.iinfo(np.int64).max)[last]
    return np.where(at >= 0, np.minimum(moved, upto), moved)
