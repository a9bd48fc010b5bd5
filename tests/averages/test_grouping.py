"""Grouping by shapes and by stacks."""

from __future__ import annotations

from typing import Any

from ..conftest import ReadEvents
from ..trace.kineto import frame, op


def _shaped(name: str, ts: float, dims: list[Any], **more: Any) -> dict[str, Any]:
    return op(name, ts, 5, args={"Input Dims": dims, **more})


def test_a_row_for_each_combination_of_shapes(read_events: ReadEvents) -> None:
    """A list of tensors shows as [], as in PyTorch; without grouping there are no shapes."""
    events = [
        _shaped("aten::add", 0, [[4, 3], [3], []]),
        _shaped("aten::add", 10, [[2, 3], [3], []]),
        _shaped("aten::add", 20, [[4, 3], [3], []]),
        _shaped("aten::cat", 30, [[[4, 3], [4, 3]], []]),
        op("aten::none", 40, 5),
    ]
    trace = read_events(events)
    rows = [(e.key, e.input_shapes, e.count) for e in trace.key_averages(group_by_input_shape=True)]
    assert rows == [
        ("aten::add", [[4, 3], [3], []], 2),
        ("aten::add", [[2, 3], [3], []], 1),
        ("aten::cat", [[], []], 1),
        ("aten::none", [], 1),
    ]
    assert [(e.input_shapes, e.count) for e in trace.key_averages()] == [("", 3), ("", 1), ("", 1)]
    assert "Input Shapes" in trace.key_averages(True).table()
    assert "Input Shapes" not in trace.table()


def test_a_row_for_each_combination_of_frames(read_events: ReadEvents) -> None:
    events = [
        frame("train.py(1): main", 0, 100),
        frame("train.py(9): left", 10, 20),
        op("aten::mm", 12, 5),
        frame("train.py(20): right", 40, 20),
        op("aten::mm", 42, 6),
        op("aten::mm", 50, 1),
        op("aten::mm", 80, 2),
    ]
    trace = read_events(events)
    products = [
        (e.stack, e.count) for e in trace.key_averages(group_by_stack_n=1) if e.key == "aten::mm"
    ]
    assert products == [
        (["train.py(9): left"], 1),
        (["train.py(20): right"], 2),
        (["train.py(1): main"], 1),
    ]
    deep = [e.stack for e in trace.key_averages(group_by_stack_n=9) if e.key == "aten::mm"]
    assert deep[0] == ["train.py(9): left", "train.py(1): main"]
    table = trace.key_averages(group_by_stack_n=2).table(max_src_column_width=12)
    lines = [line.rstrip() for line in table.splitlines()]
    assert any(line.endswith("...(9): left") for line in lines)
    assert trace.key_averages()[0].stack == []


def test_the_stacks_of_old_files(read_events: ReadEvents) -> None:
    stacks = ["train.py(3): step;train.py(9): main", "train.py(4): step;train.py(9): main"]
    events = [op("aten::mm", 10 * i, 5, args={"Call stack": s}) for i, s in enumerate(stacks)]
    rows = read_events(events).key_averages(group_by_stack_n=2)
    assert [e.stack for e in rows] == [s.split(";") for s in stacks]


def test_a_backward_op_has_the_stack_of_its_forward(read_events: ReadEvents) -> None:
    """The engine runs on another thread, where no Python frame is."""
    backward = {"Sequence number": 4, "Fwd thread id": 1}
    name = "AddmmBackward0"
    ops = [
        frame("train.py(1): main", 0, 100),
        frame("model.py(5): forward", 10, 20),
        op("aten::addmm", 12, 5, args={"Sequence number": 4}),
        op(f"autograd::engine::evaluate_function: {name}", 50, 20, tid=2, args=backward),
        op(name, 52, 15, tid=2, args=backward),
        op("aten::mm", 55, 5, tid=2),
    ]
    source, target = ops[2], ops[3]
    arrows = [
        {"ph": phase, "cat": "fwdbwd", "name": "fwdbwd", "id": 1, "pid": 1, "tid": at["tid"],
         "ts": at["ts"]}
        for phase, at in (("s", source), ("f", target))
    ]  # fmt: skip
    stacks = {event.name: event.stack for event in read_events([*ops, *arrows]).function_events}
    forward = ["model.py(5): forward", "train.py(1): main"]
    assert stacks["aten::addmm"] == forward
    assert stacks[name] == forward
    assert stacks["aten::mm"] == forward
