"""Giving the steps that were recorded in full the times of those that were recorded lightly.

Full steps hold the evidence, but recording it slows small ops and Python down and large ops hardly,
so that shares of their time would be wrong. What begins and ends in both kinds of steps is paired
(alignment.py), and takes place when it did in the light step. What is in full steps alone, such as
calls of Python functions, keeps its place between what is paired.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..profiler.timeline import interpolated
from ..trace.intervals import Intervals
from ..trace.kinds import COLLECTIVES_ON_HOST
from ..trace.links import grouped
from ..trace.raw_columns import Column, Strings, Track
from .alignment import align
from .cut_queues import CutQueues, cut_queues
from .device_moments import launched_alike, queued_before, with_their_calls
from .light import UNLIKE, Bounds, LightSteps, typical_ns
from .moments import Moments, Numbers, moments_of
from .stopped_clock import laid_out

_LEAST_PAIRED = 0.8
# What light steps hold beyond would become Python between the ops of full ones.
_LEAST_COVERED = 0.95
# By what part the operators of two far longer steps may be more or fewer.
_AS_MUCH = 0.05


@dataclass(frozen=True)
class TimeMap:
    """From recorded times to those of a report.

    Attributes:
        known: for each track all its recorded times, ascending, and what they become, ascending
            too: no two that differ become one, so that what is inside of what stays.
        main: the track of the steps, whose times go for tracks that are not known.
        steps: the steps as they become.
        counterparts: for each step the lightly recorded one whose times it gets, -1 for none.
    """

    known: dict[Track, tuple[Numbers, Numbers]]
    main: Track
    steps: Bounds
    counterparts: list[int]

    def of(self, track: Track, times_ns: Numbers) -> Numbers:
        """Return what times of a track become."""
        recorded, given = self.known.get(track, self.known[self.main])
        return interpolated(recorded, given, times_ns)

    def change(self, table: dict[str, Column], strings: Strings) -> None:
        """Give rows their times."""
        tracks = list(strings.tracks)
        for number, some in grouped(table["track_id"]).items():
            track = Track(*tracks[number])
            starts = table["start_ns"][some]
            ends = self.of(track, starts + table["duration_ns"][some])
            table["start_ns"][some] = self.of(track, starts)
            table["duration_ns"][some] = ends - table["start_ns"][some]


def time_map(
    table: dict[str, Column],
    flows: dict[str, Column],
    strings: Strings,
    steps: Bounds,
    light: LightSteps,
    waited_ns: Numbers,
    stopped_ns: Numbers,
) -> TimeMap | None:
    """Return how the times of full steps become those of light ones; None if these are too unlike.

    Args:
        table, flows, strings: what was recorded in full.
        steps: its steps, as times of the host.
        waited_ns: for how long threads of the script may have waited for a processor in each.
        stopped_ns: for how long the profiler waited for devices in each.
    """
    expected = light.moments  # it numbers the names
    moments = moments_of(table, strings, steps, light.names)
    main = light.main
    if main not in moments or main not in expected:
        return None
    waited_ns = waited_ns + _in_collectives(table, strings, steps)
    counterparts = _counterparts(
        moments[main], steps, expected[main], light, (waited_ns, stopped_ns)
    )
    queues = cut_queues(steps, counterparts, light)
    bounds = _bounds(steps, counterparts, light, queues)
    turns: dict[Track, list[tuple[Numbers, Numbers]]] = {main: [bounds]}
    counts = np.zeros(3, np.int64)  # of full steps, of light ones, and of pairs
    # What devices did has to be paired as well, or it would stand beside what launched it.
    have_one = np.flatnonzero(np.array(counterparts) >= 0)
    devices = [each for each in moments.values() if each.is_device]
    on_device = sum(int(np.isin(each.step, have_one).sum()) for each in devices)
    paired_on_device = 0
    both = sorted(
        moments.keys() & expected.keys(), key=lambda each: (moments[each].is_device, each != main)
    )
    # Of each step what the host did that is paired; its tracks come first, the main one before all.
    calls = [list[tuple[Numbers, Numbers]]() for _ in steps]
    for track in both:
        mine, theirs = moments[track], expected[track]
        found = turns.setdefault(track, [])
        if not mine.is_device and track != main:
            found.append(bounds)
        if mine.is_device:
            queued = queued_before(mine, theirs, counterparts, bounds, light)
            found += [queued, with_their_calls(mine, counterparts, bounds, queued[0])]
        for index, other in enumerate(counterparts):
            if other < 0:
                continue
            full, there = mine.within(index), theirs.within(other)
            labels = full.labels, there.labels
            if mine.is_device:
                labels = launched_alike(calls[index], full, there)
            pairs, their_pairs = align(*labels)
            times, their_times = full.times_ns[pairs], there.times_ns[their_pairs]
            if not mine.is_device:
                if not len(times) and calls[index]:  # it keeps its place beside the main thread
                    times, their_times = calls[index][0]
                calls[index].append((times, their_times))
            later = queues.late_ns(index, mine.is_device) - light.steps[other][0]
            found.append((times, their_times + bounds[1][2 * index] + later))
            if track == main:
                counts += *map(len, labels), len(pairs)
            elif mine.is_device:
                paired_on_device += len(pairs)
    paired, covered = (counts[2] / np.maximum(counts[:2], 1)).tolist()
    is_alike = paired >= _LEAST_PAIRED and covered >= _LEAST_COVERED
    if not is_alike or paired_on_device < _LEAST_PAIRED * on_device:
        return None
    by_track = {track: _joined(found) for track, found in turns.items()}
    known = {
        place: _distinct(times, *by_track.get(place, by_track[main]))
        for place, times in _all_times(table, flows, strings, steps, main)
    }
    # As all times of their track: what is in a step stays in it.
    given = interpolated(*known[main], np.array(steps, np.int64).ravel()).reshape(-1, 2)
    shown = [(start, end) for start, end in given.tolist()]
    return TimeMap(known, main, shown, counterparts)


def _in_collectives(table: dict[str, Column], strings: Strings, steps: Bounds) -> Numbers:
    """For how long Gloo, MPI or UCC were at work in each step."""
    names = [at for at, each in enumerate(strings.names) if each.startswith(COLLECTIVES_ON_HOST)]
    some = np.isin(table["name_id"], names)
    starts_ns = table["start_ns"][some]
    time = Intervals(starts_ns, starts_ns + table["duration_ns"][some])
    return time.covered_ns(*np.array(steps, np.int64).reshape(-1, 2).T)


def _counterparts(
    mine: Moments,
    steps: Bounds,
    theirs: Moments,
    light: LightSteps,
    lost_ns: tuple[Numbers, Numbers],
) -> list[int]:
    """For each full step the light one that is most like it, -1 for none; each in its turn.

    One that is far longer than others gets those of one that is so, too, and holds about as much,
    such as a rollout; else it keeps its times, unless it has the same operators as a light one, and
    waited so long for a processor, or in collectives for another rank, which may have been cutting
    its recording.
    """
    waited_ns, stopped_ns = lost_ns
    lengths = np.array([end - start for start, end in steps]) - stopped_ns
    longest = UNLIKE * typical_ns(lengths) if len(lengths) else 0.0
    shapes = [_shape(theirs.within(index).labels) for index in range(len(light.steps))]
    # On a busy machine a long one that is like too few others was not made as long as the quickest.
    may_wait = light.are_quickest or light.communicates
    are_long = light.lengths_ns > UNLIKE * typical_ns(light.lengths_ns)
    usual = np.flatnonzero(~(are_long & light.are_quickest)).tolist()
    found, last = list[int](), -1
    for index, length in enumerate(lengths.tolist()):
        shape = _shape(mine.within(index).labels)
        waited = may_wait and shape in shapes and length - waited_ns[index] <= longest
        candidates = usual
        if length > longest and not waited:
            alike = [abs(shape[0] - count) <= _AS_MUCH * shape[0] for count, _ in shapes]
            candidates = [each for each in usual if are_long[each] and alike[each]]
        if not candidates:
            found.append(-1)
            continue
        in_turn = [*(each for each in candidates if each > last), *candidates]
        unlike = [(shape != each, abs(shape[0] - each[0])) for each in shapes]
        last = min(in_turn, key=unlike.__getitem__)
        found.append(last)
    return found


def _shape(labels: Numbers) -> tuple[int, int]:
    """How many moments a step has, and a number for their order: equal ones are alike."""
    starts = labels[labels % 2 == 0]
    return len(starts), hash(starts.tobytes())


def _bounds(
    steps: Bounds, counterparts: Sequence[int], light: LightSteps, queues: CutQueues
) -> tuple[Numbers, Numbers]:
    """The bounds of the full steps, two each, as recorded and as they become."""
    recorded, others = np.array(steps, np.int64).reshape(-1, 2), np.array(counterparts, np.int64)
    lengths = np.where(others < 0, recorded[:, 1] - recorded[:, 0], light.lengths_ns[others])
    lengths += queues.host_ns
    without_cuts = recorded - np.cumsum(queues.cut_ns)[:, None]
    given = np.array(laid_out(without_cuts, lengths[:, None]), np.int64)
    return recorded.ravel(), given.ravel()


def _joined(found: list[tuple[Numbers, Numbers]]) -> tuple[Numbers, Numbers]:
    """Turns by recorded time; what they become never goes back."""
    recorded, given = (np.concatenate(each) for each in zip(*found, strict=True))
    order = np.lexsort((given, recorded))
    return recorded[order], np.maximum.accumulate(given[order])


def _all_times(
    table: dict[str, Column],
    flows: dict[str, Column],
    strings: Strings,
    steps: Bounds,
    main: Track,
) -> Iterator[tuple[Track, Numbers]]:
    """Each time that something of a track begins or ends at."""
    starts, of_steps = table["start_ns"], np.array(steps, np.int64).ravel()
    on_main = np.full(len(of_steps), strings.tracks[main])
    times = np.concatenate([starts, starts + table["duration_ns"], flows["time_ns"], of_steps])
    tracks = np.concatenate([table["track_id"], table["track_id"], flows["track_id"], on_main])
    places = list(strings.tracks)
    for number, some in grouped(tracks).items():
        yield Track(*places[number]), np.unique(times[some])


def _distinct(times: Numbers, recorded: Numbers, given: Numbers) -> tuple[Numbers, Numbers]:
    """Times of a track and what they become, no two of them the same."""
    made = interpolated(recorded, given, times)
    every = np.arange(len(made))
    return times, np.maximum.accumulate(made - every) + every
