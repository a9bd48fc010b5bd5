"""Allocations, frees and their totals, against what numpy itself holds."""

from __future__ import annotations

import gc
import json
import weakref
from pathlib import Path
from typing import Any

import pytest

import tidy.runtime as rt
from tidy.profiler import profile
from tidy.trace.kinds import EventKind

from .workloads import WORKLOADS, mlp


def changes(prof: profile) -> list[int]:
    return [e.nbytes for e in prof.trace.of_kind(EventKind.Allocation)]


def test_each_array_counts_once() -> None:
    with profile(profile_memory=True) as prof:
        x = rt.zeros(10)
        y = x + 1  # 40 bytes
        z = (y * 2).t()  # a view of 40 more
        del x
        z = None  # noqa: F841
    assert changes(prof) == [40, 40, 40, -40, -40]
    assert sum(changes(prof)) == y.array.nbytes


def test_in_place_operators_and_views_allocate_nothing() -> None:
    x = rt.zeros(10)
    with profile(profile_memory=True) as prof:
        x.add_(1)
        x[2:5] = 1
        x.view(5, 2).t().detach()
        x.requires_grad_(False).data  # noqa: B018
    assert changes(prof) == []


def test_what_was_there_before_is_neither_allocated_nor_freed() -> None:
    x, y = rt.zeros(10), rt.zeros(10)
    with profile(profile_memory=True) as prof:
        x.add_(1)
        y.view(2, 5)
        del x, y
        gc.collect()
    assert changes(prof) == []


def test_gradients_that_are_added_to_are_not_allocated_again() -> None:
    model = mlp()
    model(rt.ones(2, 4)).sum().backward()
    with profile(profile_memory=True) as prof:
        model(rt.ones(2, 4)).sum().backward()
    gc.collect()
    assert sum(changes(prof)) == 0


def test_gradients_are_alive_after_backward() -> None:
    model = mlp()
    with profile(profile_memory=True) as prof:
        model(rt.ones(2, 4)).sum().backward()
    assert sum(changes(prof)) == sum(p.grad.array.nbytes for p in model.parameters())


def test_what_is_saved_for_backward_is_freed_with_the_graph() -> None:
    x = rt.ones(100, requires_grad=True)
    with profile(profile_memory=True) as prof:
        y = x.exp().exp().exp().sum()
        held = sum(changes_so_far(prof))
        y.backward()
        del y
    assert held == 3 * 400 + 4
    assert sum(changes(prof)) == x.grad.array.nbytes


def changes_so_far(prof: profile) -> list[int]:
    found: Any = prof._capture
    return [change[3] for change in found.memory.changes]


def test_totals_run_with_the_changes(tmp_path: Path) -> None:
    with profile(profile_memory=True) as prof:
        WORKLOADS["training"]()
    prof.export_chrome_trace(tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text("utf-8"))["traceEvents"]
    total, alive = 0, {}
    for event in (e for e in events if e["name"] == "[memory]"):
        args = event["args"]
        total += args["Bytes"]
        assert args["Total Allocated"] == total >= 0
        if args["Bytes"] > 0:
            assert args["Addr"] not in alive
            alive[args["Addr"]] = args["Bytes"]
        else:
            assert alive.pop(args["Addr"]) == -args["Bytes"]
    assert total == sum(alive.values())


def test_out_of_memory() -> None:
    with (
        profile(profile_memory=True) as prof,
        pytest.raises((MemoryError, RuntimeError)),
    ):
        rt.ones(1 << 24, 1 << 22)
    (found,) = prof.trace.of_kind(EventKind.OutOfMemory)
    assert found.nbytes == 4 << 46
    assert changes(prof) == []


@pytest.mark.parametrize("stacks", [False, True])
def test_the_recorder_keeps_no_tensor(stacks: bool) -> None:
    """Up to Python 3.12 a frame that is profiled keeps its locals, and some after they are gone."""

    def train() -> list[weakref.ref[Any]]:
        x = rt.ones(5, requires_grad=True)
        y = x.exp()
        refs = [weakref.ref(t.array) for t in (x, y)]
        with rt.record_function("range"):
            y.sum().backward()
        return [*refs, weakref.ref(x.grad.array)]

    with profile(record_shapes=True, with_stack=stacks, profile_memory=True) as prof:
        refs = train()
        gc.collect()
        assert all(ref() is None for ref in refs)
    assert len(changes(prof)) >= 6


@pytest.mark.parametrize("name", ["training", "threads_at_once", "loader"])
def test_nothing_is_added_after_the_end(name: str) -> None:
    kept = rt.ones(3) + 1
    with profile(record_shapes=True, with_stack=True, profile_memory=True) as prof:
        recorder: Any = prof._capture
        kept = kept + 1
        WORKLOADS[name]()
    functions = recorder.python_records, recorder.python.records
    lists = (recorder.records, *functions, recorder.memory.changes)
    before = [len(each) for each in lists]
    del kept
    WORKLOADS[name]()
    assert [len(each) for each in lists] == before
