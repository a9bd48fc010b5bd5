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

_MAIN, _STREAM = Track(4321, 4321), Track(0, 7)


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
            self.add(node.name, kind, start, self.now, _MAIN)

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


def _mapped(
    full: RawColumns, ends: list[int], light: LightSteps, waited_ns: int = 0
) -> tuple[TimeMap, dict[str, np.ndarray], dict[str, np.ndarray]]:
    table, flows = full.join()
    before = {name: column.copy() for name, column in table.items()}
    waited = np.full(len(ends) - 1, waited_ns)
    times = time_map(table, flows, full.strings, list(pairwise(ends)), light, waited)
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
    known = light_steps(light.raw, [light_ends], _MAIN)
    assert known is not None
    expected = _tree(Copied(full.raw))
    times, before, table = _mapped(full.raw, ends, known)
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
    known = light_steps(light.raw, [light_ends], _MAIN)
    assert known is not None
    # A step of a nanosecond: all that is in it begins and ends when it does.
    starts = np.array(light_ends)
    begun = np.clip(np.searchsorted(starts, known.table["start_ns"], side="right") - 1, 0, 3)
    known = replace(
        known,
        steps=[(start, start + 1) for start, _ in known.steps],
        given=(starts[begun], starts[begun] + 1),
    )
    times, before, table = _mapped(full.raw, ends, known)
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


def test_device_work_is_of_the_step_that_launched_it() -> None:
    """It runs late, in the steps after, and takes its length and its distance from light ones."""

    def recorded(step_ns: int, work_ns: int, late_ns: int) -> tuple[RawColumns, list[int]]:
        writer = Writer(np.random.default_rng(0), 10, with_python=False)
        for step in range(4):
            start = 1_000 + step * step_ns
            writer.add("aten::mm", EventKind.TorchOp, start + 10, start + 50, _MAIN)
            columns = {
                "correlation": step + 1,
                "track_id": writer.raw.strings.tracks[_MAIN],
                "name_id": writer.raw.strings.names["cudaLaunchKernel"],
            }
            writer.raw.append(
                1, kind=EventKind.Runtime, start_ns=start + 20, duration_ns=10, **columns
            )
            columns |= {
                "track_id": writer.raw.strings.tracks[_STREAM],
                "name_id": writer.raw.strings.names["gemm"],
            }
            writer.raw.append(
                1,
                kind=EventKind.Kernel,
                start_ns=start + late_ns,
                duration_ns=work_ns,
                **columns,
            )
        return writer.raw, [1_000 + step * step_ns for step in range(5)]

    light_raw, light_ends = recorded(1_000, 900, 1_500)
    light = light_steps(light_raw, [light_ends], _MAIN)
    assert light is not None
    full, ends = recorded(5_000, 700, 300)
    # What was launched before the first step is as late as what the step before launches.
    for first in (0, 1):
        times, _, table = _mapped(Copied(full), ends[first:], light)
        work = table["kind"] == EventKind.Kernel
        starts = np.array([start for start, _ in times.steps])
        expected = np.append(starts[:first] - 1_000, starts) + 1_500
        assert np.abs(table["start_ns"][work] - expected).max() <= 10
        assert np.abs(table["duration_ns"][work] - 900).max() <= 10


def test_work_that_no_step_launched_stays_behind_its_call() -> None:
    """Before, between and after steps; recording them in full made each step's beginning longer."""

    def recorded(longer_ns: int) -> tuple[RawColumns, list[int], list[int]]:
        writer = Writer(np.random.default_rng(0), 10, with_python=False)
        names, tracks = writer.raw.strings.names, writer.raw.strings.tracks
        starts, now = list[int](), 1_000
        for number in range(9):
            if number % 2:  # a step
                starts.append(now)
                now += longer_ns
            columns = {"correlation": number + 1, "duration_ns": 10}
            writer.add("aten::mm", EventKind.TorchOp, now, now + 50, _MAIN)
            kind, where = EventKind.Runtime, {"name_id": names["launch"], "track_id": tracks[_MAIN]}
            writer.raw.append(1, kind=kind, start_ns=now + 20, **columns, **where)
            kind, where = EventKind.Kernel, {"name_id": names["gemm"]}
            where["track_id"] = tracks[_STREAM]
            writer.raw.append(1, kind=kind, start_ns=now + 35, **columns, **where)
            now += 100
        return writer.raw, starts, [start + longer_ns + 100 for start in starts]

    light_raw, starts, ends = recorded(longer_ns=0)
    light = light_steps(light_raw, [list(each) for each in zip(starts, ends, strict=True)], _MAIN)
    assert light is not None
    full, starts, ends = recorded(longer_ns=2_000)
    table, flows = full.join()
    steps = list(zip(starts, ends, strict=True))
    times = time_map(table, flows, full.strings, steps, light, np.zeros(len(steps)))
    assert times is not None
    times.change(table, full.strings)
    kind = table["kind"]
    behind = (
        table["start_ns"][kind == EventKind.Kernel] - table["start_ns"][kind == EventKind.Runtime]
    )
    # Times that differ stay different, which may move them by as many nanoseconds as there are.
    assert np.abs(behind - 15).max() <= len(kind) * 2


def test_work_stays_with_its_call_where_steps_are_unlike() -> None:
    """Steps of as many rounds as a sequence is long, in which all kernels have one name."""

    def recorded(lengths: list[int], op_ns: int) -> tuple[RawColumns, list[int]]:
        writer = Writer(np.random.default_rng(0), 10, with_python=False)
        names, tracks = writer.raw.strings.names, writer.raw.strings.tracks
        correlation, now, ends = 0, 1_000, [1_000]
        for length in lengths:
            for name in ["aten::first", *["aten::mm"] * length, *["aten::tanh"] * length]:
                correlation += 1
                writer.add(name, EventKind.TorchOp, now, now + op_ns - 10, _MAIN)
                columns = {"correlation": correlation, "duration_ns": 10}
                at, where = now + op_ns // 2, {"track_id": tracks[_MAIN]}
                kind, name_id = EventKind.Runtime, names["launch"]
                writer.raw.append(1, kind=kind, start_ns=at, name_id=name_id, **columns, **where)
                kind, name_id, where = EventKind.Kernel, names["k"], {"track_id": tracks[_STREAM]}
                at += 15
                writer.raw.append(1, kind=kind, start_ns=at, name_id=name_id, **columns, **where)
                now += op_ns
            ends.append(now)
        return writer.raw, ends

    light_raw, light_ends = recorded([8, 9, 11], op_ns=100)
    light = light_steps(light_raw, [light_ends], _MAIN)
    assert light is not None
    _, _, table = _mapped(*recorded([10, 9, 10], op_ns=300), light)
    kind = table["kind"]
    order = np.argsort(table["correlation"][kind == EventKind.Kernel])
    work = table["start_ns"][kind == EventKind.Kernel][order]
    behind = work - table["start_ns"][kind == EventKind.Runtime]
    # The rounds that the other step lacks lie between those that it has, calls and work alike.
    assert behind.min() >= 0
    assert behind.max() <= 100


def test_work_of_a_stream_that_is_never_idle_is_paired() -> None:
    """A piece of work ends and the next begins at one moment there, and with a gap elsewhere."""

    def recorded(gap_ns: int) -> tuple[RawColumns, list[int]]:
        writer = Writer(np.random.default_rng(0), 10, with_python=False)
        names, tracks = writer.raw.strings.names, writer.raw.strings.tracks
        free_ns, ends = 5_000, [1_000]
        for number in range(1, 13):
            start = 1_000 * number
            columns = {"correlation": number, "duration_ns": 10, "track_id": tracks[_MAIN]}
            kind = EventKind.Runtime
            writer.add("aten::mm", EventKind.TorchOp, start + 1, start + 50, _MAIN)
            writer.raw.append(1, kind=kind, name_id=names["launch"], start_ns=start + 2, **columns)
            columns |= {"duration_ns": 1_500, "track_id": tracks[_STREAM]}
            kind, name_id = EventKind.Kernel, names[f"kernel{number % 3}"]
            writer.raw.append(1, kind=kind, name_id=name_id, start_ns=free_ns, **columns)
            free_ns += 1_500 + gap_ns
            if number % 3 == 0:
                ends.append(start + 1_000)
        return writer.raw, ends

    light_raw, light_ends = recorded(gap_ns=0)
    light = light_steps(light_raw, [light_ends], _MAIN)
    assert light is not None
    _, _, table = _mapped(*recorded(gap_ns=400), light)
    work = np.flatnonzero(table["kind"] == EventKind.Kernel)
    starts = light.table["start_ns"][light.table["kind"] == EventKind.Kernel]
    assert np.abs(table["start_ns"][work] - starts).max() <= len(table["kind"]) * 2


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
    known = light_steps(light.raw, [light_ends], _MAIN)
    assert known is not None
    table, flows = full.raw.join()
    steps = list(pairwise(ends))
    assert time_map(table, flows, full.raw.strings, steps, known, np.zeros(3)) is None


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
    known = light_steps(light.raw, [light.steps(nodes, 4)], _MAIN)
    assert known is not None
    known = replace(known, are_quickest=are_quickest)
    times, _, _ = _mapped(full.raw, ends, known, waited_ns)
    lengths = [end - start for start, end in times.steps]
    assert (lengths[-1] > 100_000) is is_kept
    assert max(lengths[:-1]) < 10_000


@pytest.mark.parametrize("are_quickest", [False, True])
def test_on_a_busy_machine_a_long_step_is_no_counterpart(are_quickest: bool) -> None:
    rng = np.random.default_rng(0)
    full, light = Writer(rng, 100, with_python=True), Writer(rng, 100, with_python=False)
    nodes = [Node(f"aten::{number}", []) for number in range(9)]
    ends = full.steps(nodes, 4)
    light_ends = light.steps(nodes, 4)
    light.now += 100_000
    light_ends[-1] = light.now
    known = light_steps(light.raw, [light_ends], _MAIN)
    assert known is not None
    times, _, _ = _mapped(full.raw, ends, replace(known, are_quickest=are_quickest))
    assert (3 in times.counterparts) is not are_quickest


def test_what_was_done_before_the_steps_stays_there() -> None:
    """A model is moved to the device by copies named like those of a step's batches."""
    writer = Writer(np.random.default_rng(0), 10, with_python=False)
    count = 0

    def launched(name: str, start: int) -> None:
        nonlocal count
        count += 1
        for each, kind, track, late in (
            ("cudaMemcpyAsync", EventKind.Runtime, _MAIN, 0),
            (name, EventKind.Memcpy, _STREAM, 5),
        ):
            writer.raw.append(
                1,
                kind=kind,
                start_ns=start + late,
                duration_ns=20,
                correlation=count,
                track_id=writer.raw.strings.tracks[track],
                name_id=writer.raw.strings.names[each],
            )

    for parameter in range(10):
        launched("Memcpy HtoD", 100 * parameter)
    ends = list(range(1_000_000, 1_006_000, 1_000))
    for start in ends[:-1]:
        writer.add("aten::to", EventKind.TorchOp, start + 5, start + 500, _MAIN)
        launched("Memcpy HtoD", start + 10)
        if start == ends[0]:  # what the first step alone has to set up
            launched("Memset", start + 100)
    light = light_steps(Copied(writer.raw), [ends[1:]], _MAIN)
    assert light is not None
    _, before, table = _mapped(Copied(writer.raw), ends[1:], light)
    work = table["kind"] == EventKind.Memcpy
    assert np.abs(table["start_ns"][work] - before["start_ns"][work]).max() <= 10


def test_what_was_done_long_before_stays_where_a_device_is_behind() -> None:
    """In light steps kernels run into the next step; before the full ones there was a pause."""

    def recorded(warm_up: int, begin: int) -> tuple[RawColumns, list[int]]:
        writer = Writer(np.random.default_rng(0), 10, with_python=False)
        names, tracks = writer.raw.strings.names, writer.raw.strings.tracks
        steps = [begin + 1_000 * number for number in range(6)]
        early = [1_000 * number for number in range(warm_up)]
        for number, start in enumerate([*early, *steps]):
            late = 900 if start in steps else 50
            writer.add("aten::mm", EventKind.TorchOp, start + 10, start + 400, _MAIN)
            columns = {"correlation": number + 1}
            kind, where = EventKind.Runtime, {"name_id": names["launch"], "track_id": tracks[_MAIN]}
            writer.raw.append(1, kind=kind, start_ns=start + 20, duration_ns=9, **columns, **where)
            kind, where = EventKind.Kernel, {"name_id": names["gemm"]}
            where["track_id"] = tracks[_STREAM]
            begun = start + 20 + late
            writer.raw.append(1, kind=kind, start_ns=begun, duration_ns=300, **columns, **where)
        return writer.raw, [*steps, begin + 6_000]

    light_raw, light_ends = recorded(0, 0)
    light = light_steps(light_raw, [light_ends], _MAIN)
    assert light is not None
    full, ends = recorded(8, 1_000_000)
    _, before, table = _mapped(full, ends, light)
    early = (table["kind"] == EventKind.Kernel) & (before["start_ns"] < 7_000)
    assert np.count_nonzero(early) == 7
    assert np.abs(table["start_ns"][early] - before["start_ns"][early]).max() <= len(early)
