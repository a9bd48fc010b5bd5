"""Runs that are known to do the right thing get no warning for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidy import Severity
from tidy.finding import Checked, NotApplicable, NotChecked

from .negative_controls import CONTROLS
from .shared import FOLDER, NO_TRACES, OWN, TRACES, findings, load, needs_traces, path_of, report

_ALL = ("TDY101", "TDY201", "TDY404", "TDY501", "TDY503", "TDY601", "TDY603", "TDY701")
# As INDEX.md has it: "NEG", "NEGATIVE CONTROL", "no anti-pattern" or nothing happens at all.
_CLEAN = {
    "kineto__resnet50_num_workers_4": ("TDY101", "TDY403"),
    "misc__sidnb13": _ALL,
    "tracelens__h100__Qwen_Qwen1.5-0.5B-Chat": ("TDY503",),
    "misc__particle_transformer": ("TDY502",),
    "tracelens__mi300__gaunernst_bert-small-uncased": ("TDY504",),
    "tracelens__mi300__resnet_act_checkpoint": ("TDY601",),
    "tracelens__gemm_01_compute_few_tiles": ("TDY503",),
    "empty": _ALL,
    "extracopy_dtype": ("TDY201",),
    "extracopy_to_cpu_copy": ("TDY201",),
    "forloop_index_neg": ("TDY404",),
    "mm_bf16_aligned": ("TDY501",),
    "mm_fp32": ("TDY501",),
    "record_function_ranges": _ALL,
    "train_sched_good_cycle0": _ALL,
}


@needs_traces
@pytest.mark.parametrize(
    ("name", "code"), [(name, code) for name, codes in _CLEAN.items() for code in codes]
)
def test_nothing_is_said(name: str, code: str) -> None:
    assert findings(path_of(name), code) == []


@pytest.mark.parametrize(
    ("name", "code"), [(name, code) for code, each in CONTROLS.items() for name in each.traces]
)
def test_what_looks_alike_is_fine(name: str, code: str) -> None:
    if not FOLDER.is_dir() and not list(OWN.glob(f"{name}.*")):
        pytest.skip(NO_TRACES)
    outcome = report(path_of(name)).outcomes[code]
    assert len(load(path_of(name)).rows_named(*CONTROLS[code].sees))
    assert isinstance(outcome, Checked)
    assert outcome.findings == ()


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
