"""Anti-patterns recorded with this PyTorch are found, their corrected forms are not."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pytest

import tidy
from tidy import Finding, Report, Severity

from .deviations import CODE_OF, NEVER_ON_CPU
from .optimizers import OPTIMIZERS
from .recording import Recording, record, torchtidy_matches

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

_INFO, _WARNING = Severity.INFO, Severity.WARNING
_MUCH_ON_A_CPU = 0.25  # of the steps, as TDY601 documents
_CONVOLUTIONS = ("Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d")

# workload: (code, function to be named, severity)
_FIRES = {
    "nested-chain": ("TDY404", "fill_nested_chain", _WARNING),
    "nested-tuple": ("TDY404", "fill_nested_tuple", _WARNING),
    "copy-plus-one": ("TDY404", "add_row_by_row", _WARNING),
    "helper": ("TDY404", "fill_through_helper", _WARNING),
    "read-rows": ("TDY404", "read_row_by_row", _WARNING),
    "recurrent": ("TDY404", "recurrent", _INFO),
    "data-set": ("TDY101", "fetch_all", _WARNING),
    "iterator-before": ("TDY101", "fetch_from_iterator", _WARNING),
    # On a CPU the bias is part of the convolution's op: what it costs is not to be told.
    "functional": ("TDY701", "functional_conv_bn", _INFO),
    "functional-eval": ("TDY701", "functional_conv_bn", _INFO),
    "Conv2d-eval": ("TDY701", "module_conv_bn", _INFO),
    **{f"{name}-bias": ("TDY701", "module_conv_bn", _INFO) for name in _CONVOLUTIONS},
    **{f"{name}-single": ("TDY601", "train", _INFO) for name in OPTIMIZERS},
    # Of these a CPU has a fused form: `_severity_of_fused` tells by the recording.
    **{f"{name}-single": ("TDY601", "train", None) for name in ("Adagrad", "Adam", "AdamW", "SGD")},
    # On a CPU PyTorch takes longer for new gradients than for zeros.
    "optimizer-zeros-single": ("TDY603", "train", _INFO),
    "optimizer-zeros-foreach": ("TDY603", "train", _INFO),
    "model-zeros-single": ("TDY603", "train", _INFO),
    "model-zeros-foreach": ("TDY603", "train", _INFO),
    "misaligned": ("TDY503", "multiply", _INFO),
}
# workload: code
_QUIET = {
    **dict.fromkeys(("at-once", "one-sample-a-step", "data-set"), "TDY404"),
    **dict.fromkeys(("list-of-tensors", "growing-slices"), "TDY404"),
    "data-set-workers": "TDY101",
    **dict.fromkeys(("functional-no-bias", "functional-relu"), "TDY701"),
    **{f"{name}-no-bias": "TDY701" for name in _CONVOLUTIONS},
    **{f"{name}-foreach": "TDY601" for name in OPTIMIZERS},
    "Muon": "TDY601",
    **{
        f"{who}-none-{form}": "TDY603"
        for who in ("optimizer", "model")
        for form in ("single", "foreach")
    },
    "aligned": "TDY503",
    "float32": "TDY503",
}
# `model.zero_grad` has no range of its own; the rule's documentation says so.
_MISSED_WITHOUT_STACKS = ("model-zeros-single", "model-zeros-foreach")
# (workload, code): why TorchTidy's matches are not ours
_LIVE_DEVIATIONS = {
    ("one-sample-a-step", "TDY404"): "each round is a training step",
    ("list-of-tensors", "TDY404"): "thirty tensors, each indexed once",
    ("data-set", "TDY101"): "to make an iterator is no fetch",
    ("data-set", "TDY404"): "the data set's indexing, which DataLoader calls",
    ("iterator-before", "TDY404"): "the same",
}


class Run(NamedTuple):
    """A workload, recorded with Python stacks or without, and the report on it."""

    name: str
    with_stack: bool
    recorded: Recording
    report: Report


def each_run(names: Iterable[str]) -> pytest.MarkDecorator:
    """With stacks and without; pytest puts together what several tests ask of one run."""
    each = list(names)
    runs = [
        pytest.param((name, with_stack), id=f"{name}-{'stacks' if with_stack else 'no-stacks'}")
        for with_stack in (False, True)
        for name in each
    ]
    return pytest.mark.parametrize("run", runs, indirect=True, scope="module")


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    pytest.importorskip("torch")
    from .rule_workloads import workloads

    name, with_stack = request.param
    folder = tmp_path_factory.mktemp("recorded")
    recorded = record(folder, workloads()[name], with_stack=with_stack, record_shapes=True)
    # What share of so short a run something takes depends on how busy the machine is.
    report = tidy.check(recorded.trace, warn_from=0)
    assert report.crashed == {}
    return Run(name, with_stack, recorded, report)


def _severity_of_fused(recorded: Recording, found: Sequence[Finding]) -> Severity:
    """A warning if updates are a quarter of the steps and, of SGD, calls are what they take."""
    trace = recorded.trace
    rows = [event.row for finding in found for event in finding.events]
    is_much = (trace.step_share(trace.time_of(rows)) or 0.0) >= _MUCH_ON_A_CPU
    is_unsure = any(each.saving and "where tensors are large" in each.saving.why for each in found)
    return _WARNING if is_much and not is_unsure else _INFO


@each_run(_FIRES)
def test_anti_pattern(run: Run) -> None:
    code, function, severity = _FIRES[run.name]
    found = [finding for finding in run.report.findings if finding.code == code]
    if run.name in _MISSED_WITHOUT_STACKS and not run.with_stack:
        assert found == []
        return
    counting = [finding for finding in found if finding.in_window]
    wanted = _severity_of_fused(run.recorded, counting) if severity is None else severity
    assert wanted in {finding.severity for finding in counting}
    if run.with_stack:
        places = {finding.location for finding in found}
        assert {place.function for place in places if place} == {function}
        assert all(place and place.file.endswith("_workloads.py") for place in places)
    else:
        assert {finding.location for finding in found} == {None}


@each_run(f"{name}-single" for name in OPTIMIZERS)
def test_the_fix_of_an_optimizer_is_an_argument_of_its_class(run: Run) -> None:
    """By the signatures of the PyTorch that is installed: fused alone wherever it is one, since
    these runs are on a CPU.
    """
    torch, name = pytest.importorskip("torch"), run.name.removesuffix("-single")
    (fix,) = {finding.fix for finding in run.report.findings if finding.code == "TDY601"}
    has = set(inspect.signature(getattr(torch.optim, name)).parameters) & {"foreach", "fused"}
    assert set(re.findall(r"(\w+)=True", fix)) == (has & {"fused"} or has)
    assert fix.endswith(f" to {name}")


@each_run(_QUIET)
def test_corrected_or_harmless(run: Run) -> None:
    assert [each for each in run.report.findings if each.code == _QUIET[run.name]] == []


@each_run(sorted({*_FIRES, *_QUIET, "copy-on-the-cpu"}))
def test_torchtidy_on_the_same_run(run: Run) -> None:
    ours = {code: set[tuple[str, int]]() for code in CODE_OF.values()}
    for finding in run.report.findings:
        if finding.code in ours:
            ours[finding.code] |= {(event.name, event.start_ns) for event in finding.events}
    missed = {
        code
        for pattern, matches in torchtidy_matches(run.recorded.profiler).items()
        if (code := CODE_OF[pattern]) not in NEVER_ON_CPU and matches - ours[code]
    }
    assert missed <= {code for workload, code in _LIVE_DEVIATIONS if workload == run.name}
    assert all(ours[code] == set() for code in NEVER_ON_CPU)
