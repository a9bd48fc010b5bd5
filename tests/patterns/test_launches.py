"""What columns tell of many rows is what the tree tells of each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tidy
from tidy.patterns.evidence.device import launches
from tidy.patterns.evidence.device.copies import copy_rows
from tidy.trace import EventKind, Trace

_TRACES = Path(__file__).parents[2] / "examples" / "traces"


@pytest.fixture(scope="module", params=["train_cnn", "train_half"])
def trace(request: pytest.FixtureRequest) -> Trace:
    return tidy.load(_TRACES / f"{request.param}.json.gz")


def test_the_op_that_python_called(trace: Trace) -> None:
    ops = trace.rows_of_kind(EventKind.TorchOp)
    expected = [launches.outermost_op(op).row for op in trace.events(ops)]
    assert launches.outermost_op_rows(trace, ops).tolist() == expected
    assert expected != ops.tolist(), "some are in another"


@pytest.mark.parametrize("kind", [EventKind.Kernel, EventKind.Memcpy])
def test_what_launches_work(trace: Trace, kind: EventKind) -> None:
    rows, work = np.arange(trace.tree_count), trace.rows_of_kind(kind)
    expected = [any(each.kind == kind for each in event.kernels) for event in trace.events(rows)]
    assert launches.launches_any(trace, rows, work).tolist() == expected


def test_the_work_of_ops_that_hold_no_other(trace: Trace) -> None:
    ops = launches.innermost_rows(trace, launches.tree_rows(trace, "aten::*"))
    assert not set(ops.tolist()) & set(trace.parent[ops].tolist())
    expected = [row for op in trace.events(ops) for row in launches.work_or_op(op)]
    assert sorted(launches.work_or_ops(trace, ops).tolist()) == sorted(expected)


def test_the_ops_around_all_rows(trace: Trace) -> None:
    rows = np.arange(trace.tree_count)
    assert launches.ops_around_all(trace).tolist() == launches.ops_around(trace, rows).tolist()


@pytest.mark.parametrize("skipped", ["aten::nothing", "aten::add_", "aten::*"])
def test_the_op_after_each(trace: Trace, skipped: str) -> None:
    rows, is_skipped = np.arange(trace.tree_count), np.zeros(trace.tree_count, bool)
    is_skipped[launches.tree_rows(trace, skipped)] = True
    after = (
        next((op.row for op in launches.ops_after(event) if not is_skipped[op.row]), -1)
        for event in trace.events(rows)
    )
    assert launches.op_after_each(trace, rows, is_skipped).tolist() == list(after)


def test_copies_in_a_direction(trace: Trace) -> None:
    copies = trace.of_kind(EventKind.Memcpy)
    assert copy_rows(trace, "HtoD").tolist() == [c.row for c in copies if "HtoD" in c.name]
