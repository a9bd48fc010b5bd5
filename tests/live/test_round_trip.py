"""What is exported of a live run holds the tree of that run, and PyTorch's verdicts on it."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidy
from tidy.profiler import profile

from ..environment import SOAK
from ..oracle.deviations import CODE_OF, NEVER_ON_CPU
from ..oracle.live_tree import edges_of_rows, edges_of_trace, rows_of
from ..oracle.recording import is_readable, record, torchtidy_matches
from .any_machine import on_any_machine
from .cases import CASES, Case
from .gradient_cases import GRADIENT_CASES
from .input_cases import INPUT_CASES
from .scripts import by_own_time, run_on_runtime, run_on_torch

pytestmark = pytest.mark.slow  # each case starts processes

_LARGE = {"norms-in-python"}  # PyTorch takes 10 s to write its events
_CASES = [
    case for case in (*CASES, *GRADIENT_CASES, *INPUT_CASES) if SOAK or case.name not in _LARGE
]


def each_run(**every: int) -> pytest.MarkDecorator:
    """Scripts in the forms named: each `every`-th is here, and all are for `make soak`."""
    runs = [
        pytest.param(case, form, id=f"{case.name}-{form}")
        for number, case in enumerate(_CASES)
        for form, step in every.items()
        if SOAK or number % step == 0
    ]
    return pytest.mark.parametrize(("case", "form"), runs)


_RECORD = {"record_shapes": True, "with_stack": True, "profile_memory": True}

# (case, form, code): why TorchTidy's matches are not ours
_DEVIATIONS = {
    ("loader", "wrong", "TDY101"): "to make an iterator is no fetch",
    ("validated-one-by-one", "wrong", "TDY101"): "to make an iterator is no fetch",
    ("validated-one-by-one", "corrected", "TDY101"): "to make an iterator is no fetch",
    ("validated-for-longer-than-trained", "wrong", "TDY101"): "to make an iterator is no fetch",
    ("validated-for-longer-than-trained", "corrected", "TDY101"): "to make an iterator is no fetch",
    ("loader", "wrong", "TDY404"): "the data set's indexing, which DataLoader calls",
    ("batches", "wrong", "TDY404"): "the numbers that `unbind` takes apart in C++",
    ("pictures", "wrong", "TDY404"): "the rows that `unbind` takes apart in C++",
    ("rows-summed-in-python", "wrong", "TDY404"): "the rows that `unbind` takes apart in C++",
    ("a-branch-for-each-row", "wrong", "TDY404"): "the rows that `unbind` takes apart in C++",
    ("rows-that-are-joined", "wrong", "TDY404"): "rows of a batch, which TDY106 names",
}


def _script(case: Case, form: str, folder: Path) -> Path:
    path = folder / "script.py"
    path.write_text(getattr(case, form), "utf-8")
    return path


def _findings(case: Case, form: str, trace: tidy.Trace) -> list[tidy.Finding]:
    """What is wrong counts whatever its time, which depends on the machine."""
    name = "aten::cumsum" if case.code == "TDY000" else None
    options = {case.code: on_any_machine(case.code)} if form == "wrong" else {}
    return list(tidy.check(trace, name=name, savings="off", options=options).findings)


@each_run(wrong=12, corrected=3)  # that each is found is in test_rules.py
def test_the_runtimes_tree(case: Case, form: str, tmp_path: Path) -> None:
    script = _script(case, form, tmp_path)
    with by_own_time(), profile(**_RECORD) as prof:  # what is corrected takes a share, too
        run_on_runtime(script)
    prof.export_chrome_trace(tmp_path / "trace.json.gz")
    live, read = prof.trace, tidy.load(tmp_path / "trace.json.gz")
    live.self_check()
    read.self_check()
    assert edges_of_trace(live) == edges_of_trace(read)
    assert live.forward == read.forward
    codes = {finding.code for finding in _findings(case, form, read)}
    assert (case.code in codes) == (form == "wrong")
    for a, b in zip(live.dfs(), read.dfs(), strict=True):
        assert (a.input_shapes, a.input_dtypes, a.concrete_inputs, a.input_strides) == (
            (b.input_shapes, b.input_dtypes, b.concrete_inputs, b.input_strides)
        )
        assert a.location == b.location


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@each_run(wrong=4, corrected=12)
def test_pytorchs_tree_and_torchtidy(case: Case, form: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    script = _script(case, form, tmp_path)
    run_on_torch(script)  # imports what PyTorch puts off
    recorded = record(tmp_path, lambda: run_on_torch(script), **_RECORD)
    if not is_readable(recorded.profiler):
        pytest.skip("PyTorch has freed a name in its own event tree; see record")
    assert edges_of_rows(rows_of(recorded.profiler)) == edges_of_trace(recorded.trace)
    ours = {code: set[tuple[str, int]]() for code in CODE_OF.values()}
    findings = _findings(case, form, recorded.trace)
    assert (case.code in {finding.code for finding in findings}) == (form == "wrong")
    for finding in findings:
        if finding.code in ours:
            ours[finding.code] |= {(event.name, event.start_ns) for event in finding.events}
    missed = {
        code
        for pattern, matches in torchtidy_matches(recorded.profiler).items()
        if (code := CODE_OF[pattern]) not in NEVER_ON_CPU and matches - ours[code]
    }
    assert missed <= {code for name, at, code in _DEVIATIONS if (name, at) == (case.name, form)}
