"""`import tidy` and its two functions, from a checkout and as installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tidy
from tidy import Report, Severity
from tidy.errors import PatternLoadError, TidyError, TraceFormatError, UnknownPattern, UsageError
from tidy.finding import Checked, CostOfFinding, Crashed, Finding, Fix, Judged, findings_of
from tidy.patterns.base import DevicePattern
from tidy.patterns.registry import load_builtin_patterns, load_source
from tidy.trace import Capability

from .environment import environment
from .test_architecture import ROOT
from .trace.kineto import frame, mark, op

_LOOP = [
    step
    for i in range(12)
    for step in (
        op("aten::select", 10 + 4 * i, 1, args={"Concrete Inputs": ["", "0", str(i)]}),
        op("aten::fill_", 12 + 4 * i, 1),
    )
]
_ZEROS = [mark("Optimizer.zero_grad#SGD.zero_grad", 70, 9), op("aten::zero_", 71, 2)]
_EVENTS = [frame("train.py(3): train", 0, 100), *_LOOP, *_ZEROS]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A trace with a loop over a tensor and a zero_grad that fills with zeros."""
    written = tmp_path / "trace.json"
    written.write_text(json.dumps({"deviceProperties": [], "traceEvents": _EVENTS}), "utf-8")
    return written


def _said(report: Report) -> list[tuple[str, str]]:
    return [(finding.code, str(finding.location)) for finding in report.findings]


def test_load_and_check(path: Path) -> None:
    report = tidy.check(tidy.load(path))
    assert sorted(_said(report)) == [("TDY404", "train.py:3"), ("TDY603", "train.py:3")]
    assert all(isinstance(finding, tidy.Finding) for finding in report.findings)
    assert report.trace.info.path == str(path)


def test_paths_may_be_strings(path: Path) -> None:
    assert len(tidy.load(str(path))) == len(tidy.load(path)) == len(_EVENTS)


def test_progress_counts_the_bytes_read(path: Path) -> None:
    told: list[int] = []
    tidy.load(path, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == path.stat().st_size


def test_select_and_ignore(path: Path) -> None:
    trace = tidy.load(path)
    assert _said(tidy.check(trace, select=["TDY6"])) == [("TDY603", "train.py:3")]
    assert _said(tidy.check(trace, ignore=["zeroed-gradients"])) == [("TDY404", "train.py:3")]
    with pytest.raises(UnknownPattern):
        tidy.check(trace, select=["TDY999"])


@pytest.mark.parametrize(
    "both", ["TDY404,TDY603", " TDY404, zeroed-gradients,", ["TDY404,TDY603"], ("TDY404", "TDY603")]
)
def test_choices_may_be_one_text(path: Path, both: Any) -> None:
    """Codes with commas between them, as on the command line, or several such texts."""
    trace = tidy.load(path)
    chosen = tidy.check(trace, select=both)
    assert sorted(_said(chosen)) == [("TDY404", "train.py:3"), ("TDY603", "train.py:3")]
    assert _said(tidy.check(trace, ignore=both)) == []
    assert _said(tidy.check(trace, select="TDY6")) == [("TDY603", "train.py:3")]


@pytest.mark.parametrize("choice", [5, [5], b"TDY4", [b"TDY4"], [None], [tidy.Finding]])
@pytest.mark.parametrize("argument", ["select", "ignore"])
def test_what_is_no_choice(path: Path, argument: str, choice: Any) -> None:
    with pytest.raises(UnknownPattern, match=r"no such rule: .*text"):
        tidy.check(tidy.load(path), **{argument: choice})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"savings": "of"}, 'savings is "replay" or "off", and not \'of\''),
        *(
            (
                {"warn_from": wrong},
                f"warn_from is a share of the steps from 0 to 1, and not {wrong!r}",
            )
            for wrong in ("2%", 5, -0.1, True, float("nan"))
        ),
        ({"name": 5}, "name is a regular expression as text, and not 5"),
        ({"options": {"TDY402": 3}}, "TDY402: options are given by name, not as 3"),
    ],
)
def test_values_that_make_no_sense(path: Path, given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        tidy.check(tidy.load(path), **given)
    assert str(caught.value) == said


_RULE = """
from tidy import Pattern

class Selects(Pattern):
    code = "ABC001"
    fix = "do otherwise"
    triggers = ("aten::select",)

    def match(self, event):
        "Whether it is one."
        return True
"""


def test_one_further_rule_may_stand_alone(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "rule, mine.py"
    file.write_text(_RULE, "utf-8")
    (rule,) = load_source(str(file))
    trace = tidy.load(path)
    further: list[Any] = [str(file), file, rule, rule()]
    for one in further:
        outcomes = tidy.check(trace, patterns=one).outcomes
        assert outcomes.keys() == tidy.check(trace, patterns=[one]).outcomes.keys()
        assert "ABC001" in outcomes
    with pytest.raises(PatternLoadError, match="5 is no file, module or Pattern"):
        tidy.check(trace, patterns=5)  # type: ignore[arg-type]


def test_errors_are_one_kind(tmp_path: Path) -> None:
    missing = tmp_path / "missing.json"
    with pytest.raises(TraceFormatError) as caught:
        tidy.load(missing)
    assert isinstance(caught.value, TidyError)
    assert caught.value.exit_code == 2
    assert str(caught.value).startswith(f"{missing}: ")


def test_findings_come_in_one_order(path: Path) -> None:
    """Whatever the order of the rules: by severity, then by time."""
    trace = tidy.load(path)
    report = tidy.check(trace, name="aten::")
    backwards = Report(trace, report.outcomes, report.found[::-1])
    assert backwards.findings == report.findings
    assert _said(tidy.check(tidy.load(path), name="aten::")) == _said(report)
    ranks = [(-f.severity, -(f.cost_share or 0.0), -f.cost_ns) for f in report.findings]
    assert ranks == sorted(ranks)
    assert {f.severity for f in report.findings} == {Severity.INFO, Severity.WARNING}


def test_a_finding_is_printed_as_tidy_report_quiet_prints_it(path: Path) -> None:
    report = tidy.check(tidy.load(path))
    command = [sys.executable, "-m", "tidy", "report", "--quiet", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "".join(f"{finding}\n" for finding in report.findings) == done.stdout
    assert done.stdout.startswith("train.py:3: TDY404 for-loop-indexing warning: ")


def test_what_a_prompt_shows(path: Path) -> None:
    """A line of each that a person looks at, without what fills the screen."""
    report = tidy.check(tidy.load(path))
    first, second = report.findings
    assert first.saving is not None
    assert repr(first).startswith("<Finding TDY404 for-loop-indexing at train.py:3: x1, 47.0 us")
    assert ", saves " in repr(first)
    assert len(repr(list(report.findings))) < 300
    assert str(first.saving).startswith("saves ")
    assert [str(finding.severity) for finding in (first, second)] == ["warning", "info"]
    assert f"{Severity.ERROR}" == "error"
    bare = _finding(Severity.INFO)
    assert (str(bare), repr(bare)) == (
        "ABC001 some-rule info: seen",
        "<Finding ABC001 some-rule: x0>",
    )


def _finding(severity: Severity) -> Finding:
    cost, fix = CostOfFinding(), Fix("do otherwise")
    return Finding("ABC001", "some-rule", severity, "seen", None, (), cost, fix)


@pytest.mark.parametrize(
    ("outcomes", "fail_on", "code"),
    [
        ({}, Severity.WARNING, 0),
        ({"A": Checked()}, Severity.INFO, 0),
        ({"A": Checked((_finding(Severity.INFO),))}, Severity.WARNING, 0),
        ({"A": Checked((_finding(Severity.INFO),))}, Severity.INFO, 1),
        ({"A": Checked((_finding(Severity.WARNING),))}, Severity.WARNING, 1),
        ({"A": Checked((_finding(Severity.ERROR),))}, Severity.WARNING, 1),
        ({"A": Checked((_finding(Severity.ERROR),))}, None, 0),
        ({"A": Checked((_finding(Severity.ERROR),)), "B": Crashed("x")}, Severity.WARNING, 2),
        ({"B": Crashed("x")}, None, 2),
    ],
)
def test_exit_code(
    path: Path, outcomes: dict[str, Any], fail_on: Severity | None, code: int
) -> None:
    found = [Judged.of(each) for each in findings_of(outcomes)]
    assert Report(tidy.load(path), outcomes, found).exit_code(fail_on) == code


def test_outcomes_by_kind(path: Path) -> None:
    report = tidy.check(tidy.load(path))
    rules = load_builtin_patterns()
    of_devices = {rule.code for rule in rules if issubclass(rule, DevicePattern)}
    not_applicable = set(report.not_applicable)
    assert of_devices <= not_applicable
    assert {"TDY000", "TDY004", "TDY102"} <= not_applicable - of_devices
    assert set(report.not_checked) == {
        rule.code
        for rule in rules
        if rule.code not in not_applicable
        and rule.needs & {Capability.SHAPES, Capability.MEMORY, Capability.STEPS}
    }
    assert report.crashed == {}
    # New gradients on a CPU may take longer than zeros: that is info.
    assert report.counts == {Severity.WARNING: 1, Severity.INFO: 1}


_USE = """
import sys, tidy, tidy.patterns.registry, tidy.cli
report = tidy.check(tidy.load(sys.argv[1]))
print(*sorted(finding.code for finding in report.findings))
"""


def _use(python_path: Path | None, cwd: Path, trace: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if python_path is not None:
        environment["PYTHONPATH"] = str(python_path)
    command = [sys.executable, "-W", "error", "-c", _USE, str(trace)]
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_from_the_folder_of_the_checkout(path: Path) -> None:
    assert _use(None, ROOT, path) == "TDY404 TDY603"


def test_from_elsewhere_with_the_checkout_on_the_path(path: Path, tmp_path: Path) -> None:
    assert _use(ROOT, tmp_path, path) == "TDY404 TDY603"


def test_as_installed(path: Path, tmp_path: Path) -> None:
    """Laid out as pip lays it out, beside folders of the user that are called like ours."""
    site = tmp_path / "site"
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tidy", site / "tidy", ignore=ignore)
    shutil.copytree(ROOT / "patterns", site / "tidy" / "patterns", ignore=ignore)
    shutil.copy(ROOT / "cli.py", site / "tidy")
    users = tmp_path / "project"
    (users / "patterns").mkdir(parents=True)
    (users / "patterns" / "__init__.py").write_text(
        "raise ImportError('the user has patterns too')"
    )
    (users / "cli.py").write_text("raise ImportError('the user has a cli too')")
    assert _use(site, users, path) == "TDY404 TDY603"


@pytest.mark.parametrize("given", ["trace.json", Path("trace.json")])
def test_a_path_is_no_trace(given: object) -> None:
    with pytest.raises(TypeError, match=r"write tidy\.check\(tidy\.load\('trace\.json'\)\)"):
        tidy.check(given)  # type: ignore[arg-type]


def test_what_else_is_no_trace() -> None:
    with pytest.raises(TypeError, match=r"not list: tidy\.load\(FILE\) gives one"):
        tidy.check([])  # type: ignore[arg-type]


def test_a_profiler_is_no_trace() -> None:
    with tidy.profile() as prof:
        pass
    with pytest.raises(TypeError, match=r"not profile: give its \.trace"):
        tidy.check(prof)  # type: ignore[arg-type]
    assert tidy.check(prof.trace).crashed == {}


def test_to_load_a_trace_imports_no_rules() -> None:
    code = (
        "import sys, tidy; tidy.load(sys.argv[1]);"
        "assert 'tidy.patterns.rules' not in sys.modules;"
        "assert 'tidy.check.pipeline' not in sys.modules"
    )
    command = [sys.executable, "-c", code, str(ROOT / "examples/traces/train_cnn.json.gz")]
    subprocess.run(command, check=True, env=environment())


def test_check_is_the_function_whatever_is_imported() -> None:
    """There is a package of that name as well."""
    code = (
        "import tidy; from tidy.check.pipeline import judge; import tidy.api;"
        "assert tidy.check is tidy.api.check"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=environment())
