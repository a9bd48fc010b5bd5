"""Light steps without what recording them added, against steps to which it was added."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidy.retiming.light import BareStep, LightSteps, light_steps, slow_at_first
from tidy.retiming.moments import HostTimes
from tidy.retiming.stopped_clock import StoppedClock
from tidy.retiming.unrecorded import unrecorded
from tidy.trace.kinds import EventKind
from tidy.trace.raw_columns import RawColumns, Track

_MAIN = Track(4321, 4321)
_FETCH = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
Event = tuple[str, int, int]  # name, start, end


def _true_step(scale: float) -> list[Event]:
    """A fetch of 50 us, then forty ops of 2 us with 3 us between them."""
    events = [(_FETCH, 5_000, 55_000)]
    for number in range(40):
        start = 60_000 + number * 5_000
        events.append((f"aten::op{number}", start, start + 2_000))
    return [(name, int(scale * start), int(scale * end)) for name, start, end in events]


_STEP_NS = 270_000


def _recorded(lengths: list[float], event_ns: int) -> tuple[RawColumns, list[int]]:
    """Steps of so many times the usual length, each event recorded at so much; the steps' ends.

    Half of it goes before the start of an event, half after its end.
    """
    raw, ends, begin, added = RawColumns(), [1_000], 1_000, 0
    for scale in lengths:
        for name, start, end in _true_step(scale):
            added += event_ns // 2
            raw.append(
                1,
                name_id=raw.strings.names[name],
                kind=EventKind.Annotation if name == _FETCH else EventKind.TorchOp,
                start_ns=begin + start + added,
                duration_ns=end - start,
                track_id=raw.strings.tracks[_MAIN],
            )
            added += event_ns // 2
        begin += int(scale * _STEP_NS)
        ends.append(begin + added)
    return raw, ends


def _bare(count: int, fetch: float = 1.0) -> list[BareStep]:
    """Steps with nothing recorded, whose fetch may take another part of them."""
    end = 5_000 + int(50_000 * fetch)
    marks = ((5_000, _FETCH, 0), (end, _FETCH, 1))
    return [BareStep(0, _STEP_NS + end - 55_000, marks)] * count


def _light(lengths: list[float], event_ns: int) -> LightSteps:
    raw, ends = _recorded(lengths, event_ns)
    light = light_steps(raw, [ends], _MAIN)
    assert light is not None
    return light


@given(st.integers(0, 2_000), st.lists(st.floats(0.9, 1.1), min_size=3, max_size=6))
def test_what_was_added_is_taken_off(event_ns: int, lengths: list[float]) -> None:
    lengths[0] = 1.0
    bare = [BareStep(0, int(float(np.median(lengths)) * _STEP_NS), ())] * 5
    light = unrecorded(_light(lengths, event_ns), bare)
    assert light.taken_off_ns == pytest.approx(event_ns, abs=20)
    for step, scale in enumerate(lengths):
        times, (start, end) = light.moments[_MAIN].within(step).times_ns, light.steps[step]
        assert end - start == pytest.approx(scale * _STEP_NS, abs=1_500)
        true = [time for _, *both in _true_step(scale) for time in both]
        assert np.abs(times - start - np.array(true)).max() < 1_500


def test_parts_that_were_timed_get_their_share() -> None:
    """The fetch took half as long, with nothing recorded, as taking off evenly would make it."""
    light = unrecorded(_light([1.0] * 4, 1_000), _bare(6, fetch=0.5))
    for step in range(4):
        times = light.moments[_MAIN].within(step).times_ns
        assert times[1] - times[0] == pytest.approx(25_000, abs=200)
        assert light.lengths_ns[step] == pytest.approx(_STEP_NS - 25_000, abs=1_000)


@pytest.mark.parametrize("is_timed", [False, True])
def test_small_ops_keep_time_where_a_large_one_was_slower(is_timed: bool) -> None:
    """The fetch took 180 us longer while ops were recorded, which no recording of them explains."""
    light, bare = _light([1.0] * 4, 400), _bare(6)
    late = np.arange(4) * 180_000
    fetches = np.flatnonzero(light.table["duration_ns"] == 50_000)
    light.table["duration_ns"][fetches] += 180_000
    which = np.searchsorted(fetches, np.arange(len(light.table["start_ns"])), side="left")
    light.table["start_ns"] += 180_000 * which
    steps = [(a + n, b + n + 180_000) for (a, b), n in zip(light.steps, late.tolist(), strict=True)]
    light = replace(light, recorded=steps, steps=steps)
    shorter = unrecorded(light, bare if is_timed else [each._replace(marks=()) for each in bare])
    for step in range(4):
        times = shorter.moments[_MAIN].within(step).times_ns
        assert shorter.lengths_ns[step] == pytest.approx(_STEP_NS, abs=1_500)
        # Of 200 us, of which taking off so much of each event left 24.
        assert times[-1] - times[2] > (190_000 if is_timed else 60_000)


def test_a_single_long_fetch_does_not_shorten_the_others() -> None:
    """The mean would: the fetches of all other steps would become a fraction of what they are."""
    light = _light([1.0] * 9, 0)
    rows = np.flatnonzero(light.table["duration_ns"] == 50_000)
    light.table["duration_ns"][rows[4]] = 250_000
    later = light.table["start_ns"] > light.table["start_ns"][rows[4]]
    light.table["start_ns"][later] += 200_000
    steps = [(a + 200_000 * (n > 4), b + 200_000 * (n > 3)) for n, (a, b) in enumerate(light.steps)]
    light = replace(light, recorded=steps, steps=steps)
    lengths = unrecorded(light, _bare(20)).given
    fetches = (lengths[1] - lengths[0])[rows]
    assert np.delete(fetches, 4) == pytest.approx([50_000] * 8, rel=0.05)


def test_steps_never_get_longer() -> None:
    slow = [BareStep(0, 2 * _STEP_NS, ())] * 5
    light = _light([1.0] * 4, 0)
    assert unrecorded(light, slow).lengths_ns.tolist() == light.lengths_ns.tolist()


def test_too_few_steps() -> None:
    raw, ends = _recorded([1.0] * 2, 0)
    assert light_steps(raw, [ends], _MAIN) is None


@given(
    st.lists(st.tuples(st.integers(1_000, 30_000), st.integers(0, 9_000)), max_size=8),
    st.integers(0, 4_000),
    st.lists(st.integers(0, 40_000), min_size=2, max_size=6),
)
def test_a_clock_that_stands(
    events: list[tuple[int, int]], event_ns: int, times: list[int]
) -> None:
    """It never goes back or ahead, and has taken off all in the end."""
    starts = np.array(sorted(start for start, _ in events), np.int64)
    ends = np.array(sorted(start + length for start, length in events), np.int64)
    times.sort()
    clock = StoppedClock(HostTimes(starts, ends), event_ns)
    passed, between = np.diff(clock.at(np.array(times, np.int64))), np.diff(times)
    assert (passed >= 0).all()
    assert (passed <= between + 1).all()
    late = 10**6
    assert late - int(clock.at(np.array([late]))[0]) == pytest.approx(len(events) * event_ns, abs=1)


def test_an_op_keeps_its_length() -> None:
    clock = StoppedClock(HostTimes(np.array([5_000]), np.array([7_000])), 1_000)
    assert clock.at(np.array([0, 4_500, 5_000, 7_000, 7_500, 9_000])).tolist() == [
        0, 4_500, 4_500, 6_500, 6_500, 8_000,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lengths", "later", "count"),
    [
        ([900, 910, 920, 930, 10, 11, 12, 9, 9], [5, 5, 6], 4),
        ([900, 10, 11, 12, 9, 9], [5], 0),  # the window leaves out a single one
        ([900, 910, 10, 11, 12, 9, 9], [5, 950, 940], 0),  # it happens again
        ([25, 25, 10, 11, 12, 9, 9], [5], 0),
        ([900, 910, 10, 11, 9, 9], [], 0),
        ([900] * 60 + [10] * 90, [], 0),  # no beginning
    ],
)
def test_steps_that_are_slow_at_first(lengths: list[int], later: list[int], count: int) -> None:
    assert slow_at_first(lengths, np.zeros(len(lengths)), later) == count


def test_steps_that_waited_for_a_processor_are_not_slow() -> None:
    """Those that follow are as long as they are, whatever they waited."""
    first, rest = [900, 910], [10, 11, 12, 9, 9]
    assert slow_at_first([*first, *rest], [890, 0, *[0] * 5], []) == 0
    assert slow_at_first([10, 11, *rest], [0, 0, *[9] * 5], []) == 0
