"""Runs that are known to do the right thing get no warning for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidy import Severity
from tidy.finding import Checked, NotApplicable, NotChecked

from .shared import TRACES, findings, load, needs_traces, path_of, report

_ALL = ("TDY101", "TDY201", "TDY404", "TDY501", "TDY503", "TDY601", "TDY603", "TDY701")
_RESNET = "kineto__resnet50_num_workers_4"
_SIDNB = "misc__sidnb13"
_QWEN = "tracelens__h100__Qwen_Qwen1.5-0.5B-Chat"
_CHECKPOINT = "tracelens__mi300__resnet_act_checkpoint"

# As INDEX.md has it: "NEG", "NEGATIVE CONTROL", "no anti-pattern" or nothing happens at all.
_CLEAN = {
    _RESNET: ("TDY101",),
    _SIDNB: _ALL,
    _QWEN: ("TDY503",),
    _CHECKPOINT: ("TDY601", "TDY603", "TDY701"),
    "tracelens__gemm_01_compute_few_tiles": ("TDY503",),
    "conv_bn_nobias": ("TDY701",),
    "conv_relu_bn_bias": ("TDY701",),
    "dataloader_workers2": ("TDY101",),
    "empty": _ALL,
    "extracopy_dtype": ("TDY201",),
    "extracopy_to_cpu_copy": ("TDY201",),
    "forloop_index_9": ("TDY404",),
    "forloop_index_neg": ("TDY404",),
    "mm_bf16_aligned": ("TDY503", "TDY501"),
    "mm_fp32": ("TDY501", "TDY503"),
    "opt_adam_foreach": ("TDY601",),
    "opt_sgd_foreach": ("TDY601",),
    "opt_sgd_fused": ("TDY601",),
    "record_function_ranges": _ALL,
    "train_sched_good_cycle0": _ALL,
    "zerograd_true": ("TDY603",),
}


@needs_traces
@pytest.mark.parametrize(
    ("name", "code"), [(name, code) for name, codes in _CLEAN.items() for code in codes]
)
def test_nothing_is_said(name: str, code: str) -> None:
    assert findings(path_of(name), code) == []


_READABLE = [path for path in TRACES if "simple_add_et" not in path.name]
each_trace = pytest.mark.parametrize("path", _READABLE, ids=lambda path: path.name)


def _ran_on(path: Path, *names: str) -> bool:
    """Whether a device that worked in the trace has one of `names` in its own."""
    trace = load(path)
    used = [trace.devices[index].name for index in trace.devices_used]
    return any(name in device for name in names for device in used)


@each_trace
def test_tf32_is_asked_only_of_gpus_that_have_it(path: Path) -> None:
    outcome = report(path).outcomes["TDY501"]
    if _ran_on(path, "A100", "H100"):
        assert isinstance(outcome, (Checked, NotChecked))
    else:
        assert isinstance(outcome, (NotApplicable, NotChecked))


@each_trace
def test_alignment_is_no_warning_without_tensor_cores(path: Path) -> None:
    warned = any(finding.severity >= Severity.WARNING for finding in findings(path, "TDY503"))
    assert not warned or _ran_on(path, "A100", "H100", "V100")


@each_trace
def test_one_by_one_updates_are_no_warning_on_a_cpu(path: Path) -> None:
    warned = any(finding.severity >= Severity.WARNING for finding in findings(path, "TDY601"))
    assert not warned or load(path).devices_used
