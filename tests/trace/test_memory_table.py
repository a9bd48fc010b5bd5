"""What `[memory]` events say of addresses and totals, against the JSON and against itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tidy.runtime as rt
from tidy import load
from tidy.profiler import profile
from tidy.runtime import cuda
from tidy.trace import Trace

from ..conftest import ReadEvents
from ..oracle.shared import decoded, path_of
from ..profiler.workloads import mlp
from .kineto import Written, mark, op


def _memory(ts: float, **args: Any) -> Written:
    place = {"pid": 1, "tid": 1, "ts": ts, "s": "t", "ph": "i", "cat": "cpu_instant_event"}
    return {**place, "name": "[memory]", "args": args}


def test_each_entry_is_of_its_row(read_events: ReadEvents) -> None:
    """Events come in any order; the tree is laid out before them, and rows follow time."""
    known = {"Device Type": 1, "Device Id": 0}
    trace = read_events(
        [
            _memory(30, Bytes=-5, Addr=7, **known, **{"Total Allocated": 0, "Total Reserved": 64}),
            op("aten::mm", 1, 40),
            _memory(3, Bytes=9, Addr=8, **{"Device Type": 0, "Device Id": -1}),
            _memory(20, Bytes=5, Addr=7, **known, **{"Total Allocated": 5, "Total Reserved": 64}),
            mark("ProfilerStep#1", 0.5, 50),
        ]
    )
    memory = trace.memory
    assert trace.start_ns[memory.row].tolist() == [3_000, 20_000, 30_000]
    assert trace.nbytes[memory.row].tolist() == [9, 5, -5]
    assert trace.device[memory.row].tolist() == [-1, 0, 0]
    assert memory.address.tolist() == [8, 7, 7]
    assert memory.allocated_nbytes.tolist() == [-1, 5, 0]
    assert memory.reserved_nbytes.tolist() == [-1, 64, 64]
    assert [event.parent and event.parent.name for event in trace.events(memory.row)] == (
        ["aten::mm"] * 3
    )
    assert memory.of([int(memory.row[1])]).allocated_nbytes.tolist() == [5]
    with pytest.raises(ValueError, match="read-only"):
        memory.address[0] = 1


def test_a_trace_without_memory_has_none(read_events: ReadEvents) -> None:
    assert len(read_events([op("aten::mm", 1, 2)]).memory) == 0


def _naive(path: Path) -> list[tuple[int, ...]]:
    """Bytes, address and totals by the standard library, by time and then as they come."""
    document = decoded(path)
    events = document["traceEvents"] if isinstance(document, dict) else document
    keys = {"Bytes": 0, "Addr": 0, "Total Allocated": -1, "Total Reserved": -1}
    found = [
        (float(event["ts"]), *(event["args"].get(key, default) for key, default in keys.items()))
        for event in events
        if event.get("name") in ("[memory]", "[OutOfMemory]")
    ]
    return [tuple(rest) for _, *rest in sorted(found, key=lambda each: each[0])]


@pytest.mark.parametrize(
    "start",
    [
        "kineto__resnet50_num_workers_4",
        "misc__particle_transformer",
        "tracelens__h100__facebook_timesformer",
        "tracelens__mi300__Falconsai_nsfw_image_detection",
        "train_sched_bad_cycle0",
    ],
)
def test_recorded_traces(start: str) -> None:
    trace = load(path_of(start))
    memory = trace.memory
    columns = (
        trace.nbytes[memory.row],
        memory.address,
        memory.allocated_nbytes,
        memory.reserved_nbytes,
    )
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == _naive(
        path_of(start)
    )


def _adds_up(trace: Trace) -> None:
    """Each total is the one before and what was taken or given back; an allocator holds it all."""
    memory = trace.memory
    for device in np.unique(trace.device[memory.row]).tolist():
        own = trace.device[memory.row] == device
        allocated = memory.allocated_nbytes[own]
        assert np.diff(allocated).tolist() == trace.nbytes[memory.row[own]][1:].tolist()
        if device >= 0:
            assert (memory.reserved_nbytes[own] >= allocated).all()


@pytest.mark.parametrize("name", ["tracelens__h100__Qwen_Qwen1.5-0.5B-Chat", "misc__sidnb13"])
def test_totals_of_recorded_traces_add_up(name: str) -> None:
    _adds_up(load(path_of(name)))


@pytest.fixture
def on_t4() -> Any:
    cuda.configure("t4", 1)
    yield
    cuda.configure(None)


def _train(device: str) -> None:
    model = mlp() if device == "cpu" else mlp().to(device)
    for _ in range(3):
        model(rt.ones(2, 4, device=device)).sum().backward()


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_what_is_exported_has_the_same(device: str, tmp_path: Path, on_t4: None) -> None:
    with profile(profile_memory=True) as prof:
        _train(device)
    prof.export_chrome_trace(tmp_path / "trace.json")
    live, read = prof.trace, load(tmp_path / "trace.json")
    assert len(live.memory) > 5
    # The file has a row for the whole recording as well, before which no event begins.
    assert (live.memory.row + 1).tolist() == read.memory.row.tolist()
    for name in ("address", "allocated_nbytes", "reserved_nbytes"):
        assert getattr(live.memory, name).tolist() == getattr(read.memory, name).tolist()
    _adds_up(live)
