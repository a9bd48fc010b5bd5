"""TDY301: who waits, how often, and what it costs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tidy import Severity
from tidy.finding import Checked, NotChecked
from tidy.patterns.examples import GPU, steps, to_gpu, under
from tidy.patterns.rules.host_sync_in_loop import HostSyncInLoop
from tidy.patterns.runner import run_patterns
from tidy.trace.outline import parse_outline

from ..oracle.shared import decoded, findings, path_of, report
from .outlines import READ, WORK, said

_HOST_WORK = "aten::zeros 60us\n"


def test_each_step_is_a_warning() -> None:
    (finding,) = said(HostSyncInLoop, steps(WORK, READ, _HOST_WORK, WORK))
    assert (finding.count, finding.severity) == (3, Severity.WARNING)
    assert "item()" in finding.message


def test_the_cost_is_the_idle_time_after_the_read() -> None:
    """A read waits for some 150 us; then the host works for 60 us before it launches more."""
    (finding,) = said(HostSyncInLoop, steps(WORK, READ, _HOST_WORK, WORK))
    assert 60_000 <= finding.cost_ns <= 70_000


def test_no_more_is_saved_than_the_host_waited() -> None:
    """The GPU idles for 60 us, but the host had nearly caught up with it anyway."""
    short = READ.replace("150us", "2us").replace(" 3us", " 1us")
    (finding,) = said(HostSyncInLoop, steps(short, _HOST_WORK, WORK))
    assert finding.cost_ns <= 4_000
    assert finding.severity == Severity.INFO


def test_a_gpu_that_works_on_loses_nothing() -> None:
    """As on another stream."""
    (finding,) = said(HostSyncInLoop, steps(WORK.replace("100us", "600us"), READ, WORK))
    assert (finding.cost_ns, finding.severity) == (0, Severity.INFO)


def test_idle_time_ends_with_the_step_but_its_weight_does_not() -> None:
    """`loss.item()` at the end of each step: the next one has to begin with an idle GPU."""
    (finding,) = said(HostSyncInLoop, steps(WORK, READ, lasts_us=200))
    assert finding.severity == Severity.WARNING
    assert finding.cost_ns < 50_000


def test_now_and_then_is_info() -> None:
    every = under("ProfilerStep#0 900us", WORK, READ, _HOST_WORK, WORK)
    between = steps(WORK, count=4)
    (finding,) = said(HostSyncInLoop, (every + between) * 2)
    assert (finding.count, finding.severity) == (2, Severity.INFO)


def test_once_is_nothing_and_three_times_in_a_step_is_something() -> None:
    assert said(HostSyncInLoop, under("ProfilerStep#0 900us", WORK, READ, READ)) == []
    (finding,) = said(HostSyncInLoop, under("ProfilerStep#0 900us", WORK, READ * 3))
    assert finding.count == 3


def test_reads_at_two_lines_are_two_places() -> None:
    lines = [under(f"train.py({line}): f{line}", READ) for line in (3, 5)]
    found = said(HostSyncInLoop, steps(WORK, *lines))
    assert [str(finding.location) for finding in found] == ["train.py:3", "train.py:5"]


@pytest.mark.parametrize(
    ("op", "severity", "fix"),
    [
        ("aten::item", Severity.WARNING, "read once after the loop"),
        ("aten::index", Severity.WARNING, "torch.where"),
        ("aten::masked_select", Severity.WARNING, "torch.where"),
        ("aten::index_put_", Severity.WARNING, "masked_fill_"),
        ("aten::repeat_interleave", Severity.WARNING, "output_size="),
        ("aten::nonzero", Severity.INFO, "topk"),
        ("aten::_unique2", Severity.INFO, "once"),
    ],
)
def test_a_selection_is_not_to_be_read_later(op: str, severity: Severity, fix: str) -> None:
    """The next operators need to know how many elements there are."""
    read = READ.replace("aten::item", op)
    (finding,) = said(HostSyncInLoop, steps(WORK, read, _HOST_WORK, WORK))
    assert (finding.severity, fix in finding.fix) == (severity, True)
    assert ("after the loop" in finding.fix) == (op == "aten::item")


def test_what_the_optimizer_reads_is_info() -> None:
    (finding,) = said(
        HostSyncInLoop, steps(WORK, under("Optimizer.step#Adam.step", READ), _HOST_WORK, WORK)
    )
    assert finding.severity == Severity.INFO
    assert "optimizer" in finding.message


def test_an_optimizer_of_ones_own_is_ones_own_code() -> None:
    step = under("Optimizer.step#Mine.step", under("mine.py(3): step", READ))
    (finding,) = said(HostSyncInLoop, steps(WORK, step, _HOST_WORK, WORK))
    assert (str(finding.location), finding.severity) == ("mine.py:3", Severity.WARNING)


def test_the_gradient_scaler_is_told_by_its_ops_where_there_are_no_stacks() -> None:
    unscale = "aten::_amp_foreach_non_finite_check_and_unscale_\n"
    update = "Optimizer.step#SGD.step\n"
    assert said(HostSyncInLoop, steps(WORK, unscale, READ, update)) == []
    assert len(said(HostSyncInLoop, steps(WORK, unscale, READ, WORK, update))) == 1


def test_a_wait_in_the_profiler_is_not_the_scripts() -> None:
    frame = "torch/profiler/profiler.py(700): step"
    assert said(HostSyncInLoop, steps(WORK, under("train.py(1): f", under(frame, READ)))) == []


def test_uploads_are_other_rules() -> None:
    assert said(HostSyncInLoop, steps(to_gpu("Pageable", 1 << 20), WORK)) == []


def test_a_read_waits_also_where_the_file_lost_the_call_that_does() -> None:
    cut = READ.replace("Pageable", "Pinned").replace("    cudaStreamSynchronize 3us\n", "")
    (finding,) = said(HostSyncInLoop, steps(WORK, cut))
    assert finding.count == 3


def test_without_calls_nothing_is_known() -> None:
    trace = parse_outline(GPU + "aten::item\n  => Memcpy DtoH (Device -> Pageable) 1us 4B\n")
    outcome = run_patterns(trace, [HostSyncInLoop()])["TDY301"]
    assert isinstance(outcome, NotChecked)


@pytest.mark.parametrize(
    ("op", "inner", "call"),
    [
        ("aten::is_nonzero", "aten::item", "cudaStreamSynchronize"),
        ("aten::index", "aten::nonzero", "hipStreamSynchronize"),
        ("aten::unique_consecutive", "aten::unique_consecutive", "cudaStreamSynchronize"),
        ("aten::nonzero", "aten::nonzero", "hipMemcpyWithStream"),
    ],
)
def test_the_outermost_op_is_named(op: str, inner: str, call: str) -> None:
    (finding,) = said(HostSyncInLoop, steps(WORK, under(op, under(inner, f"{call} 50us\n"))))
    assert {event.name for event in finding.events} == {op}


def _reads_by_op(events: list[dict[str, Any]]) -> Counter[str]:
    """Copies to pageable memory by the shortest op around the call that launched them."""
    calls = {e["args"]["correlation"]: e for e in events if e.get("cat") == "cuda_runtime"}
    ops = [e for e in events if e.get("cat") == "cpu_op"]
    found: Counter[str] = Counter()
    for event in events:
        if event.get("name") == "Memcpy DtoH (Device -> Pageable)":
            call = calls[event["args"]["correlation"]]
            around = [
                op
                for op in ops
                if op["tid"] == call["tid"] and op["ts"] <= call["ts"] <= op["ts"] + op["dur"]
            ]
            found[min(around, key=lambda op: op["dur"])["name"]] += 1
    return found


@pytest.mark.parametrize("rank", [0, 1])
def test_reads_of_a_recommendation_model(rank: int) -> None:
    """All reads of values, in both steps; a copy on rank 0 is alone at its place."""
    path = path_of(f"hta__trace_filter__sampled_rank-{rank}")
    raw = _reads_by_op(decoded(path)["traceEvents"])
    found = {finding.events[0].name: finding for finding in findings(path, "TDY301")}
    # In whole microseconds the two may be equally long.
    assert found["aten::item"].count == raw["aten::_local_scalar_dense"] + raw["aten::item"]
    assert found["aten::to"].count == raw["aten::copy_"] - (rank == 0)
    assert {finding.severity for finding in found.values()} == {Severity.INFO}


@pytest.mark.parametrize(
    "name",
    [
        "param__dlrm__dlrm_kineto__worker0_step_12",  # 57 items, of them none on the GPU
        "tracelens__h100__gaunernst_bert-small-uncased__1016001",  # one item in one step
        "tracelens__h100__Qwen_Qwen1.5-0.5B-Chat__1016005",
        "tracelens__mi300__gaunernst_bert-small-uncased__1016001",
        "kineto__resnet50_num_workers_0",  # its waits are copies to the GPU
        "hta__critical_path__cuda_event_sync__event_sync_trace",
    ],
)
def test_reads_that_do_not_repeat_or_do_not_wait(name: str) -> None:
    assert report(path_of(name)).outcomes["TDY301"] == Checked()
