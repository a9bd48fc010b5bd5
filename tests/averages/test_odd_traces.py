"""Traces that are damaged, deep or strange."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidy.trace import EventKind

from ..conftest import ReadEvents
from ..trace.kineto import frame, mark, op

_DAMAGED: list[Any] = [
    [["a", 3], [3, "b"]],
    [[1e999, 3], [3, 4]],
    [[2**40, 2**40], [2**40, 2**40]],
    [[3, 4], 7],
    [None, {}],
    "words",
    [[-3, 4], [4, 5]],
]


@pytest.mark.parametrize("dims", _DAMAGED, ids=str)
def test_shapes_that_cannot_be(dims: Any, read_events: ReadEvents) -> None:
    args = {"Input Dims": dims, "Concrete Inputs": ["[" * 5000, None]}
    events = [op(name, i, 0.5, args=args) for i, name in enumerate(("aten::mm", "aten::conv2d"))]
    averages = read_events(events, with_flops=1).key_averages(group_by_input_shape=True)
    assert [average.flops for average in averages] == [0, 0]
    assert averages.table().splitlines()[-1] == "Self CPU time total: 1.000us"


def test_deep_stacks(read_events: ReadEvents, tmp_path: Path) -> None:
    depth = 1500
    events = [frame(f"a.py({i + 1}): f{i}", i, 2 * depth - 2 * i) for i in range(depth)]
    trace = read_events([*events, op("aten::mm", depth, 0.5)])
    averages = trace.key_averages(group_by_stack_n=2)
    assert len(averages) == depth + 1
    assert averages[-1].stack == ["a.py(1500): f1499", "a.py(1499): f1498"]
    path = tmp_path / "stacks.txt"
    trace.export_stacks(path)
    assert max(line.count(";") for line in path.read_text("utf-8").splitlines()) == depth - 1


def test_a_deep_chain_of_one_name_is_one_row(read_events: ReadEvents) -> None:
    events = [op("aten::sum", i, 2000 - 2 * i) for i in range(900)]
    (average,) = read_events(events).key_averages()
    assert (average.count, average.self_cpu_time_total) == (1, 2000)


def test_an_event_that_ends_where_the_one_around_it_ends(read_events: ReadEvents) -> None:
    """It is a child; one without duration there is not."""
    trace = read_events([op("a", 0, 10), op("b", 5, 5), mark("c", 10, 0)])
    parents = {e.name: e.cpu_parent and e.cpu_parent.name for e in trace.function_events}
    assert parents == {"a": None, "b": "a", "c": None}


def test_kinds_without_a_row(read_events: ReadEvents) -> None:
    """Markers of the profiler are none; whatever else there is counts once."""
    events = [op("a", 0, 10), {**op("Iteration", 0, 99), "cat": "Trace"}]
    trace = read_events(events)
    assert len(trace) == 2
    assert [event.event.kind for event in trace.function_events] == [EventKind.TorchOp]
