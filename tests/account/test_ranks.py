"""Waiting for other ranks is told from transfer where several ranks' traces are there."""

from __future__ import annotations

import json
from collections.abc import Container
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidy
from tidy.account import Accountant, RankWaits, jobs_of, waits_for_ranks
from tidy.check.pipeline import among_ranks
from tidy.check.weigh import weigh
from tidy.finding import CostOfFinding, Finding, Fix, Saving, Severity
from tidy.savings import Edit
from tidy.trace import Intervals, Trace, TraceInfo
from tidy.trace.outline import parse_outline

from ..oracle.shared import load, path_of

_STEP_US, _TRANSFER_US = 1000, 100


def _trace(
    folder: Path,
    rank: int,
    arrives_us: list[int],
    latest_us: list[int],
    *,
    clock_us: int = 0,
    growth: int = 1,
) -> Trace:
    """One all-reduce a step: this rank arrives at one time, the last of the job at another."""
    events: list[dict[str, Any]] = []

    def add(category: str, name: str, ts: int, dur: int, where: int, **args: Any) -> None:
        event = {"ph": "X", "cat": category, "name": name, "ts": clock_us + ts, "dur": dur}
        events.append(event | {"pid": where, "tid": where, "args": args})

    for step, (arrives, latest) in enumerate(zip(arrives_us, latest_us, strict=True)):
        at = 10_000 + step * _STEP_US
        shapes = {"Input Dims": [[1024 + growth * step]], "External id": step + 1}
        add("user_annotation", f"ProfilerStep#{step}", at, _STEP_US, 77)
        add("cpu_op", "nccl:all_reduce", at + arrives - 10, 8, 77, **shapes)
        add("cuda_runtime", "cudaLaunchKernel", at + arrives - 8, 5, 77, correlation=step + 1)
        took = latest - arrives + _TRANSFER_US
        link = {"correlation": step + 1, "device": 0, "stream": 7}
        add("kernel", "ncclDevKernel_AllReduce_Sum_f32", at + arrives, took, 0, **link)
        add("cuda_runtime", "cudaStreamSynchronize", at + arrives, took + 5, 77, correlation=0)
    header = {"distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events}
    path = folder / f"rank{rank}.json"
    path.write_text(json.dumps(header), "utf-8")
    return tidy.load(path)


def _kinds(trace: Trace, waits: Any) -> dict[str, float]:
    (account,) = Accountant(trace, waits=waits).accounts()
    parts = [part for part in account.parts if part.part == "communication"]
    return {kind: ns / 1000 for part in parts for kind, ns in part.kinds}


@pytest.mark.parametrize("clock_us", [0, 7_000_000])
def test_the_rank_that_arrives_early_waits(tmp_path: Path, clock_us: int) -> None:
    early, late = [100, 300, 200], [400, 300, 250]
    first = _trace(tmp_path, 0, early, late)
    second = _trace(tmp_path, 1, late, late, clock_us=clock_us)
    waits = waits_for_ranks([first, second])
    assert _kinds(first, waits[0]) == {
        "waiting for other ranks": 300 + 0 + 50,
        "transfer": 3 * _TRANSFER_US,
    }
    assert _kinds(second, waits[1]) == {"transfer": 3 * _TRANSFER_US}


def test_a_device_that_waits_for_other_ranks_is_not_busy(tmp_path: Path) -> None:
    """Two all-reduces of 100 us in 2 ms; rank 0 waits 300 us for each. Alone it cannot tell."""
    ranks = [_trace(tmp_path, rank, [100 + 300 * rank] * 2, [400, 400]) for rank in range(2)]
    reports = among_ranks([tidy.check(trace) for trace in ranks])
    assert [report.summary.busy_share for report in reports] == [0.1, 0.1]
    alone = tidy.check(ranks[0])
    assert alone.summary.busy_share == 0.4
    assert "GPU busy 40% (100% of it communication)" in " ".join(str(alone).split())


def test_one_rank_cannot_tell(tmp_path: Path) -> None:
    trace = _trace(tmp_path, 0, [100, 100], [400, 400])
    assert waits_for_ranks([trace]) == [None]
    assert set(_kinds(trace, None)) == {"communication"}
    assert "waiting for other ranks" in str(tidy.check(trace))


def test_one_rank_tells_what_is_above_the_shortest_of_each_collective(tmp_path: Path) -> None:
    """Of collectives that are alike, by their order in the step, operation and size."""
    early = [100, 300, 200]
    alike = _trace(tmp_path, 0, early, [400, 300, 250], growth=0)
    assert _kinds(alike, None) == {
        "above the shortest of each collective": 300 + 0 + 50,
        "communication": 3 * _TRANSFER_US,
    }
    report = tidy.check(alike)
    assert report.accounts[0].of("communication") == 1000 * (350 + 3 * _TRANSFER_US)
    assert "communication (waiting included)" in str(report)
    assert "up to 117 us is above the shortest" in str(report)
    sizes_differ = _trace(tmp_path, 0, early, [400, 300, 250])
    assert "above the shortest of each collective" not in _kinds(sizes_differ, None)
    assert "above the shortest" not in str(tidy.check(sizes_differ))


def test_traces_of_different_jobs_are_not_matched(tmp_path: Path) -> None:
    trace = _trace(tmp_path, 0, [100, 100], [400, 400])
    assert waits_for_ranks([trace, trace]) == [None, None]


def test_another_number_of_collectives_in_a_step_is_not_matched(tmp_path: Path) -> None:
    first = _trace(tmp_path, 0, [100, 100, 100], [400, 400, 400])
    second = _trace(tmp_path, 1, [400, 400], [400, 400])
    waits = waits_for_ranks([first, second])
    assert _kinds(first, waits[0]) == {
        "waiting for other ranks": 600,
        "transfer": 2 * _TRANSFER_US,
        "communication": 400,
    }


def _fetch(trace: Trace) -> Finding:
    """A finding whose fix saves 50 us of the host before the second step's collective."""
    at = trace.steps[1].start_ns + 10_000
    host = {int(trace.track_id[0]): Intervals([at], [at + 50_000])}
    edit = Edit("made up", host=host)
    cost, fix = CostOfFinding(), Fix("", edit)
    return Finding("TDY000", "made-up", Severity.WARNING, "made up", None, (), cost, fix)


def test_a_rank_that_waits_gains_nothing_alone(tmp_path: Path) -> None:
    early, late = [100, 100, 100], [400, 400, 400]
    traces = _trace(tmp_path, 0, early, late), _trace(tmp_path, 1, late, late)
    first, second = (
        [
            weigh(t, [_fetch(t)], waits=w, everywhere=e, warn_from=0.9).findings[0].saving
            for e in ((), {_KEY})
        ]
        for t, w in zip(traces, waits_for_ranks(traces), strict=True)
    )
    alone, alike = first
    assert alone is not None
    assert alike is not None
    assert (alone.low_ns, alone.high_ns) == (0, round(50_000 / 3))
    assert (alike.low_ns, alike.high_ns) == (round(46_000 / 3), round(50_000 / 3))
    # The rank that all others wait for gains at once.
    alone, alike = second
    assert alone == alike


def test_a_device_that_waits_for_other_ranks_hides_nothing(tmp_path: Path) -> None:
    """The host's time lies where the kernel of the first rank waits for the second."""
    traces = [
        _trace(tmp_path, rank, [at_us] * 3, [400] * 3) for rank, at_us in enumerate([100, 400])
    ]
    waits, _ = waits_for_ranks(traces)
    at = traces[0].steps[1].start_ns + 150_000
    edit = Edit("made up", host={int(traces[0].track_id[0]): Intervals([at], [at + 100_000])})
    found = replace(_fetch(traces[0]), correction=Fix("", edit))
    reasons = []
    for each in (None, waits):
        (judged,) = weigh(traces[0], [found], waits=each, warn_from=0.9).findings
        assert judged.saving is not None
        reasons.append(judged.saving.why)
    hidden = "hidden: the GPU is busy for 100% of it"
    assert reasons == [hidden, "the GPU waits for other ranks all the same"]


def _saving(trace: Trace, waits: RankWaits | None, everywhere: Container[Any]) -> Saving | None:
    """All of it is in the first step: nothing is a warning, so that this is no reason to doubt."""
    found = [_fetch(trace)]
    weighed = weigh(trace, found, waits=waits, everywhere=everywhere, warn_from=0.9)
    return weighed.findings[0].saving


_KEY = ("TDY000", None)


def test_reports_of_ranks_know_of_one_another(tmp_path: Path) -> None:
    traces = [_trace(tmp_path, 0, [100] * 3, [400] * 3), _trace(tmp_path, 1, [400] * 3, [400] * 3)]
    first, second = among_ranks([tidy.check(trace) for trace in traces])
    causes = {part.cause for part in first.accounts[0].parts}
    assert {"rank-wait", "transfer"} <= causes
    assert "rank-wait" not in {part.cause for part in second.accounts[0].parts}


def test_the_ranks_of_a_recorded_job() -> None:
    traces = [load(path_of(f"param__dlrm__dlrm_kineto__worker{rank}_step_12")) for rank in (0, 1)]
    waits = waits_for_ranks(traces)
    for trace, each in zip(traces, waits, strict=True):
        assert each is not None
        assert len(each.rows) == 8
        assert (each.waiting_ns >= 0).all()
        assert (each.waiting_ns <= trace.duration_ns[each.rows]).all()
    # The second rank waits 5.5 ms in its first all-to-all, of which the first rank's takes 2.1.
    assert waits[1].waiting_ns.max() == 7_635_000 - 2_146_000


_TWO_DEVICES = """
# device 0 NVIDIA A100 8.0
# device 1 NVIDIA A100 8.0
ProfilerStep#1 400us
  c10d::allreduce_
    cudaLaunchKernel
      => ncclDevKernel_AllReduce 150us
  aten::mm 97us
  c10d::allreduce_
    cudaLaunchKernel
      => ncclDevKernel_AllReduce 50us cuda:1
"""


def test_devices_of_one_process_are_ranks_to_each_other() -> None:
    """The second kernel is launched 102 us after the first one, and both end together."""
    trace = parse_outline(_TWO_DEVICES)
    (waits,) = waits_for_ranks([trace])
    assert waits is not None
    by_device = dict(zip(trace.device[waits.rows].tolist(), waits.waiting_ns.tolist(), strict=True))
    assert by_device == {0: 100_000, 1: 0}
    assert set(waits.last.tolist()) == {1}
    (report,) = among_ranks([tidy.check(trace)])
    told = [{part.cause: part.time_ns for part in each.parts} for each in report.accounts]
    assert told[0]["rank-wait"] == 100_000
    assert told[0]["transfer"] == told[1]["transfer"] == 50_000
    assert "rank-wait" not in told[1]


@pytest.mark.parametrize(("said", "matched"), [({}, 5), ({"tidy_taken_off_ns": 1}, 7)])
def test_host_collectives_that_end_apart_are_not_matched(
    said: dict[str, Any], matched: int
) -> None:
    """From the sixth on the second rank's are others: they end 50 ms later, as no match does.

    A clock of tidy's recordings may have stood, so that only what lies between two ends tells.
    """
    traces = []
    for number, took_ms in enumerate((20, 1)):
        ops = "".join(f"gloo:barrier {took_ms}000us\nx {29 - took_ms}000us\n" for _ in range(5))
        ops += f"y {50 * number}000us\n" if number else ""
        ops += "".join(f"gloo:barrier {took_ms}000us\nx {29 - took_ms}000us\n" for _ in range(3))
        header = {"distributedInfo": {"rank": number, "world_size": 2}, **said}
        lines = "".join(f"# {key} {json.dumps(value)}\n" for key, value in header.items())
        traces.append(parse_outline(lines + ops))
    assert [len(each.rows) for each in waits_for_ranks(traces) if each] == [matched] * 2


def test_gloo_on_the_host() -> None:
    """Without kernels, what Gloo records of its work is matched; no account is parted by it."""
    text = "ProfilerStep#1 400us\n  c10d::barrier\nthread 2\ngloo:barrier {}us\n"
    rank = '# distributedInfo {{"rank": {}, "world_size": 2}}\n'
    first, second = (
        parse_outline(rank.format(number) + text.format(took))
        for number, took in enumerate((120, 20))
    )
    early, late = waits_for_ranks([first, second])
    assert early is not None
    assert late is not None
    assert (early.waiting_ns.tolist(), late.waiting_ns.tolist()) == ([100_000], [0])
    assert early.last.tolist() == late.last.tolist() == [1]
    for report in among_ranks([tidy.check(first), tidy.check(second)]):
        assert str(report)


@given(st.lists(st.tuples(st.sampled_from([None, 0, 1, 2]), st.sampled_from([None, 1, 2, 4]))))
def test_a_rank_joins_the_first_job_that_lacks_it(
    ranks: list[tuple[int | None, int | None]],
) -> None:
    """Of those with as large a world; what has no rank, or no world, is a job of its own."""
    infos = [
        TraceInfo(header={"distributedInfo": {"rank": rank, "world_size": size}})
        for rank, size in ranks
    ]
    jobs: list[list[int]] = []
    for number, (rank, size) in enumerate(ranks):
        lacking = (
            job
            for job in jobs
            if ranks[job[0]][1] == size
            and ranks[job[0]][0] is not None
            and rank not in [ranks[other][0] for other in job]
        )
        job = next(lacking, None) if rank is not None and (size or 1) > 1 else None
        if job is None:
            jobs.append([number])
        else:
            job.append(number)
    assert jobs_of(infos) == jobs


@pytest.mark.parametrize(
    ("paths", "jobs"),
    [
        # The first job lacks its last rank, its first ones, or all but one.
        (["a/0", "a/1", "b/0", "b/1", "b/2"], ["a/0 a/1", "b/0 b/1 b/2"]),
        (["a/1", "a/2", "b/0", "b/1", "b/2"], ["a/1 a/2", "b/0 b/1 b/2"]),
        (["a/2", "b/0", "b/1", "b/2"], ["a/2", "b/0 b/1 b/2"]),
        (["x/a/0", "x/a/1", "x/b/0", "x/b/2"], ["x/a/0 x/a/1", "x/b/0 x/b/2"]),
        (["a\\0", "a\\1", "b\\0", "b\\1", "b\\2"], ["a\\0 a\\1", "b\\0 b\\1 b\\2"]),
        # A folder for each rank: of each job, and of one of which a rank is there twice.
        (["a/r0/0", "a/r1/1", "b/r0/0", "b/r2/2"], ["a/r0/0 a/r1/1", "b/r0/0 b/r2/2"]),
        (["r0/0", "r0/again/0", "r1/1", "r2/2"], ["r0/0 r1/1 r2/2", "r0/again/0"]),
        # A folder for each node, and one of another job.
        (["n0/0", "n0/1", "n1/2", "z/0", "z/1", "z/2"], ["n0/0 n0/1 n1/2", "z/0 z/1 z/2"]),
        # A folder for each rank or node, and a file or a folder in it for each job.
        (["r0/a/0", "r0/b/0", "r1/b/1", "r1/a/1"], ["r0/a/0 r1/a/1", "r0/b/0 r1/b/1"]),
        (["r1/b/1", "r0/a/0", "r0/b/0"], ["r1/b/1 r0/b/0", "r0/a/0"]),
        (["a/0", "b/0", "./b/1", ".//a/1"], ["a/0 .//a/1", "b/0 ./b/1"]),
        # Names tell jobs of one folder apart, also if one of them lacks a rank.
        (["1-r0", "2-r0", "2-r1"], ["1-r0", "2-r0 2-r1"]),
        (["2-r1", "1-r1", "2-r2", "1-r2"], ["2-r1 2-r2", "1-r1 1-r2"]),
        (["1_0", "1_1", "2_1", "2_2"], ["1_0 1_1", "2_1 2_2"]),
        (["r0/b-0", "r1/a-1", "r1/b-1"], ["r0/b-0 r1/b-1", "r1/a-1"]),
        # Of one node each: those of a job lie beside its others.
        (["n0-0", "n0-1", "n1-2", "n0-again-0"], ["n0-0 n0-1 n1-2", "n0-again-0"]),
        (["x" * 99 + "9" * 5000 + "-0", "0", "1"], None),
        # Nothing tells two jobs of one folder apart.
        (["0", "1", "./0", "2"], ["0 1 2", "./0"]),
        (["/" * 2000 + "0", "/" * 2000 + "x/0", "/" * 2000 + "x/1"], None),
    ],
)
def test_ranks_of_a_folder_belong_together(paths: list[str], jobs: list[str] | None) -> None:
    infos = [
        TraceInfo(header={"distributedInfo": {"rank": int(path[-1]), "world_size": 3}}, path=path)
        for path in paths
    ]
    found = [" ".join(paths[number] for number in job) for job in jobs_of(infos)]
    assert found == (jobs or [paths[0], " ".join(paths[1:])])


def test_ranks_whose_files_have_one_name_belong_together() -> None:
    paths = ["rank0/run1.json", "rank0/run2.json", "rank1/run2.json"]
    infos = [
        TraceInfo(header={"distributedInfo": {"rank": int(path[4]), "world_size": 2}}, path=path)
        for path in paths
    ]
    assert jobs_of(infos) == [[0], [1, 2]]


@pytest.mark.parametrize(
    "scheme",
    [
        "rank{rank}/trace_{cycle}.json",
        "{rank}/{cycle}",
        "node{node}/gpu{local}/c{cycle}",
        "trace_{cycle}-rank{rank}.json",
    ],
)
@pytest.mark.parametrize(("ranks", "cycles"), [(2, 2), (2, 3), (4, 2), (8, 8)])
def test_cycles_that_are_numbered_as_ranks_are_not_joined(
    scheme: str, ranks: int, cycles: int
) -> None:
    files = [
        (scheme.format(rank=rank, node=rank // 2, local=rank % 2, cycle=cycle), rank, cycle)
        for rank in range(ranks)
        for cycle in range(cycles)
    ]
    for some in (files, files[1:]):
        infos = [
            TraceInfo(header={"distributedInfo": {"rank": rank, "world_size": ranks}}, path=path)
            for path, rank, _ in some
        ]
        found = [{some[number][2] for number in job} for job in jobs_of(infos)]
        assert sorted(map(sorted, found)) == [[cycle] for cycle in range(cycles)]


def test_many_traces_of_one_rank_take_no_longer_each() -> None:
    """Each is compared with the ranks of few jobs, however many there are."""
    compared = 0

    class Rank(int):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return int(self) == other

        __hash__ = int.__hash__

    class Given(NamedTuple):
        rank: int
        world_size: int
        path: str

    def count(given: int) -> int:
        nonlocal compared
        compared = 0
        assert len(jobs_of([Given(Rank(0), 2, f"runs/{at}/0") for at in range(given)])) == given
        return compared

    assert 0 < count(400) < 3 * count(200)
