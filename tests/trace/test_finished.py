"""Steps last until devices have finished their work, where the host runs ahead of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tidy
from tidy import Event, Severity, Trace
from tidy.account import Account, Accountant, HostTime
from tidy.report.text import render
from tidy.savings import Savings

from ..conftest import ReadEvents
from ..oracle.shared import FOLDER, TRACES, load
from .kineto import Written, call, kernel, mark, op

_STEP_US, _WORK_US = 100.0, 1000.0


def _launch(number: int, ts: float, name: str = "gemm", op_name: str = "aten::mm") -> list[Written]:
    """An op with products of 4,096 on a side, and its launch; the device is busy until then."""
    inputs = {"Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["float", "float"]}
    return [
        op(op_name, ts, 20, args={"External id": number, **inputs}),
        call("cudaLaunchKernel", ts + 5, 5, number, external=number),
    ]


def _ahead(
    read_events: ReadEvents, *more: Written, count: int = 5, work_us: float = _WORK_US
) -> Trace:
    """Steps of 100 us of the host, each with a kernel of 1 ms that waits for the one before."""
    written, free = [*more], 0.0
    for step in range(count):
        ts = step * _STEP_US
        written += [mark(f"ProfilerStep#{step}", ts, _STEP_US), *_launch(step + 1, ts + 10)]
        free = max(free, ts + 20)
        kernel_name = "ampere_sgemm_128x128_nn"
        written.append(kernel(kernel_name, free, work_us, correlation=step + 1, external=step + 1))
        free += work_us
    return read_events(written, deviceProperties=_GPU)


_GPU = [{"id": 0, "name": "NVIDIA A100-SXM4-40GB", "computeMajor": 8, "computeMinor": 0}]


def test_a_step_is_as_long_as_its_work(read_events: ReadEvents) -> None:
    window = _ahead(read_events).window
    assert [end - start for start, end in window.step_ranges] == [100_000] * 5
    lengths = [end - start for start, end in window.finished_ranges]
    assert lengths == [1_020_000, *[1_000_000] * 4]
    assert (window.step_ns, window.time_ns) == (1_004_000, 5_020_000)
    assert len(window.time) == 1


def test_one_step_that_is_waited_for_after_it(read_events: ReadEvents) -> None:
    """The host queues for 0.1 ms; then it waits, outside of the step, for most of 400 ms."""
    wait = call("cudaDeviceSynchronize", 105, 399_900, 99)
    trace = _ahead(read_events, wait, count=1, work_us=400_000)
    assert trace.window.step_ns == 400_020_000
    assert "outside of steps" not in render([tidy.check(trace)])


def test_the_last_step_may_wait_for_all_of_them(read_events: ReadEvents) -> None:
    """As it does where the loss is printed after the loop, or the recording ends in it."""
    waiting = [mark("ProfilerStep#5", 500, 5600), *_launch(6, 510)]
    wait = call("cudaDeviceSynchronize", 540, 5500, 99)
    gemm = kernel("ampere_sgemm_128x128_nn", 5020, _WORK_US, correlation=6, external=6)
    window = _ahead(read_events, *waiting, wait, gemm).window
    lengths = [end - start for start, end in window.finished_ranges]
    assert lengths == [1_020_000, *[1_000_000] * 4, 1_080_000]
    assert window.left_out == ()


def test_a_device_that_keeps_up_changes_nothing(read_events: ReadEvents) -> None:
    assert _ahead(read_events, work_us=80).window.finished is None


def test_a_step_before_them_is_not_counted_twice(read_events: ReadEvents) -> None:
    """The first step is cold and left out; its kernel still runs when the next one begins."""
    ts = -5000.0
    cold = [mark("ProfilerStep#9", ts, 5000), call("cudaMalloc", ts, 4000, 90), *_launch(91, -50)]
    cold.append(kernel("gemm", -40, 60, correlation=91, external=91))
    window = _ahead(read_events, *cold).window
    assert [each.label for each in window.left_out] == ["step 9"]
    assert window.finished_ranges[0] == (
        window.steps[0].start_ns + 20_000,
        window.finished_ranges[1][0],
    )
    assert window.step_ns == 1_000_000


def test_the_account_is_of_these_steps(read_events: ReadEvents) -> None:
    trace = _ahead(read_events)
    report = tidy.check(trace)
    (account,) = report.accounts
    assert sum(part.time_ns for part in account.parts) == trace.window.time_ns
    assert sum(part.share for part in account.parts if part.part == "idle") < 0.005
    assert "5 steps of 1.00 ms, GPU busy 100%" in render([report])
    assert (report.summary.median_ns, report.summary.step_ns) == (1_000_000, 1_004_000)
    by_step = list(Accountant(trace).by_step())
    assert [window_ns(accounts[0]) for _, accounts in by_step] == [1_020_000, *[1_000_000] * 4]


def window_ns(account: Account) -> int:
    return sum(part.time_ns for part in account.parts)


def test_what_was_launched_before_the_recording_runs_before_it(read_events: ReadEvents) -> None:
    """Its kernels have no launch in the file, and are no part of the steps."""
    before = [kernel("gemm", ts, 500) for ts in (-500, 0, 500, 1000)]
    trace = _later(_ahead, read_events, before)
    window = trace.window
    savings = Savings(trace, window.step_ranges, HostTime(trace).main, finished=window.finished)
    assert savings.unchanged.tolist() == [1_000_000] * len(window.steps)
    assert savings.fidelity.median_error == 0


def _later(made: Callable[..., Trace], read_events: ReadEvents, before: list[Written]) -> Trace:
    """The same steps, whose first kernel waits for those that were launched before."""

    def read(written: list[Written], **header: Any) -> Trace:
        moved = [
            {**each, "ts": each["ts"] + 1480} if each["cat"] == "kernel" else each
            for each in written
        ]
        return read_events([*moved, *before], **header)

    return made(read)


def test_shorter_kernels_make_the_steps_shorter(read_events: ReadEvents) -> None:
    """Products in float32 on an A100 take an eighth to a quarter of their time in TF32."""
    (finding,) = tidy.check(_ahead(read_events), select=["TDY501"]).findings
    assert finding.severity == Severity.WARNING
    assert finding.saving is not None
    assert finding.saving.step_ns == 1_004_000
    # At best the host sets the pace then.
    assert 0.6 * finding.saving.step_ns <= finding.saving.low_ns
    assert finding.saving.high_ns <= finding.saving.step_ns - 100_000


def test_host_time_that_runs_ahead_saves_nothing(read_events: ReadEvents) -> None:
    loops = [
        op(name, 100 * step + 40 + 2 * number, 1)
        for step in range(5)
        for number, name in enumerate(["aten::select", "aten::fill_"] * 12)
    ]
    (finding,) = tidy.check(_ahead(read_events, *loops), select=["TDY404"]).findings
    assert finding.count == 5
    assert finding.saving is not None
    assert (finding.saving.high_ns, finding.severity) == (0, Severity.INFO)


_PAIRS = sorted((FOLDER.parent / "pairs").glob("*/*.json*"))


def _is_behind(path: Path) -> bool:
    return load(path).window.finished is not None


def test_the_mean_step_is_the_distance_of_its_ends() -> None:
    """By a second way: ends of what was launched before each end of a step of the host."""
    behind = list(filter(_is_behind, [*TRACES, *_PAIRS]))
    assert len(behind) >= 3 or not FOLDER.is_dir()
    for path in behind:
        trace = load(path)
        ranges = trace.window.step_ranges
        work = [(e.parent or e, e) for e in trace.events(trace.device_rows)]
        length = sum(_finished(work, end) - _finished(work, start) for start, end in ranges)
        assert trace.window.time_ns == pytest.approx(length, rel=1e-6), path
        assert trace.window.step_ns == pytest.approx(length / len(ranges), rel=1e-6), path
        rows = trace.rows_within(*ranges[0])
        assert np.all(trace.in_window(rows[trace.device[rows] < 0])), path


def _finished(work: list[tuple[Event, Event]], time_ns: int) -> int:
    """When the host is there, and all that was launched before has ended."""
    return max([time_ns, *(e.end_ns for call, e in work if call.start_ns < time_ns)])


def test_a_step_left_out_later_is_as_long_as_its_work(read_events: ReadEvents) -> None:
    trace = _ahead(read_events)
    second = trace.window.step_ranges[1]
    window = trace.without_steps({second}, "not wanted").window
    (left_out,) = window.left_out
    assert (left_out.label, left_out.time_ns) == ("step 1", 1_000_000)
    assert window.time_ns == trace.window.time_ns - 1_000_000
    assert len(window.finished or ()) == len(window.steps) == 4
