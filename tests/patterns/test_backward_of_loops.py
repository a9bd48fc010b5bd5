"""What a loop costs: its rounds, and the backward of what they computed."""

from __future__ import annotations

import pytest

import tidy
import tidy.runtime as rt
from tidy import Finding, Trace
from tidy.profiler import profile

_COUNT = 32
_NODES = ("SelectBackward0", "SliceBackward0", "MulBackward0")


def _recorded(is_sliced: bool, has_backward: bool) -> Trace:
    rows = rt.ones(_COUNT, 8, requires_grad=True)
    with profile(record_shapes=True, with_stack=True) as prof:
        outs = [(rows[i : i + 1] if is_sliced else rows[i]).mul(2) for i in range(_COUNT)]
        loss = rt.stack(outs).sum()
        if has_backward:
            loss.backward()
    return prof.trace


def _found(trace: Trace, code: str) -> Finding:
    (found,) = tidy.check(trace, select=[code]).findings
    return found


@pytest.mark.parametrize(("code", "is_sliced"), [("TDY404", False), ("TDY406", True)])
def test_the_backward_of_a_loop_is_part_of_it(code: str, is_sliced: bool) -> None:
    trace = _recorded(is_sliced, has_backward=True)
    found = _found(trace, code)
    nodes = [
        event
        for name in _NODES
        for event in trace.named(f"autograd::engine::evaluate_function: {name}")
    ]
    assert len(nodes) == 2 * _COUNT
    least_ns = sum(node.duration_ns for node in nodes)
    assert found.cost_ns > least_ns
    assert found.edit is not None
    assert sum(time.total_ns for time in found.edit.host.values()) == found.cost_ns


@pytest.mark.parametrize(("code", "is_sliced"), [("TDY404", False), ("TDY406", True)])
def test_without_a_backward_it_is_its_rounds(code: str, is_sliced: bool) -> None:
    trace = _recorded(is_sliced, has_backward=False)
    stack = next(iter(trace.named("aten::stack")))
    found = _found(trace, code)
    assert 0 < found.cost_ns <= stack.start_ns - next(iter(found.events)).start_ns
