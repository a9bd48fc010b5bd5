"""What devices did in steps recorded in full, with the times of those recorded lightly."""

from __future__ import annotations

import numpy as np

from tidy.retiming.light import light_steps
from tidy.retiming.time_map import time_map
from tidy.trace.kinds import EventKind
from tidy.trace.raw_columns import RawColumns

from .test_time_map import MAIN, STREAM, Copied, Writer, mapped


def test_device_work_is_of_the_step_that_launched_it() -> None:
    """It runs late, in the steps after, and takes its length and its distance from light ones."""

    def recorded(step_ns: int, work_ns: int, late_ns: int) -> tuple[RawColumns, list[int]]:
        writer = Writer(np.random.default_rng(0), 10, with_python=False)
        for step in range(4):
            start = 1_000 + step * step_ns
            writer.add("aten::mm", EventKind.TorchOp, start + 10, start + 50, MAIN)
            columns = {
                "correlation": step + 1,
                "track_id": writer.raw.strings.tracks[MAIN],
                "name_id": writer.raw.strings.names["cudaLaunchKernel"],
            }
            writer.raw.append(
                1, kind=EventKind.Runtime, start_ns=start + 20, duration_ns=10, **columns
            )
            columns |= {
                "track_id": writer.raw.strings.tracks[STREAM],
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
    light = light_steps(light_raw, [light_ends], MAIN)
    assert light is not None
    full, ends = recorded(5_000, 700, 300)
    # What was launched before the first step is as late as what the step before launches.
    for first in (0, 1):
        times, _, table = mapped(Copied(full), ends[first:], light)
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
            writer.add("aten::mm", EventKind.TorchOp, now, now + 50, MAIN)
            kind, where = EventKind.Runtime, {"name_id": names["launch"], "track_id": tracks[MAIN]}
            writer.raw.append(1, kind=kind, start_ns=now + 20, **columns, **where)
            kind, where = EventKind.Kernel, {"name_id": names["gemm"]}
            where["track_id"] = tracks[STREAM]
            writer.raw.append(1, kind=kind, start_ns=now + 35, **columns, **where)
            now += 100
        return writer.raw, starts, [start + longer_ns + 100 for start in starts]

    light_raw, starts, ends = recorded(longer_ns=0)
    light = light_steps(light_raw, [list(each) for each in zip(starts, ends, strict=True)], MAIN)
    assert light is not None
    full, starts, ends = recorded(longer_ns=2_000)
    table, flows = full.join()
    steps = list(zip(starts, ends, strict=True))
    times = time_map(table, flows, full.strings, steps, light, *np.zeros((2, len(steps))))
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
                writer.add(name, EventKind.TorchOp, now, now + op_ns - 10, MAIN)
                columns = {"correlation": correlation, "duration_ns": 10}
                at, where = now + op_ns // 2, {"track_id": tracks[MAIN]}
                kind, name_id = EventKind.Runtime, names["launch"]
                writer.raw.append(1, kind=kind, start_ns=at, name_id=name_id, **columns, **where)
                kind, name_id, where = EventKind.Kernel, names["k"], {"track_id": tracks[STREAM]}
                at += 15
                writer.raw.append(1, kind=kind, start_ns=at, name_id=name_id, **columns, **where)
                now += op_ns
            ends.append(now)
        return writer.raw, ends

    light_raw, light_ends = recorded([8, 9, 11], op_ns=100)
    light = light_steps(light_raw, [light_ends], MAIN)
    assert light is not None
    _, _, table = mapped(*recorded([10, 9, 10], op_ns=300), light)
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
            columns = {"correlation": number, "duration_ns": 10, "track_id": tracks[MAIN]}
            kind = EventKind.Runtime
            writer.add("aten::mm", EventKind.TorchOp, start + 1, start + 50, MAIN)
            writer.raw.append(1, kind=kind, name_id=names["launch"], start_ns=start + 2, **columns)
            columns |= {"duration_ns": 1_500, "track_id": tracks[STREAM]}
            kind, name_id = EventKind.Kernel, names[f"kernel{number % 3}"]
            writer.raw.append(1, kind=kind, name_id=name_id, start_ns=free_ns, **columns)
            free_ns += 1_500 + gap_ns
            if number % 3 == 0:
                ends.append(start + 1_000)
        return writer.raw, ends

    light_raw, light_ends = recorded(gap_ns=0)
    light = light_steps(light_raw, [light_ends], MAIN)
    assert light is not None
    _, _, table = mapped(*recorded(gap_ns=400), light)
    work = np.flatnonzero(table["kind"] == EventKind.Kernel)
    starts = light.table["start_ns"][light.table["kind"] == EventKind.Kernel]
    assert np.abs(table["start_ns"][work] - starts).max() <= len(table["kind"]) * 2


def test_what_was_done_before_the_steps_stays_there() -> None:
    """A model is moved to the device by copies named like those of a step's batches."""
    writer = Writer(np.random.default_rng(0), 10, with_python=False)
    count = 0

    def launched(name: str, start: int) -> None:
        nonlocal count
        count += 1
        for each, kind, track, late in (
            ("cudaMemcpyAsync", EventKind.Runtime, MAIN, 0),
            (name, EventKind.Memcpy, STREAM, 5),
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
        writer.add("aten::to", EventKind.TorchOp, start + 5, start + 500, MAIN)
        launched("Memcpy HtoD", start + 10)
        if start == ends[0]:  # what the first step alone has to set up
            launched("Memset", start + 100)
    light = light_steps(Copied(writer.raw), [ends[1:]], MAIN)
    assert light is not None
    _, before, table = mapped(Copied(writer.raw), ends[1:], light)
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
            writer.add("aten::mm", EventKind.TorchOp, start + 10, start + 400, MAIN)
            columns = {"correlation": number + 1}
            kind, where = EventKind.Runtime, {"name_id": names["launch"], "track_id": tracks[MAIN]}
            writer.raw.append(1, kind=kind, start_ns=start + 20, duration_ns=9, **columns, **where)
            kind, where = EventKind.Kernel, {"name_id": names["gemm"]}
            where["track_id"] = tracks[STREAM]
            begun = start + 20 + late
            writer.raw.append(1, kind=kind, start_ns=begun, duration_ns=300, **columns, **where)
        return writer.raw, [*steps, begin + 6_000]

    light_raw, light_ends = recorded(0, 0)
    light = light_steps(light_raw, [light_ends], MAIN)
    assert light is not None
    full, ends = recorded(8, 1_000_000)
    _, before, table = mapped(full, ends, light)
    early = (table["kind"] == EventKind.Kernel) & (before["start_ns"] < 7_000)
    assert np.count_nonzero(early) == 7
    assert np.abs(table["start_ns"][early] - before["start_ns"][early]).max() <= len(early)
