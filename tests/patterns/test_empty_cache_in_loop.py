"""TDY802: which calls of the driver are due to empty_cache."""

from __future__ import annotations

import pytest

import tidy
from tidy import Severity
from tidy.finding import Checked, NotChecked

from ..conftest import ReadEvents
from ..trace.kineto import Written, call, frame, kernel, mark, op

_STEP_US = 1000


def _steps(count: int) -> list[Written]:
    """Steps of 1,000 us under one frame of the user's, each with a kernel."""
    written = [frame("train.py(7): train", 0, count * _STEP_US + 9), op("aten::mm", 2, 1)]
    for number in range(count):
        start = number * _STEP_US + 1
        written += [mark(f"ProfilerStep#{number}", start, _STEP_US - 1)]
        written += [kernel("gemm", start + 500, 9)]
    return written


def _emptied(step: int, free_us: float, where: str = "torch/cuda/memory.py") -> list[Written]:
    """`empty_cache` near the end of a step."""
    start = step * _STEP_US + 700
    return [
        frame(f"{where}(233): empty_cache", start, free_us + 2),
        call("cudaFree", start + 1, free_us, 100 + step),
    ]


def _malloc(step: int, us: float) -> Written:
    return call("cudaMalloc", step * _STEP_US + 100, us, 200 + step)


@pytest.mark.parametrize(("free_us", "severity"), [(1, Severity.INFO), (18, Severity.WARNING)])
def test_by_the_share_of_the_step(
    read_events: ReadEvents, free_us: float, severity: Severity
) -> None:
    written = _steps(3) + [e for i in range(3) for e in _emptied(i, free_us)]
    (finding,) = tidy.check(read_events(written), select=["TDY802"]).findings
    assert (finding.count, finding.severity) == (3, severity)
    assert str(finding.location) == "train.py:7"


def test_allocations_of_the_next_step_count(read_events: ReadEvents) -> None:
    """Not those before the first call, and not those two steps after the last."""
    written = _steps(5) + _emptied(1, 20) + _emptied(2, 20)
    written += [_malloc(step, 50) for step in (0, 2, 3, 4)]
    (finding,) = tidy.check(read_events(written), select=["TDY802"]).findings
    assert finding.cost_ns == (22 + 22 + 50 + 50) * 1000 / 5
    assert "in 2 steps" in finding.message
    assert "4 calls" in finding.message


@pytest.mark.parametrize(
    ("where", "said"), [("torch/accelerator/memory.py", True), ("mylib/cuda/memory.py", False)]
)
def test_whose_empty_cache(read_events: ReadEvents, where: str, said: bool) -> None:
    written = _steps(3) + _emptied(0, 20, where) + _emptied(1, 20, where)
    assert bool(tidy.check(read_events(written), select=["TDY802"]).findings) is said


def test_one_step_is_no_loop(read_events: ReadEvents) -> None:
    trace = read_events(_steps(3) + _emptied(1, 200))
    assert tidy.check(trace).outcomes["TDY802"] == Checked()


def test_without_steps_there_is_no_loop_to_see(read_events: ReadEvents) -> None:
    written = [op("aten::mm", 2, 1), kernel("gemm", 3, 9), *_emptied(0, 20), *_emptied(1, 20)]
    assert isinstance(tidy.check(read_events(written)).outcomes["TDY802"], NotChecked)
