"""TDY303 and TDY009: what was left on after debugging; TDY908: what was left as on a CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tidy
from tidy import Finding, Severity, Trace
from tidy.finding import Checked, NotApplicable

from ..conftest import ReadEvents
from ..oracle.recording import record
from ..oracle.shared import path_of, report
from ..trace.kineto import Written, call, kernel, mark, op


def _outcome(trace: Trace, code: str, savings: str = "off") -> Any:
    return tidy.check(trace, select=[code], savings=savings).outcomes[code]


def _found(trace: Trace, code: str) -> list[Finding]:
    outcome = _outcome(trace, code)
    assert isinstance(outcome, Checked), outcome
    return list(outcome.findings)


# -- launches that wait -------------------------------------------------------------------------


def _launches(
    call_us: float, kernel_us: float, *, delay_us: float = 3, count: int = 30, every_us: float = 150
) -> list[Written]:
    """Launches on one thread; each kernel begins some time after its launch did."""
    written = [mark("ProfilerStep#1", 0, count * every_us + 10)]
    for number in range(count):
        at = 5 + number * every_us
        written += [
            op("aten::mm", at, call_us + 2),
            call("cudaLaunchKernel", at + 1, call_us, number + 1),
            kernel("gemm", at + 1 + delay_us, kernel_us, correlation=number + 1),
        ]
    return written


def _slow_host(call_us: float, short_call_us: float) -> list[Written]:
    """Launches of kernels of 6 us, as in `_launches`, and after each one of a kernel of 1 us."""
    written = _launches(call_us, kernel_us=6, delay_us=7)
    for number in range(30):
        at = 80 + number * 150
        written += [
            op("aten::add", at, short_call_us + 2),
            call("cudaLaunchKernel", at + 1, short_call_us, 100 + number),
            kernel("add", at + 8, 1, correlation=100 + number),
        ]
    return written


def test_launches_that_wait_for_short_kernels(read_events: ReadEvents) -> None:
    """By how much longer they take than others is known how long they wait."""
    (found,) = _found(read_events(_slow_host(call_us=16, short_call_us=11)), "TDY303")
    assert found.message == "30 of 30 launches wait until their kernels are done"


def test_launches_that_last_until_their_kernels_end(read_events: ReadEvents) -> None:
    (found,) = _found(read_events(_launches(call_us=110, kernel_us=100)), "TDY303")
    assert found.message == "30 of 30 launches wait until their kernels are done"
    assert found.severity == Severity.WARNING


def test_what_a_launch_would_cost_stays(read_events: ReadEvents) -> None:
    """Launching and computing overlap then, and the kernels still take what they take."""
    trace = read_events(_launches(call_us=110, kernel_us=100, every_us=220))
    (found,) = tidy.check(trace, select=["TDY303"]).findings
    if found.saving is not None:
        low, high = found.saving.step_ns_after
        assert 30 * 100_000 <= low <= high <= found.saving.step_ns


@pytest.mark.parametrize(
    ("events", "why"),
    [
        (_launches(call_us=6, kernel_us=100), "launches return at once"),
        (_launches(call_us=12, kernel_us=4), "a kernel is shorter than its launch"),
        (_launches(call_us=90, kernel_us=100, delay_us=40), "the queue is full"),
        (_launches(call_us=16, kernel_us=6, delay_us=8), "the host is slow"),
        (_slow_host(call_us=16, short_call_us=16), "the host is as slow with shorter kernels"),
        (_launches(call_us=110, kernel_us=100, delay_us=-9), "the clocks are off"),
        (_launches(call_us=110, kernel_us=100, count=10), "too few to tell"),
    ],
)
def test_launches_that_do_not(read_events: ReadEvents, events: list[Written], why: str) -> None:
    assert _found(read_events(events), "TDY303") == [], why


@pytest.mark.parametrize(
    "start",
    [
        "kineto__resnet50_num_workers_0",
        "hta__nccl_parser_config",
        "hta__negative_queue_length",
        "tracelens__h100__facebook_timesformer",
        "tracelens__mi300__resnet_act_checkpoint",
    ],
)
def test_recorded_launches_do_not_wait(start: str) -> None:
    outcome = report(path_of(start)).outcomes["TDY303"]
    assert outcome == Checked()


# -- anomaly mode -------------------------------------------------------------------------------


def _train(torch: Any, *, hook: bool = False) -> None:
    model = torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(4)])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if hook:
        for each in model.parameters():
            each.register_hook(lambda grad: None if bool(grad.isnan().any()) else grad)
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(torch.ones(4, 16)).sum()
        assert not loss.isnan()
        loss.backward()
        optimizer.step()


@pytest.mark.oracle
@pytest.mark.parametrize("with_stack", [False, True])
def test_anomaly_mode_of_pytorch(with_stack: bool, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    def watched() -> None:
        with torch.autograd.set_detect_anomaly(True):
            _train(torch)

    recorded = record(tmp_path, watched, with_stack=with_stack)
    (found,) = _found(recorded.trace, "TDY009")
    assert "anomaly mode" in found.message


@pytest.mark.oracle
@pytest.mark.parametrize("with_stack", [False, True])
@pytest.mark.parametrize("hook", [False, True])
def test_checks_of_the_scripts_own(hook: bool, with_stack: bool, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    recorded = record(tmp_path, lambda: _train(torch, hook=hook), with_stack=with_stack)
    assert _found(recorded.trace, "TDY009") == []


@pytest.mark.oracle
def test_counting_flops(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    def counted() -> None:
        with FlopCounterMode(display=False):
            _train(torch)

    recorded = record(tmp_path, counted, with_stack=True)
    (found,) = _found(recorded.trace, "TDY009")
    assert found.message == "FlopCounterMode sees each op"


# -- Gloo ---------------------------------------------------------------------------------------


def test_gloo_on_a_cpu() -> None:
    outcome = report(path_of("ddp_gloo_rank0")).outcomes["TDY908"]
    assert isinstance(outcome, NotApplicable)


@pytest.mark.parametrize(
    "start", ["hta__nccl_parser_config", "tracelens__mi300__resnet_act_checkpoint"]
)
def test_jobs_that_use_nccl(start: str) -> None:
    assert isinstance(report(path_of(start)).outcomes["TDY908"], (NotApplicable, Checked))
    assert "TDY908" not in {finding.code for finding in report(path_of(start)).findings}
