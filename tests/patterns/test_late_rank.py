"""TDY902: which rank the others wait for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import tidy
from tidy.account import waits_for_ranks
from tidy.check.weigh import weigh
from tidy.finding import Checked, Finding, NotApplicable, NotChecked, Severity
from tidy.patterns.rules.late_rank import LateRank
from tidy.patterns.runner import run_on_ranks
from tidy.trace import Trace

from ..cli.command import tidy as command
from ..oracle.shared import load, path_of, report

_STEP_US, _TRANSFER_US = 1000, 100


def _trace(
    folder: Path, rank: int, arrives_us: Sequence[int], latest_us: Sequence[int], **more: Any
) -> Trace:
    """A step for each pair: when this rank comes to the all-reduce, and when the last one does.

    Args:
        more: `world`, `clock_us`, `hidden` (a kernel beside each all-reduce), `nbytes` of each,
            `cold_us` (by how much the first step is longer), `computes` (a kernel before the first
            all-reduce, so long that this is launched long before it begins).
    """
    events: list[dict[str, Any]] = []

    def add(category: str, name: str, ts: int, dur: int, where: int, **args: Any) -> None:
        event = {"ph": "X", "cat": category, "name": name, "ts": ts, "dur": dur}
        events.append(event | {"pid": where, "tid": where, "args": args})

    for step, (arrives, latest) in enumerate(zip(arrives_us, latest_us, strict=True)):
        cold_us = more.get("cold_us", 0)
        at = more.get("clock_us", 0) + 10_000 + step * _STEP_US + (cold_us if step else 0)
        link = {"correlation": step + 1, "device": 0, "stream": 7}
        lasts_us = _STEP_US + (0 if step else cold_us)
        add("user_annotation", f"ProfilerStep#{step}", at, lasts_us, 77)
        if cold_us and not step:
            add("cuda_runtime", "cudaMalloc", at, 50, 77, correlation=0)
        shapes = {"Input Dims": [[more.get("size", 1024)]], "External id": step + 1}
        add("cpu_op", "nccl:all_reduce", at + arrives - 10, 8, 77, **shapes)
        ahead_us = arrives - 60 if more.get("computes") and not step else 8
        add(
            "cuda_runtime", "cudaLaunchKernel", at + arrives - ahead_us, 5, 77, correlation=step + 1
        )
        took = latest - arrives + _TRANSFER_US
        add("kernel", "ncclDevKernel_AllReduce_Sum_f32", at + arrives, took, 0, **link)
        for before in (40, 30):
            add("cuda_runtime", "cudaEventRecord", at + arrives - before, 5, 77, correlation=0)
        add("cuda_runtime", "cudaStreamSynchronize", at + arrives, took + 5, 77, correlation=0)
        if more.get("hidden"):
            add("kernel", "gemm", at + arrives, took, 0, device=0, stream=8)
    header = {
        "distributedInfo": {"rank": rank, "world_size": more.get("world", 2)},
        "traceEvents": events,
    }
    path = folder / f"rank{rank}.json"
    path.write_text(json.dumps(header), "utf-8")
    return tidy.load(path)


def _found(traces: Sequence[Trace]) -> list[tuple[Finding, ...]]:
    """The findings on each rank."""
    outcomes = [each["TDY902"] for each in run_on_ranks(traces, [LateRank()])]
    assert all(isinstance(each, Checked) for each in outcomes)
    return [each.findings for each in outcomes if isinstance(each, Checked)]


@pytest.mark.parametrize("clock_us", [0, 7_000_000])
def test_the_rank_that_comes_last_is_named(tmp_path: Path, clock_us: int) -> None:
    early, late = [100] * 3, [400, 400, 350]
    traces = [
        _trace(tmp_path, 0, early, late),
        _trace(tmp_path, 1, late, late, clock_us=clock_us),
    ]
    (waits,), nothing = _found(traces)
    assert nothing == ()
    assert waits.cost_ns == round((300 + 300 + 250) * 1000 / 3)
    assert waits.severity == Severity.WARNING
    assert waits.message.startswith("rank 0 waits for rank 1, which comes last to 3 of 3")
    assert waits.message.endswith("its host launches them late")


@pytest.mark.parametrize("first_late", [0, 1])
def test_a_first_step_does_not_tell_which_rank_is_late_nor_why(
    tmp_path: Path, first_late: int
) -> None:
    """In the first step one rank compiles, or its GPU computes; later rank 1's host is late."""
    latest, late, early = [9100, 400, 400, 400], [9100, 400, 400, 400], [100, 100, 100, 100]
    of_ranks = [[9100, *early[1:]], [100, *late[1:]]] if first_late == 0 else [early, late]
    traces = [
        _trace(tmp_path, rank, arrives, latest, cold_us=9000, computes=True)
        for rank, arrives in enumerate(of_ranks)
    ]
    (waits,), nothing = _found(traces)
    assert nothing == ()
    assert waits.message.startswith("rank 0 waits for rank 1, which comes last to 3 of 3")
    assert waits.message.endswith("its host launches them late")


def test_of_three_ranks_the_late_one(tmp_path: Path) -> None:
    late = [500] * 4
    traces = [
        _trace(tmp_path, rank, arrives, late, world=3)
        for rank, arrives in enumerate(([100] * 4, late, [200] * 4))
    ]
    found = _found(traces)
    assert [len(each) for each in found] == [1, 0, 1]
    assert all("waits for rank 1, which" in each[0].message for each in found if each)


def test_the_saving_is_that_of_a_late_rank_which_comes_with_the_others(tmp_path: Path) -> None:
    """Ranks come at 100, 200, 300 and 700 us: by 400 us later than the third, 500 than the median.

    The third one waits 400 us, and no longer in either case.
    """
    arrives = [100, 200, 300, 700]
    traces = [
        _trace(tmp_path, rank, [at_us] * 4, [700] * 4, world=4)
        for rank, at_us in enumerate(arrives)
    ]
    found = _found(traces)
    saved = []
    for trace, waits, findings in zip(traces, waits_for_ranks(traces), found, strict=True):
        for each in weigh(trace, findings, waits=waits).findings:
            assert each.saving is not None
            assert each.severity == Severity.WARNING
            saved.append((each.saving.low_ns, each.saving.high_ns))
    assert saved == [(368_000, 500_000), (368_000, 500_000), (368_000, 400_000)]


def test_ranks_that_are_late_by_turns_are_not_named(tmp_path: Path) -> None:
    first, second = [100, 400, 100, 400], [400, 100, 400, 100]
    latest = [400] * 4
    found = _found([_trace(tmp_path, 0, first, latest), _trace(tmp_path, 1, second, latest)])
    for (waits,) in found:
        assert waits.message.endswith("waits for other ranks, which come last by turns")
        assert waits.edit is None


def test_ranks_of_which_only_some_were_recorded(tmp_path: Path) -> None:
    late = [400] * 3
    traces = [
        _trace(tmp_path, 0, [100] * 3, late, world=8),
        _trace(tmp_path, 1, late, late, world=8),
    ]
    ((found,), _) = _found(traces)
    assert found.message.endswith("(of 2 of 8 ranks)")
    (judged,) = weigh(traces[0], [found], waits=waits_for_ranks(traces)[0]).findings
    assert judged.saving is not None
    assert (judged.saving.low_ns, judged.saving.high_ns) == (0, 300_000)
    assert judged.saving.why == "a rank whose trace was not given may come later still"


@pytest.mark.parametrize("late_us", [101, 105])
def test_quiet_where_all_arrive_together(tmp_path: Path, late_us: int) -> None:
    late = [late_us] * 3
    assert _found([_trace(tmp_path, 0, [100] * 3, late), _trace(tmp_path, 1, late, late)]) == [
        (),
        (),
    ]


def test_quiet_where_the_gpu_computes_meanwhile(tmp_path: Path) -> None:
    late = [400] * 3
    first = _trace(tmp_path, 0, [100] * 3, late, hidden=True)
    assert _found([first, _trace(tmp_path, 1, late, late)]) == [(), ()]


def test_what_cannot_be_matched_is_not_checked(tmp_path: Path) -> None:
    late = [400] * 3
    traces = [_trace(tmp_path, 0, [100] * 3, late), _trace(tmp_path, 1, late, late, size=2048)]
    outcomes = [each["TDY902"] for each in run_on_ranks(traces, [LateRank()])]
    assert all(isinstance(each, NotChecked) for each in outcomes)


def test_one_rank_is_not_checked(tmp_path: Path) -> None:
    outcome = tidy.check(_trace(tmp_path, 0, [100] * 3, [400] * 3)).outcomes["TDY902"]
    assert isinstance(outcome, NotChecked)
    assert "all ranks" in outcome.remedy


def test_the_command_tells_both_ranks_together(tmp_path: Path) -> None:
    late = [400] * 3
    _trace(tmp_path, 0, [100] * 3, late)
    _trace(tmp_path, 1, late, late)
    done = command(
        "report", "--format", "json", "--select", "TDY902", "rank0.json", "rank1.json", cwd=tmp_path
    )
    first, second = json.loads(done.out)["traces"]
    assert [each["code"] for each in first["findings"]] == ["TDY902"]
    assert second["findings"] == first["not_checked"] == second["not_checked"] == []


def test_a_rule_that_fails_on_ranks_crashes_alone(tmp_path: Path) -> None:
    class Broken(LateRank):
        def find_on_ranks(self, traces: Sequence[Trace]) -> Any:
            raise ValueError("no such rank")

    trace = _trace(tmp_path, 0, [100], [400])
    for each in run_on_ranks([trace, trace], [Broken()]):
        assert "no such rank" in str(each["TDY902"])


def test_the_ranks_of_a_recorded_job() -> None:
    """Of its first all-to-all the second rank's kernel takes 7,635 us, the first rank's 2,146."""
    names = [f"param__dlrm__dlrm_kineto__worker{rank}_step_12" for rank in (0, 1)]
    first, second = _found([load(path_of(name)) for name in names])
    assert first == ()
    (waits,) = second
    assert waits.message.startswith("rank 1 waits for rank 0, which comes last to 5 of 8")
    assert waits.message.endswith("(of 2 of 8 ranks)")
    assert 5_489_000 <= waits.cost_ns < 5_700_000


def test_the_rank_that_sleeps() -> None:
    """The second rank sleeps 20 ms before the barrier of each of three steps; Gloo, on the CPU."""
    first, second = _found([load(path_of(f"ddp_gloo_rank{rank}")) for rank in (0, 1)])
    assert second == ()
    (waits,) = first
    assert waits.message.startswith("rank 0 waits for rank 1, which comes last")
    assert 60_000_000 <= 3 * waits.cost_ns < 64_000_000
    assert waits.location is not None
    assert ", by 20." in waits.message
    assert waits.edit is not None


@pytest.mark.parametrize(
    "name",
    ["kineto__resnet50_num_workers_0", "tracelens__h100__Qwen_Qwen1", "misc__particle_transformer"],
)
def test_runs_of_one_process(name: str) -> None:
    assert isinstance(report(path_of(name)).outcomes["TDY902"], NotApplicable)
