"""TDY801: calls for memory after the first step."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tidy
from tidy import Severity
from tidy.finding import NotChecked
from tidy.patterns.examples import launch, on_gpu, steps
from tidy.trace.outline import parse_outline

from ..conftest import ReadEvents
from ..oracle.shared import TRACES, decoded, findings, path_of, report, text_of
from ..trace.kineto import Written, call, frame, kernel, mark, op

_STEP_US = 1000


def _steps(count: int, call_us: dict[int, float], name: str = "cudaMalloc") -> list[Written]:
    """Steps of 1,000 us; in some of them one call for memory."""
    written = [op("aten::mm", 2, 1)]
    for number in range(count):
        start = number * _STEP_US + 1
        written += [mark(f"ProfilerStep#{number}", start, _STEP_US - 1)]
        written += [kernel("gemm", start + 500, 9)]
        if number in call_us:
            written += [call(name, start + 100, call_us[number], 50 + number)]
    return written


def _severities(trace: tidy.Trace) -> list[Severity]:
    """As the rule itself has it; a replay has the last word in a report."""
    return [f.severity for f in tidy.check(trace, select=["TDY801"], savings="off").findings]


@pytest.mark.parametrize(("us", "said"), [(5, []), (20, [Severity.INFO]), (60, [Severity.WARNING])])
@pytest.mark.parametrize("name", ["cudaMalloc", "cudaHostAlloc", "hipFree", "cuMemMap"])
def test_by_the_share_of_the_later_steps(
    read_events: ReadEvents, name: str, us: float, said: list[Severity]
) -> None:
    trace = read_events(_steps(4, dict.fromkeys(range(4), us), name))
    assert _severities(trace) == said


@pytest.mark.parametrize("steps", [{0: 900}, {0: 900, 2: 400}, {3: 400}])
def test_one_later_step_may_be_a_new_shape(
    read_events: ReadEvents, steps: dict[int, float]
) -> None:
    assert _severities(read_events(_steps(4, steps))) == []


def test_calls_that_only_ask(read_events: ReadEvents) -> None:
    trace = read_events(_steps(4, dict.fromkeys(range(4), 400), "cudaMemGetInfo"))
    assert _severities(trace) == []


def test_what_empty_cache_causes_is_left_to_its_own_rule(read_events: ReadEvents) -> None:
    written = _steps(4, dict.fromkeys(range(1, 4), 60))
    for number in range(4):
        start = number * _STEP_US + 800
        written += [
            frame("torch/cuda/memory.py(233): empty_cache", start, 90),
            call("cudaFree", start + 1, 80, 90 + number),
        ]
    report = tidy.check(read_events(written), select=["TDY8"])
    assert [finding.code for finding in report.findings] == ["TDY802"]


_DRIVER = re.compile(r'"(cuda|hip)(Malloc|Free|HostAlloc|MallocHost|HostMalloc|HostFree)|"cuMem')


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_recorded_runs_that_ask_the_driver_for_nothing(path: Path) -> None:
    if not _DRIVER.search(text_of(path)):
        assert findings(path, "TDY801") == []


@pytest.mark.parametrize(
    "name",
    [
        "kineto__resnet50_num_workers_0",
        "kineto__resnet50_num_workers_4",
        "hta__trace_filter__sampled_rank-0",
        "misc__particle_transformer",
        "tracelens__mi300__resnet_act_checkpoint",
    ],
)
def test_runs_that_have_what_they_need(name: str) -> None:
    assert findings(path_of(name), "TDY801") == []


def test_a_run_without_steps_that_asks_the_driver() -> None:
    path = path_of("hta__critical_path__alexnet")
    names = [event.get("name") for event in decoded(path)["traceEvents"]]
    assert names.count("cudaMalloc") + names.count("cudaFree") == 39
    assert isinstance(report(path).outcomes["TDY801"], NotChecked)


@pytest.mark.parametrize("kernel_us", [5, 60])
def test_the_account_says_the_same_of_the_calls(kernel_us: int) -> None:
    """Calls of 120 us in each step: what a kernel hides of them costs nothing."""
    work = launch("aten::mm 9us", f"gemm {kernel_us}us"), "aten::empty\n  cudaMalloc 120us"
    report = tidy.check(parse_outline(on_gpu(steps(*work))), select=["TDY801"], savings="off")
    (finding,) = report.findings
    (account,) = report.accounts
    assert finding.cost_share == sum(
        part.share for part in account.parts if part.cause == "allocator"
    )
