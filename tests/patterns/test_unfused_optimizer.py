"""TDY602: optimizers that could be fused."""

from __future__ import annotations

import pytest

import tidy
from tidy import Severity
from tidy.finding import NotApplicable

from ..conftest import ReadEvents
from ..oracle.shared import findings, path_of, report
from ..trace.kineto import Written, call, kernel, mark, op

_GPU = [{"id": 0, "name": "A100", "computeMajor": 8, "computeMinor": 0}]


def _step(label: str, ops: list[str]) -> list[Written]:
    """An optimizer step; each op launches one kernel of 3 us."""
    written = [mark(f"Optimizer.step#{label}.step", 0, 100)]
    for number, name in enumerate(ops, start=1):
        ts = 10.0 * number
        written += [
            op(name, ts, 8, args={"External id": number}),
            call("cudaLaunchKernel", ts + 1, 2, number, external=number),
            kernel("multi_tensor_apply_kernel", ts + 2, 3, correlation=number, external=number),
        ]
    return written


@pytest.mark.parametrize("label", ["Adam", "AdamW", "SGD", "Adagrad"])
def test_optimizers_that_have_a_fused_form(read_events: ReadEvents, label: str) -> None:
    trace = read_events(
        _step(label, ["aten::_foreach_mul_", "aten::_foreach_add_"]), deviceProperties=_GPU
    )
    (finding,) = tidy.check(trace, select=["TDY602"]).findings
    # The host's time for the step, in which its kernels run, but for a turn of the stream.
    assert finding.count == 1
    assert 98_000 <= finding.cost_ns <= 100_000
    assert finding.saving is not None
    assert finding.severity == Severity.WARNING
    assert label in finding.message


@pytest.mark.parametrize("label", ["RMSprop", "Muon", "MyAdam", "Adamax"])
def test_others(read_events: ReadEvents, label: str) -> None:
    trace = read_events(_step(label, ["aten::_foreach_mul_"]), deviceProperties=_GPU)
    assert tidy.check(trace, select=["TDY602"]).findings == ()


@pytest.mark.parametrize("fused", ["aten::_fused_adam_", "Torch-Compiled Region: 0/0"])
def test_fused_steps(read_events: ReadEvents, fused: str) -> None:
    """A fused step counts its steps with a foreach op of its own."""
    trace = read_events(_step("Adam", ["aten::_foreach_add_", fused]), deviceProperties=_GPU)
    assert tidy.check(trace, select=["TDY602"]).findings == ()


@pytest.mark.parametrize(
    "name", ["kineto__resnet50_num_workers_0", "param__dlrm__dlrm_kineto__worker0_step_12"]
)
def test_recorded_runs_that_update_one_by_one(name: str) -> None:
    """Nothing to fuse is foreach; that these updates could be is TDY601's to say."""
    assert findings(path_of(name), "TDY602") == []


def test_a_recorded_run_on_amd() -> None:
    outcome = report(path_of("tracelens__mi300__resnet_act_checkpoint")).outcomes["TDY602"]
    assert isinstance(outcome, NotApplicable)
