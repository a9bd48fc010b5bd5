"""TDY901: collectives that nothing hides."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tidy
from tidy import Severity
from tidy.finding import Checked, NotApplicable, NotChecked

from ..conftest import ReadEvents
from ..oracle.shared import decoded, findings, load, path_of, report
from ..trace.kineto import Written, kernel, mark, op

_ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def _trace(read_events: ReadEvents, *kernels: Written) -> tidy.Trace:
    """One step of 1,000 us."""
    step = mark("ProfilerStep#1", 0, 1000)
    return read_events([step, op("aten::mm", 1, 2), *kernels])


@pytest.mark.parametrize(
    ("us", "severity"),
    [(40, None), (60, Severity.INFO), (99, Severity.INFO), (110, Severity.WARNING)],
)
def test_severity_by_the_part_that_is_not_hidden(
    read_events: ReadEvents, us: int, severity: Severity | None
) -> None:
    """300 us of communication, `us` of them after the last kernel that computes."""
    trace = _trace(read_events, kernel(_ALL_REDUCE, 100, 300), kernel("gemm", 50, 50 + 300 - us))
    found = tidy.check(trace, select=["TDY901"]).findings
    assert [finding.severity for finding in found] == ([severity] if severity else [])
    for finding in found:
        assert finding.cost_ns == us * 1000
        assert finding.saving is None
        assert finding.correction.why_no_edit
        assert f"{1 - us / 300:.0%} of the communication is hidden" in finding.message


def test_a_kernel_of_another_device_hides_nothing(read_events: ReadEvents) -> None:
    trace = _trace(read_events, kernel(_ALL_REDUCE, 100, 300), kernel("gemm", 100, 300, device=1))
    (finding,) = tidy.check(trace, select=["TDY901"]).findings
    assert finding.cost_share == pytest.approx(0.3)


@pytest.mark.parametrize("name", ["ncclKernel_AllReduce_RING_LL_Sum_float(x)", "rccl_main_kernel"])
def test_names_of_collectives(read_events: ReadEvents, name: str) -> None:
    assert tidy.check(_trace(read_events, kernel(name, 100, 300)), select=["TDY901"]).findings


def test_a_kernel_that_only_mentions_nccl_is_none(read_events: ReadEvents) -> None:
    trace = _trace(read_events, kernel("check_nccl_result", 100, 300))
    outcome = tidy.check(trace, select=["TDY901"]).outcomes["TDY901"]
    assert isinstance(outcome, NotApplicable)


# -- recorded runs --------------------------------------------------------------------------------

_RANKS = (
    "hta__trace_filter__sampled_rank-0",
    "hta__trace_filter__sampled_rank-1",
    "param__dlrm__dlrm_kineto__worker0_step_12",
    "param__dlrm__dlrm_kineto__worker1_step_12",
    "tracelens__mi300__resnet_act_checkpoint",
)
# Its device is 38 ms behind: the steps are from the end of one's kernels to that of the next's.
_BEHIND = "tracelens__mi300__resnet_act_checkpoint"


def _ends_of_first_and_last(path: Path) -> tuple[float, float]:
    """When the kernels that were launched in the first step, and in the last one, have ended."""
    events = decoded(path)["traceEvents"]
    marks = [e for e in events if str(e.get("name")).startswith("ProfilerStep#") and e["pid"] != 0]
    marks = [e for e in marks if e.get("cat") == "user_annotation"]
    marks.sort(key=lambda e: e["ts"])
    launched = {
        e["args"]["correlation"]: e["ts"]
        for e in events
        if e.get("cat") == "cuda_runtime" and "correlation" in e.get("args", {})
    }
    work = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    ends = []
    for each in (marks[0], marks[-1]):
        until = each["ts"] + each["dur"]
        own = [e for e in work if launched.get(e["args"]["correlation"], e["ts"]) < until]
        ends.append(max(e["ts"] + e["dur"] for e in own))
    return ends[0], ends[1]


def _exposed_share(path: Path) -> float:
    """By walking over all starts and ends, of the file as it is."""
    written = decoded(path)
    edges: list[tuple[float, str, int]] = []
    for event in written["traceEvents"]:
        category = str(event.get("cat")).lower()
        if category == "kernel":
            what = "talk" if re.match("nccl", event["name"]) else "work"
        elif category == "user_annotation" and event["name"].startswith("ProfilerStep#"):
            what = "step"
        else:
            continue
        edges += [(event["ts"], what, 1), (event["ts"] + event["dur"], what, -1)]
    if path.name.startswith(_BEHIND):
        edges = [edge for edge in edges if edge[1] != "step"]
        edges += [
            (ts, "step", sign)
            for ts, sign in zip(_ends_of_first_and_last(path), (1, -1), strict=True)
        ]
    open_now = {"talk": 0, "work": 0, "step": 0}
    steps, exposed, before = 0.0, 0.0, 0.0
    for ts, what, change in sorted(edges, key=lambda edge: edge[0]):
        if open_now["step"]:
            steps += ts - before
            exposed += (ts - before) * bool(open_now["talk"] and not open_now["work"])
        open_now[what] += change
        before = ts
    return exposed / steps


@pytest.mark.parametrize("name", _RANKS)
def test_ranks_of_recorded_jobs(name: str) -> None:
    path = path_of(name)
    (finding,) = findings(path, "TDY901")
    assert finding.severity == Severity.WARNING
    share = finding.cost_ns / load(path).window.step_ns
    assert share == pytest.approx(_exposed_share(path), rel=1e-3)
    assert finding.message.startswith(f"the GPU only communicates in {share:.0%} of the steps")


def test_runs_of_one_process() -> None:
    for name in ("kineto__resnet50_num_workers_0", "tracelens__gemm_01_compute_few_tiles"):
        assert isinstance(report(path_of(name)).outcomes["TDY901"], NotApplicable)
    assert isinstance(report(path_of("hta__rank_non_gpu")).outcomes["TDY901"], NotChecked)
    assert not isinstance(report(path_of("ddp_gloo_rank0")).outcomes["TDY901"], Checked)
