"""What was once said wrongly of recorded traces is not said any more."""

from __future__ import annotations

import re

import pytest

from tidy import Severity
from tidy.trace import EventKind

from .shared import TRACES, findings, load, path_of, published, report, text_of

_ZOOLOGY = "misc__zoology"
_MTIA = "hta__mtia_inference_trace"
_GRAPHS = "hta__negative_queue_length"
_CUDA = "ProfilerActivity.CUDA"


@pytest.mark.parametrize("start", [_ZOOLOGY, _MTIA])
def test_no_remedy_is_what_was_done(start: str) -> None:
    """One recorded CUDA, and its kernels were lost; the other's device is no GPU."""
    path = path_of(start)
    assert re.search(r"cudaLaunchKernel|mtia_runtime", text_of(path))
    remedies = {code: why.remedy for code, why in report(path).not_checked.items()}
    assert remedies
    assert [code for code, remedy in remedies.items() if _CUDA in remedy] == []


def test_kernels_that_were_lost() -> None:
    reasons = {why.reason for why in report(path_of(_ZOOLOGY)).not_checked.values()}
    assert "the profiler recorded 260 launches and no kernel: it lost the work of the device" in (
        reasons
    )


@pytest.mark.parametrize(
    ("start", "code"), [("kineto__resnet50_num_workers_0", "TDY105"), (_GRAPHS, "TDY406")]
)
def test_what_old_releases_do_not_record_is_not_checked(start: str, code: str) -> None:
    """Functions of Python, and the numbers that operators are called with."""
    assert code in report(path_of(start)).not_checked


def test_an_accelerator_is_no_cpu() -> None:
    summary = report(path_of(_MTIA)).summary
    assert not summary.is_cpu_run
    assert summary.device_sort == "MTIA"


@pytest.mark.parametrize("start", ["hta__trace_filter__sampled_rank-0", "hta__nccl_parser_config"])
def test_no_synchronising_calls_only_where_there_are_none(start: str) -> None:
    path = path_of(start)
    has_some = re.search(r'"(cu|cuda|hip)\w*Synchronize', text_of(path)) is not None
    why = report(path).not_checked.get("TDY302")
    assert (why is None) == has_some


@pytest.mark.parametrize(
    "start", [_GRAPHS, "hta__nccl_parser_config", "hta__trace_filter__sampled_rank-0"]
)
def test_loops_inside_c_plus_plus(start: str) -> None:
    """Views of flat buckets in the reducer's `## backward ##`, and of nine rows."""
    assert findings(path_of(start), "TDY404") == []


_ON_V100 = ("kineto__resnet50_num_workers_0", "kineto__resnet50_num_workers_4")


@pytest.mark.parametrize("start", [*_ON_V100, _GRAPHS, "hta__nccl_parser_config"])
def test_tf32_where_there_is_none_or_it_is_on(start: str) -> None:
    assert findings(path_of(start), "TDY501") == []


_TRACELENS = [path for path in published() if path.name.startswith("tracelens__")]


@pytest.mark.parametrize("code", ["TDY503", "TDY501"])
def test_what_gains_little_is_info(code: str) -> None:
    """One product of a vector in float32 among thousands, and sizes that a batch decides."""
    found = [f for path in _TRACELENS for f in findings(path, code)]
    assert found
    assert {each.severity for each in found} == {Severity.INFO}


def test_items_of_graphs_that_wait_for_nothing() -> None:
    """Of 945 items few wait; the others are numbers on the CPU."""
    trace = load(path_of(_GRAPHS))
    items = [row for row in trace.rows_named("aten::item") if trace.kind[row] == EventKind.TorchOp]
    found = findings(path_of(_GRAPHS), "TDY301")
    assert len(items) == 945
    assert sum(each.count for each in found) < 50


def test_plurals() -> None:
    messages = [finding.message for path in TRACES for finding in report(path).findings]
    assert len(messages) > 40
    wrong = re.compile(r"\b1 (others|steps|kernels|calls|launches)\b")
    assert [each for each in messages if wrong.search(each)] == []
