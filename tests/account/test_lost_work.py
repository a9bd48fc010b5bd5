"""Where a recording lacks work of the device, the account names that and gives an upper bound."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tidy
from tidy.account import Account, make_accounts


def _x(category: str, name: str, ts: float, dur: float, where: int, **args: Any) -> dict[str, Any]:
    event = {"ph": "X", "cat": category, "name": name, "ts": ts, "dur": dur}
    return event | {"pid": where, "tid": where, "args": args}


def _steps(launch: str, *, late_us: int, count: int = 4, ids_apart: int = 1) -> list[Any]:
    """In each step of 1 ms an op makes two launches; the second's kernel begins late."""
    events = []
    for step in range(count):
        at, number = 1000 + 1000 * step, 2 * step + 1
        ids = {"External id": 1 + step * ids_apart}
        events.append(_x("user_annotation", f"ProfilerStep#{step}", at, 1000, 77))
        events.append(_x("cpu_op", "aten::mul", at + 1, 30, 77, **ids))
        events.append(_x("cuda_runtime", "cudaLaunchKernel", at + 2, 4, 77, correlation=number))
        events.append(_x("kernel", "mul", at + 8, 20, 0, correlation=number, device=0, stream=7))
        events.append(_x("cuda_runtime", launch, at + 12, 8, 77, correlation=number + 1))
        work = {"correlation": number + 1, "device": 0, "stream": 7}
        events.append(_x("kernel", "add", at + 28 + late_us, 10, 0, **work))
    return events


def _account(path: Path, events: list[Any]) -> Account:
    path.write_text(json.dumps({"traceEvents": events}), "utf-8")
    (account,) = make_accounts(tidy.load(path))
    return account


def _times_us(account: Account) -> dict[str, float]:
    idle = [part for part in account.parts if part.part == "idle"]
    return {kind: ns / 1000 for part in idle for kind, ns in part.kinds}


def test_a_graph_whose_kernels_are_missing(tmp_path: Path) -> None:
    account = _account(tmp_path / "a.json", _steps("cudaGraphLaunch", late_us=500))
    assert _times_us(account)["kernels of graphs that were not recorded"] == 4 * 500
    assert account.idle_is_upper_bound


def test_a_graph_that_runs_at_once_hides_nothing(tmp_path: Path) -> None:
    account = _account(tmp_path / "a.json", _steps("cudaGraphLaunch", late_us=0))
    assert not account.idle_is_upper_bound


def test_a_graph_whose_kernels_are_there_is_not_why_work_is_late(tmp_path: Path) -> None:
    """Another process may use the device meanwhile."""
    events = _steps("cudaGraphLaunch", late_us=500)
    kernels = [each for each in events if each["name"] == "add"]
    events += [each | {"ts": each["ts"] + 11, "dur": 1} for each in kernels]
    times = _times_us(_account(tmp_path / "a.json", events))
    assert "kernels of graphs that were not recorded" not in times
    assert times["work queued but none recorded"] == 4 * 500


def test_what_a_graph_captures_is_not_lost(tmp_path: Path) -> None:
    events = _steps("cudaLaunchKernel", late_us=500)
    events.append(_x("cuda_runtime", "cudaStreamBeginCapture", 2005, 1, 77))
    events.append(_x("cuda_runtime", "cudaLaunchKernel", 2007, 4, 77, correlation=99))
    events.append(_x("cuda_runtime", "cudaStreamEndCapture", 2011, 1, 77))
    times = _times_us(_account(tmp_path / "a.json", events))
    assert "kernels that the profiler lost" not in times


def test_a_launch_without_a_kernel(tmp_path: Path) -> None:
    events = _steps("cudaLaunchKernel", late_us=500)
    events.append(_x("cuda_runtime", "cudaLaunchKernel", 2020, 4, 77, correlation=99))
    account = _account(tmp_path / "a.json", events)
    times = _times_us(account)
    # The lost launch comes after that of the late kernel of step 1: it is not what held that up.
    assert "kernels that the profiler lost" not in times
    events[-1]["ts"] = 2007
    times = _times_us(_account(tmp_path / "b.json", events))
    assert times["kernels that the profiler lost"] == 500
    assert times["work queued but none recorded"] == 3 * 500


def test_a_file_from_which_operators_were_taken(tmp_path: Path) -> None:
    whole = _account(tmp_path / "a.json", _steps("cudaLaunchKernel", late_us=200, count=40))
    thinned = _steps("cudaLaunchKernel", late_us=200, count=40, ids_apart=7)
    account = _account(tmp_path / "b.json", thinned)
    assert _times_us(whole)["work queued but none recorded"] == 40 * 200
    assert _times_us(account)["work that the file leaves out"] == 40 * 200
    assert account.idle_is_upper_bound
    report = tidy.check(tidy.load(tmp_path / "b.json"))
    assert any("40 of 274 operators" in each for each in report.summary.warnings)
    assert "at the most" in str(report)


def test_a_snippet_tells_nothing_of_idle_time(tmp_path: Path) -> None:
    """Some operators, picked by hand out of many, and what they launched."""
    snippet = _steps("cudaLaunchKernel", late_us=200, count=6, ids_apart=900)
    assert _account(tmp_path / "a.json", snippet).idle_is_upper_bound
    not_checked = tidy.check(tidy.load(tmp_path / "a.json")).not_checked
    assert {"TDY401", "TDY402"} <= set(not_checked)


def test_a_file_that_is_cut_off_tells_nothing_of_idle_time(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert not _account(path, _steps("cudaLaunchKernel", late_us=0)).idle_is_upper_bound
    path.write_text(path.read_text("utf-8")[:-200], "utf-8")
    trace = tidy.load(path)
    (account,) = make_accounts(trace)
    assert account.idle_is_upper_bound
    assert {"TDY401", "TDY402"} <= set(tidy.check(trace).not_checked)
