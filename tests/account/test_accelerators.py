"""Accelerators that are neither NVIDIA's nor AMD's have an account of their own, and are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tidy
from tidy.account import make_accounts
from tidy.finding import NotApplicable, NotChecked

from .naive import device_time, device_work, read_raw


def _x(category: str, name: str, ts: int, dur: int, pid: int, tid: int, **args: Any) -> object:
    event = {"ph": "X", "cat": category, "name": name, "ts": ts, "dur": dur}
    return event | {"pid": pid, "tid": tid, "args": args}


def _run(runtime: str, launch: str, wait: str, works: list[tuple[str, str]]) -> list[object]:
    """Five steps: an op launches each of the works, then a call waits for the last."""
    events: list[object] = []
    for step in range(5):
        at = 1_000_000 + step * 1000
        events.append(_x("user_annotation", f"ProfilerStep#{step}", at, 1000, 77, 77))
        for number, (category, name) in enumerate(works):
            link = {"correlation": 10 * step + number + 1, "External id": 10 * step + number + 1}
            begin = at + 100 * number
            events.append(_x("cpu_op", "aten::mul", begin, 90, 77, 77, **link))
            events.append(_x(runtime, launch, begin + 10, 50, 77, 77, **link))
            where = {"device": 3, "stream": 9, **link}
            events.append(_x(category, name, begin + 80, 40 + number, 3, 9, **where))
        events.append(_x(runtime, wait, at + 100 * len(works), 60, 77, 77, correlation=0))
    return events


_RUNS = {
    "XPU": (
        "xpu_runtime",
        "urEnqueueKernelLaunch",
        "urEventWait",
        [("gpu_memcpy", "Memcpy M2D"), ("kernel", "gemm_kernel"), ("gpu_memset", "Memset")],
    ),
    "MTIA": (
        "mtia_runtime",
        "runFunction - job_prep_and_submit_for_execution",
        "synchronizeStream",
        [
            ("mtia_ccp_events", "dma_request"),
            ("mtia_ccp_events", "pe_exe"),
            ("mtia_ccp_events", "event_wait"),
        ],
    ),
    "PrivateUse1": (
        "privateuse1_runtime",
        "LaunchKernel",
        "DeviceSynchronize",
        [("gpu_memcpy", "Memcpy HtoD"), ("kernel", "add_kernel")],
    ),
}
_NAMES = {"XPU": "Data Center GPU Max", "MTIA": "MTIA ARTEMIS", "PrivateUse1": "accelerator NPU"}


@pytest.fixture(params=_RUNS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    plain = _NAMES[request.param].removeprefix("MTIA ").removeprefix("accelerator ")
    # The driver of XPU fills the fields that hold the compute capability of NVIDIA's.
    properties = [{"id": 3, "name": plain, "computeMajor": 12, "computeMinor": 60}]
    path = tmp_path / f"{request.param}.json"
    trace = {"traceEvents": _run(*_RUNS[request.param]), "deviceProperties": properties}
    path.write_text(json.dumps(trace), "utf-8")
    return path


def test_the_device_has_an_account(path: Path) -> None:
    trace = tidy.load(path)
    (account,) = make_accounts(trace)
    (expected,) = (
        device_time(work, list(account.window.time))
        for work in device_work(read_raw(path)).values()
    )
    assert account.device == 3
    times = [account.of(part) for part in ("compute", "communication", "copy", "idle")]
    assert times == [
        expected.compute_ns,
        expected.communication_ns,
        expected.copy_ns,
        expected.idle_ns,
    ]
    assert expected.compute_ns > 0
    assert expected.copy_ns > 0
    causes = {part.cause for part in account.parts if part.part == "idle"}
    assert "device-wait" in causes


def test_it_is_named_and_no_cpu_run(path: Path) -> None:
    report = tidy.check(tidy.load(path))
    assert report.summary.devices == ((_NAMES[path.stem], 1),)
    assert not report.summary.is_cpu_run
    assert "CPU run" not in str(report)


def test_rules_about_calls_of_cuda_are_not_checked(path: Path) -> None:
    outcomes = tidy.check(tidy.load(path)).outcomes
    for outcome in outcomes.values():
        if isinstance(outcome, NotApplicable):
            assert "GPU" not in outcome.reason
    synchronizes = outcomes["TDY301"]
    assert isinstance(synchronizes, NotChecked)
    assert _NAMES[path.stem] in synchronizes.reason


def test_without_device_rows_it_is_still_no_cpu_run(path: Path) -> None:
    raw = json.loads(path.read_text("utf-8"))
    raw["traceEvents"] = [event for event in raw["traceEvents"] if event["pid"] == 77]
    raw["deviceProperties"] = []
    path.write_text(json.dumps(raw), "utf-8")
    assert not tidy.load(path).is_cpu_run
