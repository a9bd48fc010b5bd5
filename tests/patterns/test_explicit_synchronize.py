"""TDY302: who asked for the wait."""

from __future__ import annotations

import pytest

from tidy import Severity
from tidy.finding import Checked
from tidy.patterns.examples import steps, under
from tidy.patterns.rules.explicit_synchronize import ExplicitSynchronize

from ..oracle.shared import decoded, path_of, report
from .outlines import WORK, said

_FRONT = "torch/cuda/__init__.py(900): synchronize"
_BUILT_IN = "<built-in function _cuda_synchronize>"
_CALL = "cudaDeviceSynchronize 120us\n"
_SYNCHRONIZE = under(_FRONT, under(_BUILT_IN, _CALL))


def test_each_step() -> None:
    step = under("train.py(7): train", WORK, _SYNCHRONIZE, "aten::zeros 60us\n", WORK)
    (finding,) = said(ExplicitSynchronize, steps(step))
    assert (finding.count, finding.severity) == (3, Severity.WARNING)
    assert str(finding.location) == "train.py:7"
    assert 60_000 <= finding.cost_ns <= 75_000


@pytest.mark.parametrize(
    "call",
    [
        "cudaStreamSynchronize",
        "cudaEventSynchronize",
        "hipDeviceSynchronize",
        "hipStreamSynchronize",
        "hipEventSynchronize",
    ],
)
def test_all_that_synchronises(call: str) -> None:
    (finding,) = said(ExplicitSynchronize, steps(WORK, f"{call} 120us\n"))
    assert finding.count == 3


@pytest.mark.parametrize(
    "frame",
    [
        "torch/profiler/profiler.py(700): step",
        "torch/autograd/profiler.py(298): __exit__",
        "torch/distributed/fsdp/_runtime_utils.py(200): _unshard",
        "torch/nn/parallel/distributed.py(1500): forward",
    ],
)
def test_waits_that_pytorch_wants_are_not_the_scripts(frame: str) -> None:
    step = under("train.py(7): train", WORK, under(frame, _SYNCHRONIZE))
    assert said(ExplicitSynchronize, steps(step)) == []


@pytest.mark.parametrize("name", ["DistributedDataParallel.forward", "nccl:all_reduce"])
def test_waits_in_ranges_of_pytorch_are_not_the_scripts(name: str) -> None:
    step = under(name, "cudaEventSynchronize 20us\n")
    assert said(ExplicitSynchronize, steps(WORK, step)) == []


def test_a_frame_that_does_not_synchronise_asked_for_nothing() -> None:
    step = under("train.py(7): train", WORK, "cudaEventSynchronize 20us\n")
    assert said(ExplicitSynchronize, steps(step)) == []


def test_one_step_is_no_loop() -> None:
    assert said(ExplicitSynchronize, steps(WORK, _CALL, count=1)) == []


def test_without_steps_three_rounds_and_the_profilers_own() -> None:
    """The profiler waits at the end of the recording, after all ops."""
    assert said(ExplicitSynchronize, (WORK + _CALL) * 3) == []
    (finding,) = said(ExplicitSynchronize, (WORK + _CALL) * 4)
    assert finding.count == 3


def test_threads_without_ops_are_not_the_loop() -> None:
    watch = "thread 2\n" + steps(_CALL)
    assert said(ExplicitSynchronize, steps(WORK) + watch) == []


_WITH_WAITS_OF_THE_PROFILER = [
    "kineto__resnet50_num_workers_0",
    "misc__particle_transformer",
    "misc__sidnb13",
    "param__dlrm__dlrm_kineto__worker0_step_12",
    "tracelens__h100__gaunernst_bert-small-uncased",
    "tracelens__mi300__gaunernst_bert-small-uncased",
    "tracelens__mi300__resnet_act_checkpoint",
    "hta__critical_path__cuda_event_sync__event_sync_trace",
    "hta__amd_trace__mi250_minitoy_train_ROCm6_2_kineto",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", _WITH_WAITS_OF_THE_PROFILER)
def test_recordings_whose_loop_does_not_wait(name: str) -> None:
    """There is a wait for the device in each; at most two, so none in each of two steps."""
    path = path_of(name)
    names = [event.get("name", "") for event in decoded(path)["traceEvents"]]
    assert 1 <= sum(name.endswith("DeviceSynchronize") for name in names) <= 2
    assert report(path).outcomes["TDY302"] == Checked()
