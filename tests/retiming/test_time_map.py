"""Steps recorded in full, with the times of those recorded lightly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidy.retiming.light import LightSteps, light_steps
from tidy.retiming.time_map import TimeMap, time_map
from tidy.trace import TraceInfo, build_trace
from tidy.trace.kinds import EventKind
from tidy.trace.raw_columns import RawColumns, Track

MAIN, STREAM = Track(4321, 4321), Track(0, 7)


@dataclass
class Node:
    """An op, or a Python function where it has no name of an op, with what it calls."""

    name: str
    inside: list[Node]

    @property
    def is_op(self) -> bool:
        return self.name.startswith("aten")


_NODES = st.recursive(
    st.builds(Node, st.sampled_from(["aten::a", "aten::b", "f", "g"]), st.just([])),
    lambda inner: st.builds(
        Node, st.sampled_from(["aten::a", "aten::b", "f", "g"]), st.lists(inner, max_size=3)
    ),
    max_leaves=12,
)


class Writer:
    """Writes nodes as rows; `pause_ns` gives the time before and after each."""

    def __init__(self, rng: np.random.Generator, longest_ns: int, with_python: bool) -> None:
        self.raw, self.now = RawColumns(), 1_000
        self._rng, self._longest_ns, self._with_python = rng, longest_ns, with_python

    def pause(self) -> None:
        self.now += int(self._rng.integers(1, self._longest_ns))

    def write(self, node: Node) -> None:
        self.pause()
        start = self.now
        for each in node.inside:
            self.write(each)
        self.pause()
        if node.is_op or self._with_python:
            kind = EventKind.TorchOp if node.is_op else EventKind.PyCall
            self.add(node.name, kind, start, self.now, MAIN)

    def add(self, name: str, kind: EventKind, start: int, end: int, track: Track) -> None:
        self.raw.append(
            1,
            name_id=self.raw.strings.names[name],
            kind=kind,
            start_ns=start,
            duration_ns=end - start,
            track_id=self.raw.strings.tracks[track],
        )

    def steps(self, nodes: list[Node], count: int) -> list[int]:
        ends = [self.now]
        for _ in range(count):
            for node in nodes:
                self.write(node)
            self.pause()
            ends.append(self.now)
        return ends


def mapped(
    full: RawColumns, ends: list[int], light: LightSteps, waited_ns: int = 0
) -> tuple[TimeMap, dict[str, np.ndarray], dict[str, np.ndarray]]:
    table, flows = full.join()
    before = {name: column.copy() for name, column in table.items()}
    waited = np.full(len(ends) - 1, waited_ns)
    times = time_map(table, flows, full.strings, list(pairwise(ends)), light, waited, 0 * waited)
    assert times is not None
    times.change(table, full.strings)
    return times, before, table


def _tree(raw: RawColumns) -> list[tuple[str, int]]:
    trace = build_trace(raw, TraceInfo())
    return list(zip([trace.names[i] for i in trace.name_id], trace.parent.tolist(), strict=True))


@settings(deadline=None)
@given(st.lists(_NODES, min_size=1, max_size=5), st.integers(0, 1000))
def test_ops_take_light_times_and_the_tree_stays(nodes: list[Node], seed: int) -> None:
    nodes = [*nodes, Node("aten::last", [])]
    rng = np.random.default_rng(seed)
    full, light = Writer(rng, 3_000, with_python=True), Writer(rng, 300, with_python=False)
    ends, light_ends = full.steps(nodes, 3), light.steps(nodes, 4)
    known = light_steps(light.raw, [light_ends], MAIN)
    assert known is not None
    expected = _tree(Copied(full.raw))
    times, before, table = mapped(full.raw, ends, known)
    assert _tree(Copied(full.raw)) == expected
    # Each op of step n begins and ends in it when that of light step n did.
    lengths = [b - a for a, b in pairwise(light_ends)]
    assert [end - start for start, end in times.steps] == lengths[:3]
    is_op = table["kind"] == EventKind.TorchOp
    for step, (start, end) in enumerate(times.steps):
        mine = is_op & (before["start_ns"] >= ends[step]) & (before["start_ns"] < ends[step + 1])
        given_ns = np.sort(table["start_ns"][mine]) - start
        theirs = known.table["start_ns"]
        inside = (theirs >= light_ends[step]) & (theirs < light_ends[step + 1])
        # Times that differ stay different, which may move them by as many nanoseconds as there are.
        assert np.abs(given_ns - np.sort(theirs[inside] - light_ends[step])).max() <= len(is_op) * 2
        assert end > start


def test_what_is_in_a_step_stays_in_it() -> None:
    """Where hardly anything is left of a step that has much in it, too."""
    rng = np.random.default_rng(0)
    nodes = [Node("aten::mm", [Node("aten::add", [])]) for _ in range(20)]
    full, light = Writer(rng, 3_000, with_python=True), Writer(rng, 300, with_python=False)
    ends, light_ends = full.steps(nodes, 3), light.steps(nodes, 4)
    known = light_steps(light.raw, [light_ends], MAIN)
    assert known is not None
    # A step of a nanosecond: all that is in it begins and ends when it does.
    starts = np.array(light_ends)
    begun = np.clip(np.searchsorted(starts, known.table["start_ns"], side="right") - 1, 0, 3)
    known = replace(
        known,
        steps=[(start, start + 1) for start, _ in known.steps],
        given=(starts[begun], starts[begun] + 1),
    )
    times, before, table = mapped(full.raw, ends, known)
    is_op = table["kind"] == EventKind.TorchOp
    for step, (start, end) in enumerate(times.steps):
        mine = is_op & (before["start_ns"] >= ends[step]) & (before["start_ns"] < ends[step + 1])
        assert mine.sum() == 40
        assert (table["start_ns"][mine] >= start).all()
        assert (table["start_ns"][mine] + table["duration_ns"][mine] <= end).all()


class Copied(RawColumns):
    """Columns that may be used up."""

    def __init__(self, raw: RawColumns) -> None:
        super().__init__(raw.strings)
        table, _ = raw.join()
        self.append(len(table["kind"]), **{name: each.copy() for name, each in table.items()})


@pytest.mark.parametrize(
    "light_ops",
    [
        [f"aten::other{number}" for number in range(9)],
        [f"aten::{number}" for number in range(9)] * 3,  # what is beyond would become Python
    ],
)
def test_steps_that_are_too_unlike_keep_their_times(light_ops: list[str]) -> None:
    rng = np.random.default_rng(0)
    full, light = Writer(rng, 100, with_python=True), Writer(rng, 100, with_python=False)
    ends = full.steps([Node(f"aten::{number}", []) for number in range(9)], 3)
    light_ends = light.steps([Node(name, []) for name in light_ops], 3)
    known = light_steps(light.raw, [light_ends], MAIN)
    assert known is not None
    table, flows = full.raw.join()
    steps = list(pairwise(ends))
    assert time_map(table, flows, full.raw.strings, steps, known, *np.zeros((2, 3))) is None


@pytest.mark.parametrize(
    ("are_quickest", "waited_ns", "is_kept"),
    [(False, 0, True), (True, 100_000, False), (True, 10_000, True)],
)
def test_a_long_step_keeps_its_time_where_nothing_disturbed_it(
    are_quickest: bool, waited_ns: int, is_kept: bool
) -> None:
    """With the same operators as others it is other work of the machine, or something rare."""
    rng = np.random.default_rng(0)
    full, light = Writer(rng, 100, with_python=True), Writer(rng, 100, with_python=False)
    nodes = [Node(f"aten::{number}", []) for number in range(9)]
    ends = full.steps(nodes, 3)
    full.now += 100_000
    ends[-1] = full.now
    known = light_steps(light.raw, [light.steps(nodes, 4)], MAIN)
    assert known is not None
    known = replace(known, are_quickest=are_quickest)
    times, _, _ = mapped(full.raw, ends, known, waited_ns)
    lengths = [end - start for start, end in times.steps]
    assert (lengths[-1] > 100_000) is is_kept
    assert max(lengths[:-1]) < 10_000


def test_a_rare_long_step_gets_the_time_of_a_light_one_of_its_kind() -> None:
    """A rollout before some of the steps: what it adds in full is no part of it."""
    rng = np.random.default_rng(0)
    full, light = Writer(rng, 100, with_python=True), Writer(rng, 50, with_python=False)
    usual, rare = ([Node(f"aten::{number % 9}", []) for number in range(n)] for n in (9, 90))
    bounds = list[list[int]]()
    for writer in (full, light):
        ends = writer.steps(usual, 3)
        ends += writer.steps([*rare, *usual], 1)[1:]
        bounds.append(ends + writer.steps(usual, 2)[1:])
    known = light_steps(light.raw, [bounds[1]], MAIN)
    assert known is not None
    times, _, _ = mapped(full.raw, bounds[0], known)
    assert times.counterparts[3] == 3
    assert times.steps[3][1] - times.steps[3][0] == pytest.approx(known.lengths_ns[3], rel=0.01)


def test_a_collective_of_a_pool_stays_beside_what_the_main_thread_does() -> None:
    """It runs on another thread than in the light step, whose operators take a tenth."""
    full, light = RawColumns(), RawColumns()
    for raw, unit in ((full, 1_000), (light, 100)):
        writer = Writer(np.random.default_rng(0), 10, with_python=False)
        writer.raw = raw
        for step in range(4):
            thread = Track(4321, 7 + (step + (raw is light)) % 2)
            for name, start, end, track in (
                ("aten::a", 1, 2, MAIN),
                ("gloo:all_reduce", 3, 8, thread),
                ("aten::b", 9, 10, MAIN),
            ):
                times = ((10 * step + each) * unit for each in (start, end))
                writer.add(name, EventKind.TorchOp, *times, track)
    known = light_steps(light, [[0, 1_000, 2_000, 3_000, 4_000]], MAIN)
    assert known is not None
    _, _, table = mapped(full, [10_000 * step for step in range(5)], known)
    is_reduced = table["duration_ns"] > 200
    assert np.abs(table["duration_ns"][is_reduced] - 500).max() < 10
    assert np.abs(table["start_ns"][is_reduced] % 1_000 - 300).max() < 10


@pytest.mark.parametrize("are_quickest", [False, True])
def test_on_a_busy_machine_a_long_step_is_no_counterpart(are_quickest: bool) -> None:
    rng = np.random.default_rng(0)
    full, light = Writer(rng, 100, with_python=True), Writer(rng, 100, with_python=False)
    nodes = [Node(f"aten::{number}", []) for number in range(9)]
    ends = full.steps(nodes, 4)
    light_ends = light.steps(nodes, 4)
    light.now += 100_000
    light_ends[-1] = light.now
    known = light_steps(light.raw, [light_ends], MAIN)
    assert known is not None
    times, _, _ = mapped(full.raw, ends, replace(known, are_quickest=are_quickest))
    assert (3 in times.counterparts) is not are_quickest


@pytest.mark.parametrize("collective_ends", [8, 498], ids=["a-pause", "a-wait-for-another-rank"])
def test_a_long_step_of_ranks_gets_shorter_by_what_it_waits_for_them(collective_ends: int) -> None:
    full, light = RawColumns(), RawColumns()
    for raw, unit, longer in ((full, 1_000, 490), (light, 100, 0)):
        writer = Writer(np.random.default_rng(0), 10, with_python=False)
        writer.raw = raw
        bounds = [0]
        for step in range(20):
            begin, pause = bounds[-1], longer * (step == 10)
            for name, start, end, track in (
                ("aten::a", 1, 2, MAIN),
                ("gloo:all_reduce", 3, collective_ends if pause else 8, Track(4321, 7)),
                ("aten::b", 9 + pause, 10 + pause, MAIN),
            ):
                times = (begin + each * unit for each in (start, end))
                writer.add(name, EventKind.TorchOp, *times, track)
            bounds.append(begin + (10 + pause) * unit)
        if raw is light:
            known = light_steps(light, [bounds], MAIN)
        else:
            recorded = bounds
    assert known is not None
    times, *_ = mapped(full, recorded, known)
    longest_ns = max(end - start for start, end in times.steps)
    assert (longest_ns > 100_000) == (collective_ends == 8)
