"""TDY402: launches that take longer than what they launch."""

from __future__ import annotations

from statistics import median
from typing import Any

import pytest

import tidy
from tidy import Severity
from tidy.finding import Checked, NotChecked

from ..conftest import ReadEvents
from ..oracle.shared import decoded, findings, needs_traces, path_of
from ..trace.kineto import Written, call, kernel, mark, op

_STEP_US = 2000


def _steps(kernel_us: float, gap_us: float, kernels: int = 30) -> list[Written]:
    """Two steps; a launch takes 8 us, the next one comes `gap_us` after the kernel is done."""
    written: list[Written] = []
    for step in range(2):
        ts = float(step * _STEP_US)
        written.append(mark(f"ProfilerStep#{step}", ts, kernels * (kernel_us + gap_us)))
        for at in range(kernels):
            number = 1000 * step + at + 1
            start = ts + at * (kernel_us + gap_us)
            written += [
                call("cudaLaunchKernel", start, 8, number),
                kernel("elementwise", start + 8, kernel_us, correlation=number),
            ]
    return written


def _said(read_events: ReadEvents, written: list[Written]) -> int:
    """How many launches the finding counts, 0 without one."""
    found = tidy.check(read_events(written), select=["TDY402"]).findings
    assert all(finding.severity == Severity.INFO for finding in found)
    return sum(finding.count for finding in found)


def test_short_kernels_and_an_idle_gpu(read_events: ReadEvents) -> None:
    assert _said(read_events, _steps(kernel_us=3, gap_us=20)) == 60


@pytest.mark.parametrize(
    ("kernel_us", "gap_us", "kernels", "why"),
    [
        (9, 40, 30, "kernels are longer than launches"),
        (3, 2, 30, "the GPU is busy for most of the time"),
        (3, 20, 15, "few kernels"),
        (3, 400, 30, "gaps are longer than launches explain"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_others(
    read_events: ReadEvents, kernel_us: float, gap_us: float, kernels: int, why: str
) -> None:
    assert _said(read_events, _steps(kernel_us, gap_us, kernels)) == 0, why


@pytest.mark.parametrize(
    "name", ["cudaStreamSynchronize", "hipMemcpyAsync", "cudaMalloc", "enumerate(DataLoader)#X"]
)
def test_gaps_that_something_else_explains(read_events: ReadEvents, name: str) -> None:
    """After each kernel the host does something else for most of the gap."""
    written = _steps(kernel_us=3, gap_us=20)
    made = mark if name.startswith("enumerate") else call
    for number, launch in enumerate([e for e in written if e["name"] == "cudaLaunchKernel"]):
        other: tuple[Any, ...] = () if made is mark else (5000 + number,)
        written.append(made(name, launch["ts"] + 11, 12, *other))
    assert _said(read_events, written) == 0


def test_graphs_are_not_judged(read_events: ReadEvents) -> None:
    written = [*_steps(3, 20), call("cudaGraphLaunch", 3900, 8, 9999)]
    assert isinstance(tidy.check(read_events(written)).outcomes["TDY402"], NotChecked)


@needs_traces
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("hta__history__with_gpu_user_annotation_step_based_trace_2543932", True),
        ("tracelens__h100__gaunernst_bert-small-uncased", True),
        ("tracelens__mi300__gaunernst_bert-small-uncased", False),
        ("tracelens__h100__Qwen_Qwen1.5-0.5B-Chat", False),
        ("hta__trace_filter__sampled_rank-0", False),
        ("misc__sidnb13", False),
    ],
)
def test_recorded_runs(name: str, said: bool) -> None:
    """Tiny models on fast GPUs; in the others a typical kernel is longer than a launch."""
    path = path_of(name)
    events = [e for e in decoded(path)["traceEvents"] if e.get("ph") == "X"]
    kernels = [e["dur"] for e in events if str(e.get("cat")).lower() == "kernel"]
    launches = [e["dur"] for e in events if "LaunchKernel" in e["name"]]
    assert (median(kernels) < median(launches)) is said
    assert [f.severity for f in findings(path, "TDY402")] == [Severity.INFO] * said


@needs_traces
@pytest.mark.parametrize("workers", [0, 4])
def test_resnet50_is_busy(workers: int) -> None:
    """Its typical kernel is an update of one parameter, yet the GPU works most of the time."""
    path = path_of(f"kineto__resnet50_num_workers_{workers}")
    assert findings(path, "TDY402") == []


def test_a_run_that_is_judged(read_events: ReadEvents) -> None:
    outcome = tidy.check(read_events(_steps(9, 40))).outcomes["TDY402"]
    assert outcome == Checked()


@pytest.mark.parametrize(("kernel_us", "unknown"), [(3, True), (9, False)])
def test_without_steps(read_events: ReadEvents, kernel_us: float, unknown: bool) -> None:
    """Kernels that are long leave nothing to ask."""
    written = [e for e in _steps(kernel_us, 20) if not e["name"].startswith("ProfilerStep")]
    outcome = tidy.check(read_events([op("aten::mm", 0, 1), *written])).outcomes["TDY402"]
    assert isinstance(outcome, NotChecked if unknown else Checked)
