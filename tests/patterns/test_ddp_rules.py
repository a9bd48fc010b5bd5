"""TDY904 to TDY907: what DistributedDataParallel does in each step, on recorded traces."""

from __future__ import annotations

import pytest

import tidy
from tidy.finding import NotChecked, Severity
from tidy.trace.outline import parse_outline

from ..oracle.shared import decoded, findings, load, path_of, published, report

_CODES = ("TDY904", "TDY905", "TDY906", "TDY907")


@pytest.mark.parametrize(
    ("name", "copies"),
    [("hta__nccl_parser_config__nccl_data", 159), ("tracelens__mi300__resnet_act_checkpoint", 60)],
)
def test_buffers_of_recorded_jobs(name: str, copies: int) -> None:
    """ResNets, whose batch norms have three buffers each: 53 of them, and 20."""
    found = findings(path_of(name), "TDY906")
    assert sum(each.count for each in found) == 3
    assert all(f"{copies} tensors" in each.message for each in found)


def test_the_buffers_of_a_recorded_job_cost_what_the_file_says() -> None:
    """From the first flatten_dense_tensors to the last copy before the model, in each forward."""
    name = "hta__nccl_parser_config__nccl_data"
    events = [each for each in decoded(path_of(name))["traceEvents"] if each.get("cat") == "cpu_op"]
    forwards = [
        each
        for each in decoded(path_of(name))["traceEvents"]
        if each.get("name") == "DistributedDataParallel.forward"
        and each.get("cat") == "user_annotation"
    ]
    in_all = 0.0
    for forward in forwards:
        end = forward["ts"] + forward["dur"]
        own = [
            each
            for each in events
            if forward["ts"] <= each["ts"] < end and each["tid"] == forward["tid"]
        ]
        model = min(each["ts"] for each in own if each["name"] == "aten::conv2d")
        before = [each for each in own if each["ts"] < model]
        copies = [each["ts"] + each["dur"] for each in before if each["name"] == "aten::copy_"]
        in_all += max(copies) - min(each["ts"] for each in before)
    (found,) = findings(path_of(name), "TDY906")
    assert found.severity == Severity.WARNING
    steps = len(load(path_of(name)).window.steps)
    assert found.cost_ns * steps == pytest.approx(in_all * 1000, rel=0.01)


def test_nothing_is_said_of_other_recorded_jobs() -> None:
    """DLRM's two modules a step, FSDP's and TorchRec's collectives, one loss of two forwards."""
    found = {
        (finding.code, path.name.partition(".")[0])
        for path in published()
        for finding in report(path).findings
        if finding.code in _CODES
    }
    assert {name for code, name in found if code != "TDY906"} == set()


def test_without_shapes_micro_batches_are_not_told_from_models() -> None:
    forward = "DistributedDataParallel.forward 20us\n  aten::linear\n"
    hook = (
        "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad\n"
        "  c10d::allreduce_\n    cudaLaunchKernel\n      => ncclDevKernel_AllReduce 50us\n"
    )
    text = (forward + hook) * 2 + "Optimizer.step#SGD.step\n"
    outcome = tidy.check(parse_outline(text)).outcomes["TDY905"]
    assert isinstance(outcome, NotChecked)


def test_of_tensor_parallel_layers_in_the_backward_nothing_is_said() -> None:
    """All-reduces of a function's backward: the layer below waits for each of them."""
    layer = (
        "autograd::engine::evaluate_function: _CopyToModelParallelRegionBackward\n"
        "  _CopyToModelParallelRegionBackward\n"
        "    c10d::allreduce_ | float[4096]\n      cudaLaunchKernel\n"
        "        => ncclDevKernel_AllReduce 50us\n"
    )
    text = "DistributedDataParallel.forward 20us\n" + layer * 40 + "Optimizer.step#SGD.step\n"
    report = tidy.check(parse_outline(text * 2), select=["TDY904", "TDY905"])
    assert report.findings == ()
