"""Calls under stacks deeper than any program's, and on more threads than any job's."""

from __future__ import annotations

import pytest

from tidy.trace import EventKind

from ..conftest import ReadEvents
from .kineto import call, op


def callers(trace):
    """The name of the op that each call ran in, by the call's start."""
    calls = trace.of_kind(EventKind.Runtime)
    return [c.parent.name if c.parent is not None else None for c in calls]


@pytest.mark.parametrize("depth", [10, 31, 33, 5000])
def test_the_innermost_op_that_is_still_open(read_events: ReadEvents, depth: int) -> None:
    """Op d is open from d to 2 * depth - d, so at depth + t it is op depth - t."""
    ops = [op(f"aten::op{d}", d, 2 * (depth - d)) for d in range(depth)]
    times = [1, 2, depth // 2, depth - 1, depth, depth + 1]
    calls = [call("cudaLaunchKernel", depth + t + 0.5, 0.1, t) for t in times]
    trace = read_events([*ops, *calls], deviceProperties=[{"id": 0}])
    expected = [f"aten::op{depth - t - 1}" if t < depth else None for t in times]
    assert callers(trace) == expected


def test_each_thread_has_its_own(read_events: ReadEvents) -> None:
    threads = range(1, 3000)
    ops = [op(f"aten::op{t}", 10, 10, tid=t) for t in threads if t % 3]
    calls = [call("cudaLaunchKernel", 12 + t / 1000, 0.1, t, tid=t) for t in threads]
    trace = read_events([*ops, *calls], deviceProperties=[{"id": 0}])
    assert callers(trace) == [f"aten::op{t}" if t % 3 else None for t in threads]
