"""TDY003 to TDY006: what is wrong with the recording itself."""

from __future__ import annotations

from typing import Any

import pytest

import tidy
from tidy.finding import Checked, NotApplicable, NotChecked

from ..conftest import ReadEvents
from ..oracle.shared import path_of, report
from ..trace.kineto import Written, call, kernel, mark, op


def _messages(trace: tidy.Trace, code: str) -> list[str]:
    outcome = tidy.check(trace, select=[code], savings="off").outcomes[code]
    assert isinstance(outcome, Checked), outcome
    return [finding.message for finding in outcome.findings]


def _launches(delay_us: float, count: int = 200, *, every: int = 1, lost: int = 0) -> list[Written]:
    """Launches 100 us apart; of every so many the kernel begins after `delay_us`, else after 9."""
    written: list[Written] = [mark("ProfilerStep#0", 0, count * 100 + 90)]
    for number in range(count):
        at = 10 + number * 100
        written += [op("aten::mm", at, 20), call("cudaLaunchKernel", at + 1, 5, number + 1)]
        if number >= lost:
            late = delay_us if number % every == 0 else 9
            written += [kernel("gemm", at + 1 + late, 30, correlation=number + 1)]
    return written


@pytest.mark.parametrize(
    ("delay_us", "every", "said"),
    [
        (-15, 1, ["200 of 200 kernels begin before they are launched"]),
        (-15, 50, ["4 of 200 kernels begin before they are launched"]),
        (-15, 200, []),  # one of them
        (-1, 1, []),  # within the matching of clocks
        (0, 1, []),
        (70, 1, []),
    ],
)
def test_kernels_before_their_launch(
    read_events: ReadEvents, delay_us: float, every: int, said: list[str]
) -> None:
    assert _messages(read_events(_launches(delay_us, every=every)), "TDY006") == said


def _waited(returns_us: float) -> list[Written]:
    """A kernel that ends at 1,000 us, and a wait for it that returns then."""
    return [
        op("aten::mm", 10, 20),
        call("cudaLaunchKernel", 11, 5, 1),
        kernel("gemm", 20, 980, correlation=1),
        call("cudaDeviceSynchronize", 50, returns_us - 50, 2),
    ]


@pytest.mark.parametrize(("returns_us", "count"), [(400, 1), (990, 0), (1000, 0), (1200, 0)])
def test_waits_that_return_too_early(
    read_events: ReadEvents, returns_us: float, count: int
) -> None:
    assert len(_messages(read_events(_waited(returns_us)), "TDY006")) == count


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        (50, ["the profiler lost the kernels of 50 of 200 launches"]),
        (9, []),  # so few go at the edges
        (0, []),
        (150, ["the profiler lost the kernels of 150 of 200 launches"]),
    ],
)
def test_lost_kernels(read_events: ReadEvents, lost: int, said: list[str]) -> None:
    assert _messages(read_events(_launches(9, lost=lost)), "TDY005") == said


def test_a_recording_without_any_kernel_is_not_checked() -> None:
    outcome = report(path_of("misc__zoology")).outcomes["TDY005"]
    assert isinstance(outcome, NotChecked)
    assert "260 launches and no kernel" in outcome.reason
    assert "CUPTI" in outcome.remedy


@pytest.mark.parametrize(("load_us", "share"), [(4000, "20%"), (400, "")])
def test_first_calls_in_the_only_step(read_events: ReadEvents, load_us: float, share: str) -> None:
    events = [*_launches(9), call("cuLibraryLoadData", 40, load_us, 9_000)]
    messages = _messages(read_events(events), "TDY003")
    assert [share in message for message in messages] == [True] * bool(share)


def test_a_single_step(read_events: ReadEvents) -> None:
    one: list[Any] = [op("aten::mm", 5, 9), mark("ProfilerStep#3", 1, 90)]
    assert len(_messages(read_events(one), "TDY004")) == 1
    assert _messages(read_events([*one, mark("ProfilerStep#4", 95, 90)]), "TDY004") == []


@pytest.mark.parametrize("code", ["TDY003", "TDY005", "TDY006"])
@pytest.mark.parametrize(
    "start",
    [
        "hta__nccl_parser_config",
        "hta__negative_queue_length",
        "kineto__resnet50_num_workers_0",
        "param__linear_kineto",
        "tracelens__gemm_01_compute_few_tiles",
        "tracelens__h100__Qwen_Qwen1.5-0.5B-Chat",
        "tracelens__mi300__resnet_act_checkpoint",
    ],
)
def test_recordings_without_fault(start: str, code: str) -> None:
    outcome = report(path_of(start)).outcomes[code]
    assert outcome == Checked() or isinstance(outcome, NotApplicable)
