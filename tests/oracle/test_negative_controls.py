"""Runs that are known to do the right thing get no warning for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidy import Severity
from tidy.finding import Checked

from .negative_controls import CONTROLS
from .shared import (
    TRACES,
    findings,
    load,
    path_of,
    report,
    text_of,
)

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


@pytest.mark.parametrize(
    ("name", "code"), [(name, code) for name, codes in _CLEAN.items() for code in codes]
)
def test_nothing_is_said(name: str, code: str) -> None:
    assert findings(path_of(name), code) == []


@pytest.mark.parametrize(
    ("name", "code"), [(name, code) for code, each in CONTROLS.items() for name in each.traces]
)
def test_what_looks_alike_is_fine(name: str, code: str) -> None:
    outcome = report(path_of(name)).outcomes[code]
    assert len(load(path_of(name)).rows_named(*CONTROLS[code].sees))
    assert isinstance(outcome, Checked)
    assert outcome.findings == ()


each_trace = pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)


def _capabilities(path: Path) -> list[float]:
    """The compute capabilities of the NVIDIA GPUs that the header lists; AMD's have some too."""
    # Only what looks for no `"name":` first is quick: each event has one.
    if '"AMD' in text_of(path) and re.search(r'"name":\s*"AMD', text_of(path)):
        return []
    found = re.findall(r'"computeMajor":\s*(\d+),\s*"computeMinor":\s*(\d+)', text_of(path))
    return [float(f"{major}.{minor}") for major, minor in found]


@each_trace
def test_tf32_is_asked_only_of_gpus_that_have_it(path: Path) -> None:
    """From 8.0 on."""
    if not any(each >= 8 for each in _capabilities(path)):
        assert not isinstance(report(path).outcomes["TDY501"], Checked)


@each_trace
def test_alignment_is_no_warning_without_tensor_cores(path: Path) -> None:
    if not any(each >= 7 for each in _capabilities(path)):
        assert all(each.severity < Severity.WARNING for each in findings(path, "TDY503"))


@each_trace
def test_one_by_one_updates_are_no_warning_on_a_cpu_where_they_take_little(path: Path) -> None:
    """No optimizer is fused there by default."""
    warned = [each for each in findings(path, "TDY601") if each.severity >= Severity.WARNING]
    assert load(path).devices_used or all((each.cost.share or 0.0) >= 0.25 for each in warned)
