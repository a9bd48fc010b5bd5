"""0 nothing at or above the threshold, 1 findings, 2 could not do the job."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ..environment import environment
from .command import arguments, tidy
from .traces import clean, loop, write

# Three rules, one a severity, that all fire on an addition.
_RULES = """
from tidy import Pattern, Severity

class Small(Pattern):
    '''Worth knowing.'''
    code, severity, triggers = "XYZ001", Severity.INFO, frozenset({"aten::add"})
    def match(self, event):
        return True

class Middling(Small):
    '''Costs time.'''
    code, severity = "XYZ002", Severity.WARNING

class Grave(Small):
    '''Wrong.'''
    code, severity = "XYZ003", Severity.ERROR

class Broken(Small):
    '''A rule with a defect.'''
    code = "XYZ009"
    def match(self, event):
        raise ValueError("no such luck")
"""


@pytest.mark.parametrize(
    ("fail_on", "rule", "code"),
    [
        ("info", "TDY000", 0),
        ("info", "XYZ001", 1),
        ("warning", "XYZ001", 0),
        ("warning", "XYZ002", 1),
        ("error", "XYZ002", 0),
        ("error", "XYZ003", 1),
        ("never", "XYZ003", 0),
        ("never", "XYZ009", 2),
    ],
)
def test_threshold(tmp_path: Path, fail_on: str, rule: str, code: int) -> None:
    trace = write(tmp_path / "trace.json", clean())
    rules = tmp_path / "rules.py"
    rules.write_text(_RULES)
    choice = ("--patterns", rules, "--select", rule, "--fail-on", fail_on)
    result = tidy("report", trace, *choice)
    assert (result.code, result.err) == (code, "")


def test_a_warning_fails_unless_told_otherwise(tmp_path: Path) -> None:
    assert tidy("report", write(tmp_path / "loop.json", loop())).code == 1
    result = tidy("report", write(tmp_path / "clean.json", clean()))
    assert result.code == 0
    assert result.lines[-1].startswith("Nothing found")


def test_what_cannot_be_read_is_one_line_and_the_rest_is_reported(tmp_path: Path) -> None:
    trace = write(tmp_path / "loop.json", loop())
    text = tmp_path / "notes.txt"
    text.write_text("Dear diary")
    absent = tmp_path / "absent.json"
    forbidden = tmp_path / ("x" * 300)  # no file system takes so long a name
    result = tidy("report", text, trace, absent, forbidden, "--fail-on", "never")
    assert result.code == 2
    assert [line.split(": ", 2)[:2] for line in result.err.splitlines()] == [
        ["tidy", str(path)] for path in (text, absent, forbidden)
    ]
    said = [line.split(": ", 2)[2] for line in result.err.splitlines()]
    assert "no JSON" in said[0]
    assert "no such file" in said[1]
    assert "TDY404 for-loop-indexing warning" in result.out


def test_nothing_but_the_problem_where_nothing_can_be_read(tmp_path: Path) -> None:
    result = tidy("report", tmp_path / "absent.json")
    assert (result.code, result.out) == (2, "")
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (["report"], "report: no TRACE given: `tidy report --help` shows how"),
        (
            ["report", "t.json", "--fail-on", "sometimes"],
            "report --fail-on: 'sometimes' is not one of 'error', 'warning', 'info', 'never': "
            "`tidy report --help` shows how",
        ),
        (
            ["report", "t.json", "--top", "-1"],
            "report --top: -1 is not in the range x>=0: `tidy report --help` shows how",
        ),
        (
            ["report", "t.json", "--warn-from", "nan"],
            "report --warn-from: nan is no number: `tidy report --help` shows how",
        ),
        (
            ["run", "--seconds", "nan", "t.py"],
            "run --seconds: nan is no number: `tidy run --help` shows how",
        ),
        (
            ["report", "t.json", "--frmat", "json"],
            "report --frmat: no such option: did you mean --format? (`tidy report --help` shows "
            "how)",
        ),
        (["raport"], "raport: no such command: did you mean report? (`tidy --help` lists all)"),
        (["whatever"], "whatever: no such command: `tidy --help` lists all"),
        (["--nonsense"], "--nonsense: no such option: `tidy --help` shows how"),
        (["run", "--device"], "--device: it needs a value: `tidy --help` shows how"),
        (["run"], "run: no SCRIPT given: `tidy run --help` shows how"),
        (
            ["explain", "launch-boud"],
            "'launch-boud': no such rule: did you mean launch-bound? (`tidy rules` lists all)",
        ),
    ],
)
def test_usage_is_one_line(given: list[str], line: str) -> None:
    """What is wrong, where, and what to do."""
    result = tidy(*given)
    assert (result.code, result.out, result.err) == (2, "", f"tidy: {line}\n")


def test_crashed_rules_show_where_if_asked(tmp_path: Path) -> None:
    trace = write(tmp_path / "trace.json", clean())
    rules = tmp_path / "rules.py"
    rules.write_text(_RULES)
    given = ("report", trace, "--patterns", rules, "--select", "XYZ009")
    result = tidy(*given)
    assert (result.code, result.err) == (2, "")
    assert "XYZ009 crashed: ValueError: no such luck" in result.out
    assert "(TIDY_TRACEBACK=1 shows where)" in " ".join(result.lines)
    done = subprocess.run(
        arguments(*given), env=environment(TIDY_TRACEBACK="1"), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(f"tidy: XYZ009 crashed on {trace}\nTraceback (most recent")
    assert f'File "{rules}"' in done.stderr


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), 1),
        (("--warn-from", "25"), 1),
        (("--warn-from", "40"), 0),
        (("--savings", "off"), 1),
        (("--savings", "off", "--warn-from", "46"), 1),
        (("--savings", "off", "--warn-from", "48"), 0),
    ],
)
def test_a_warning_has_to_save_enough_of_the_run(
    tmp_path: Path, options: tuple[str, ...], code: int
) -> None:
    """The loop costs 47 % of the run; as one op it saves 31 to 43 %, by the middle 37 %."""
    trace = write(tmp_path / "trace.json", loop())
    result = tidy("report", trace, "--select", "TDY404", *options, "--format", "json")
    assert (result.code, result.err) == (code, "")
    (report,) = result.json()["traces"]
    (finding,) = report["findings"]
    assert finding["severity"] == ("warning" if code else "info")
    is_replayed = "off" not in options
    assert (report["replay"] is not None) == (finding["saving"] is not None) == is_replayed


@pytest.mark.parametrize("value", ["-1", "101", "much"])
def test_a_share_that_is_none(tmp_path: Path, value: str) -> None:
    trace = write(tmp_path / "trace.json", loop())
    result = tidy("report", trace, "--warn-from", value)
    assert result.code == 2
    assert "--warn-from" in result.err


_TRAINED = """
import sys
import torch
weight = torch.ones(4, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(3):
    weight.sum().backward()
    optimizer.step()
sys.exit({status})
"""


_STATUSES = [pytest.param(0, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.slow), 3]


@pytest.mark.parametrize("status", _STATUSES)
def test_the_scripts_own_status_is_told_from_findings(tmp_path: Path, status: int) -> None:
    """Where the script fails, its status is that of the command, and the last line says so."""
    script = tmp_path / "train.py"
    script.write_text(_TRAINED.format(status=status))
    given = ("run", "--framework", "runtime", "--fail-on", "info", "--name", "aten")
    result = tidy(*given, script)
    said = f"The script itself ended with {status}; so does tidy run"
    assert result.code == (status or 1)
    assert (result.lines[-1] == said) == bool(status)
    summary = tidy(*given, "--format", "json", script).json()["summary"]
    assert (summary["exit_code"], summary["script_status"]) == (status or 1, status)
