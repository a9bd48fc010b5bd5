"""Calls that free memory wait for the device, also where a fix leaves it more to do by then."""

from __future__ import annotations

import numpy as np
import pytest

from tidy.patterns.examples import launch, on_gpu, steps
from tidy.savings import Edit, Savings
from tidy.savings.graph import build_graph
from tidy.trace.outline import parse_outline

_WORK = launch("aten::mm", "gemm 700us")


def _saved_us(*parts: str, waits: str = "cudaStreamSynchronize") -> list[float]:
    """What a step of 990 us is shorter without the waits of this name."""
    trace = parse_outline(on_gpu(steps(*parts, count=5, lasts_us=990)))
    savings = Savings(trace, trace.window.step_ranges, 0)
    assert savings.fidelity.p90_error < 0.001
    edit = Edit("no wait", waits=trace.rows_named(waits))
    return list(savings.saved([edit])[1] / 1000)


@pytest.mark.parametrize(
    ("call", "waits"),
    [("cudaFree", True), ("hipFree", True), ("cudaMalloc", False), ("cudaFreeAsync", False)],
)
def test_a_free_after_a_wait_that_goes_waits_instead(call: str, waits: bool) -> None:
    """The kernel of 700 us ends before the free begins, and without the wait long after that."""
    saved_us = _saved_us(_WORK, "cudaStreamSynchronize 705us", f"{call} 50us", "aten::sort 100us")
    assert (max(saved_us) < 10) == waits
    assert (min(saved_us) > 150) == (not waits)


def test_a_free_that_waited_goes_on_when_its_wait_is_gone() -> None:
    saved_us = _saved_us("aten::sort 100us", _WORK, "cudaFree 750us", waits="cudaFree")
    assert min(saved_us) > 150


def test_a_free_before_any_work_waits_for_none() -> None:
    trace = parse_outline(on_gpu(steps("cudaFree 50us", _WORK, count=1, lasts_us=990)))
    graph = build_graph(trace, np.array(trace.window.step_ranges).ravel().tolist(), 0)
    assert graph.waits_for.max() < 0
    none = parse_outline(on_gpu(steps("cudaFree 50us", "aten::sort 9us", count=2)))
    assert build_graph(none, [0], 0).waits_for.max() < 0
