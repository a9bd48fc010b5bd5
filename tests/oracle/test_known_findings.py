"""What is known to be in runs that other people recorded is found, with its place."""

from __future__ import annotations

import pytest

import tidy
from tidy import Finding, Severity

from .shared import findings, load, path_of

_WORKERS_0 = "kineto__resnet50_num_workers_0"
_WORKERS_4 = "kineto__resnet50_num_workers_4"
_SCRIPT = "resnet50_profiler_api.py"


def _one(name: str, code: str) -> Finding:
    """The one finding in the steps that count."""
    (finding,) = [each for each in findings(path_of(name), code) if each.in_window]
    return finding


@pytest.mark.parametrize(
    ("name", "code", "line"),
    [
        (_WORKERS_0, "TDY101", 42),
        (_WORKERS_0, "TDY603", 49),
        (_WORKERS_0, "TDY601", 51),
        (_WORKERS_4, "TDY603", 49),
        (_WORKERS_4, "TDY601", 51),
    ],
)
def test_resnet50_names_the_line_of_the_call(name: str, code: str, line: int) -> None:
    """Line 42 takes the next batch, 49 is `zero_grad`, 51 `step`; there are six training steps."""
    finding = _one(name, code)
    assert str(finding.location) == f"{_SCRIPT}:{line}"
    assert finding.location is not None
    assert finding.location.is_call_line
    assert finding.count == 6
    # With workers the host is ahead of the GPU while the optimizer updates: nothing is lost.
    is_hidden = (name, code) == (_WORKERS_4, "TDY601")
    assert finding.severity == (Severity.INFO if is_hidden else Severity.WARNING)
    assert finding.saving is not None
    assert finding.saving.hidden is is_hidden


def test_resnet50_waits_for_its_loader() -> None:
    """It takes 44 to 47 ms of steps of about 150 ms, in some 10 of which the GPU still works."""
    finding = _one(_WORKERS_0, "TDY101")
    assert 30e6 <= finding.cost_ns <= 40e6
    (alone,) = tidy.check(load(path_of(_WORKERS_0)), select=["TDY101"], savings="off").findings
    assert alone.cost_share == pytest.approx(0.3, abs=0.02)
    assert 44e6 <= alone.cost_ns <= 47e6
    assert finding.saving is not None
    assert 0 < finding.saving.high_ns <= finding.cost_ns


def test_resnet50_with_workers_does_not() -> None:
    assert findings(path_of(_WORKERS_4), "TDY101") == []


@pytest.mark.parametrize("name", [_WORKERS_0, _WORKERS_4])
def test_resnet50_on_a_v100_is_not_told_of_tf32(name: str) -> None:
    assert findings(path_of(name), "TDY501") == []


# Products that are misaligned in sizes that somebody chose: 17 features and 10 classes, BERT's
# 30,522 words, and 63, 65 or 1,025 columns. Rows are a batch's, attention is as long as its
# sequences, and two or three columns are a head.
_MISALIGNED = {
    "misc__particle_transformer": 2,
    "tracelens__h100__gaunernst_bert-small-uncased": 1,
    "tracelens__mi300__gaunernst_bert-small-uncased": 1,
    "tracelens__mi300__resnet_act_checkpoint": 0,
    "tracelens__gemm_02_compute_non_pow2": 10,
    "mm_bf16_misaligned": 3,
    "all_patterns": 1,
}


@pytest.mark.parametrize("name", _MISALIGNED)
def test_misaligned_products(name: str) -> None:
    found = [event.name for f in findings(path_of(name), "TDY503") for event in f.events]
    assert sum(op in ("aten::mm", "aten::bmm", "aten::addmm") for op in found) == _MISALIGNED[name]


def test_the_output_layer_is_the_misalignment_that_matters() -> None:
    """30,522 words: the product with the vocabulary alone is misaligned in what one can pad."""
    (chosen,) = findings(path_of("tracelens__h100__gaunernst_bert-small-uncased"), "TDY503")
    assert [event.input_shapes[:3] for event in chosen.events] == [
        ((30522,), (141, 512), (512, 30522))
    ]
    # The GPU idles 93 % of this step, so a faster product saves nothing here.
    assert chosen.saving is not None
    assert (chosen.saving.high_ns, chosen.severity) == (0, Severity.INFO)


def test_attention_in_steps_is_what_the_gpu_does_in_timesformer() -> None:
    """INDEX.md: softmax and bmm are 71 % of the GPU's time; 12 layers attend to 3,137 patches."""
    finding = _one("tracelens__h100__facebook_timesformer", "TDY504")
    assert (finding.severity, finding.count) == (Severity.WARNING, 12)
    assert {event.input_shapes[0] for event in finding.events} == {(8, 12, 3137, 3137)}
    assert finding.saving is not None
    assert finding.saving.low_ns / finding.saving.step_ns > 0.2
    assert finding.saving.high_ns <= finding.cost_ns


def test_normalisation_by_hand_is_found() -> None:
    """Qwen's RMSNorm in each of 24 layers, twice, and the rotation of queries and keys."""
    found = findings(path_of("tracelens__h100__Qwen_Qwen1"), "TDY403")
    assert {("by hand" in finding.message, finding.count) for finding in found} == {
        (True, 48),
        (False, 48),
    }


@pytest.mark.parametrize("name", [_WORKERS_0, _WORKERS_4])
def test_resnet50_on_a_v100_multiplies_in_float32(name: str) -> None:
    """All convolutions, with their backward; line 46 is that of the model."""
    finding = _one(name, "TDY502")
    assert str(finding.location) == f"{_SCRIPT}:46"
    assert "float16" in finding.fix
    # The host is the bottleneck of these runs: quicker products save nothing, and cost nothing.
    assert (finding.severity, finding.cost_ns < 100_000) == (Severity.INFO, True)
    assert finding.saving is not None
    assert finding.saving.why.startswith("the host sets the pace: the GPU would idle for ")
    (alone,) = tidy.check(load(path_of(name)), select=["TDY502"], savings="off").findings
    assert alone.cost_share == pytest.approx(0.42, abs=0.03)


@pytest.mark.parametrize(
    ("name", "code", "count"),
    [
        ("hta__history__with_gpu_user_annotation_step_based_trace_2543932", "TDY603", 4),
        ("param__dlrm__dlrm_kineto__worker0_step_12", "TDY101", 1),
        ("param__dlrm__dlrm_kineto__worker1_step_12", "TDY101", 1),
        ("param__dlrm__dlrm_kineto__worker0_step_12", "TDY601", 1),
        ("hta__amd_trace__mi250_minitoy_train_ROCm6_2_kineto", "TDY201", 2),
    ],
)
def test_counts(name: str, code: str, count: int) -> None:
    """Four zero_grads in the steps that count (their shadows on the GPU are none) and one in the
    first, one fetch and one Adagrad step a rank, `torch.randn(5, 128).to(device)` in two steps.
    """
    assert _one(name, code).count == count
