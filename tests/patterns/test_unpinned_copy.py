"""TDY103, and which of the two rules about copies speaks."""

from __future__ import annotations

import warnings
from collections import Counter

import pytest

from tidy import Severity
from tidy.finding import NotApplicable, NotChecked
from tidy.patterns.examples import copy, steps, to_gpu, under
from tidy.patterns.rules.blocking_copy import BlockingCopy
from tidy.patterns.rules.extra_device_copy import ExtraDeviceCopy
from tidy.patterns.rules.unpinned_copy import UnpinnedCopy

from ..oracle.shared import (
    ON_A_CPU,
    decoded,
    findings,
    load,
    path_of,
    report,
)
from .outlines import WORK, said

_LARGE = 64 * 1024 * 4


def test_one_step_is_no_loop() -> None:
    assert said(UnpinnedCopy, steps(to_gpu("Pageable", _LARGE), WORK, count=1)) == []
    assert len(said(UnpinnedCopy, steps(to_gpu("Pageable", _LARGE), WORK, count=2))) == 1


def test_copies_before_the_first_step_do_not_count() -> None:
    (finding,) = said(UnpinnedCopy, to_gpu("Pageable", _LARGE) + steps(to_gpu("Pageable", _LARGE)))
    assert finding.count == 3


def test_without_steps_three_rounds_of_work_make_a_loop() -> None:
    copy = to_gpu("Pageable", _LARGE)
    assert said(UnpinnedCopy, copy * 9 + WORK) == []
    assert said(UnpinnedCopy, (copy + WORK) * 2) == []
    (finding,) = said(UnpinnedCopy, (copy + WORK) * 3)
    assert finding.count == 3


def test_small_copies_count_with_large_ones_but_not_alone() -> None:
    small, large = to_gpu("Pageable", 256, "64"), to_gpu("Pageable", _LARGE)
    assert said(UnpinnedCopy, steps(small, WORK)) == []
    (finding,) = said(UnpinnedCopy, steps(large, small, WORK))
    assert finding.count == 6


def test_scalars_never_count() -> None:
    scalar, large = to_gpu("Pageable", 4, ""), to_gpu("Pageable", _LARGE)
    (finding,) = said(UnpinnedCopy, steps(large, scalar, WORK))
    assert finding.count == 3


def test_a_fill_that_is_copied_is_the_business_of_another_rule() -> None:
    fill = "aten::zeros\n  aten::zero_ | float[64, 1024]\n"
    outline = steps(fill, to_gpu("Pageable", _LARGE), WORK)
    assert len(said(ExtraDeviceCopy, outline)) == 1
    assert said(UnpinnedCopy, outline) == []


_BACK = copy("DtoH (Device -> Pageable) 20us 262144B", op="aten::copy_")


def test_what_a_loop_copies_back_counts_with_it() -> None:
    """Its tensors are the program's own where it calls `copy_`, and new ones after `.cpu()`."""
    there = to_gpu("Pageable", _LARGE)
    (finding,) = said(UnpinnedCopy, steps(there, WORK, _BACK))
    assert (finding.count, "and back" in finding.message) == (6, True)
    assert finding.fix.startswith("pin both tensors")
    (finding,) = said(UnpinnedCopy, steps(there, WORK, under("aten::to", _BACK)))
    assert (finding.count, "and back" in finding.message) == (3, False)
    assert said(UnpinnedCopy, steps(WORK, _BACK)) == []


def test_indexes_that_pytorch_copies_by_itself_do_not_count() -> None:
    assert said(UnpinnedCopy, steps(under("aten::index", to_gpu("Pageable", _LARGE)), WORK)) == []


def test_a_module_that_moves_does_not_count() -> None:
    move = under("torch/nn/modules/module.py(900): _apply", to_gpu("Pageable", _LARGE))
    assert said(UnpinnedCopy, steps(move, WORK)) == []


def test_time_that_other_work_covers_is_no_saving() -> None:
    """The kernel launched before works on for longer than the copy takes."""
    (alone,) = said(UnpinnedCopy, steps(to_gpu("Pageable", _LARGE), lasts_us=900))
    assert alone.severity == Severity.WARNING
    assert 20_000 <= alone.cost_ns <= 40_000
    long_work = WORK.replace("100us", "400us")
    (covered,) = said(UnpinnedCopy, steps(long_work, to_gpu("Pageable", _LARGE), lasts_us=900))
    assert (covered.severity, covered.cost_ns) == (Severity.INFO, 0)


def test_what_the_device_did_before_the_recording_is_not_counted() -> None:
    """The first copy waits for work that was launched before the profiler began.

    It is in a step of 9 ms, which is left out: the others take 1 ms.
    """
    slow = to_gpu("Pageable", _LARGE).replace("cudaMemcpyAsync", "cudaMemcpyAsync 5000us")
    first = under("ProfilerStep#0 9000us", slow, WORK)
    then = steps(to_gpu("Pageable", _LARGE), WORK, count=2)
    finding, outside = said(UnpinnedCopy, first + then)
    assert (finding.count, finding.in_window) == (2, True)
    assert finding.cost_ns < 40_000
    assert (outside.count, outside.in_window, outside.cost_ns) == (1, False, 0)
    assert outside.severity == Severity.INFO


def test_pinned_memory_is_the_business_of_the_other_rule() -> None:
    outline = steps(to_gpu("Pinned", _LARGE), WORK)
    assert said(UnpinnedCopy, outline) == []
    assert len(said(BlockingCopy, outline)) == 1
    outline = steps(to_gpu("Pageable", _LARGE), WORK)
    assert said(BlockingCopy, outline) == []


@pytest.mark.parametrize("workers", [0, 4])
def test_resnet50_copies_from_pageable_memory(workers: int) -> None:
    """Images and labels of six steps, both in line 44 of the script."""
    path = path_of(f"kineto__resnet50_num_workers_{workers}")
    copies = [e for e in decoded(path)["traceEvents"] if "Pageable -> Device" in e.get("name", "")]
    assert Counter(e["args"]["bytes"] for e in copies) == {32 * 3 * 224 * 224 * 4: 6, 32 * 8: 6}
    (finding,) = findings(path, "TDY103")
    assert str(finding.location) == "resnet50_profiler_api.py:44"
    assert finding.count == len(copies)
    assert finding.saving is not None
    # Without workers the copies wait for next to nothing, as the GPU has no work by then.
    assert finding.severity == (Severity.WARNING if workers else Severity.INFO)
    # The first copies of each step wait for what the device has to do; then it waits for them.
    assert finding.saving.high_ns <= finding.cost_ns
    assert finding.saving.low_ns == 0 or workers
    assert findings(path, "TDY104") == []


@pytest.mark.parametrize(
    "name",
    [
        "hta__critical_path__alexnet__benchmark_result_2869224_1695835535_trace",  # its parameters
        "hta__history__with_gpu_user_annotation_step_based_trace_2543932",  # scalars
        "hta__trace_filter__sampled_rank-0",  # at most 5 KB
        "param__dlrm__dlrm_kineto__worker0_step_12",  # at most 3 KB
    ],
)
def test_pageable_copies_that_are_not_worth_pinning(name: str) -> None:
    events = decoded(path_of(name))["traceEvents"]
    assert any("HtoD (Pageable" in event.get("name", "") for event in events)
    assert findings(path_of(name), "TDY103") == []


@pytest.mark.parametrize("code", ["TDY103", "TDY104"])
def test_rocm_does_not_tell(code: str) -> None:
    outcome = report(path_of("hta__amd_trace__mi250_minitoy_train_ROCm6_2_kineto")).outcomes[code]
    assert isinstance(outcome, NotChecked)


@pytest.mark.parametrize("code", ["TDY103", "TDY104", "TDY301", "TDY302"])
def test_runs_on_the_cpu_have_nothing_to_wait_for(code: str) -> None:
    cpu_runs = [path for path in ON_A_CPU if load(path).is_cpu_run]
    assert cpu_runs
    for path in cpu_runs:
        assert isinstance(report(path).outcomes[code], NotApplicable), path.name


def test_copies_that_take_no_time_by_the_recording_are_found_as_well() -> None:
    at_once = to_gpu("Pageable", _LARGE).replace("20us", "0us")
    outline = "# device 0 NVIDIA A100 8.0\n" + steps(at_once, WORK)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (finding,) = said(UnpinnedCopy, outline)
    assert finding.edit is not None
