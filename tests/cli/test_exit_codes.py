"""0 nothing at or above the threshold, 1 findings, 2 could not do the job."""

from __future__ import annotations

from pathlib import Path

import pytest

from .command import tidy
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
    assert "TDY404 for-loop-indexing warning" in result.lines


def test_nothing_but_the_problem_where_nothing_can_be_read(tmp_path: Path) -> None:
    result = tidy("report", tmp_path / "absent.json")
    assert (result.code, result.out) == (2, "")
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["report"], "Missing argument 'TRACE...'"),
        (["report", "t.json", "--fail-on", "sometimes"], "'sometimes'"),
        (["report", "t.json", "--top", "-1"], "--top"),
        (["report", "t.json", "--frmat", "json"], "--frmat"),
        (["raport"], "raport"),
    ],
)
def test_usage(given: list[str], says: str) -> None:
    result = tidy(*given)
    assert (result.code, result.out) == (2, "")
    assert says in result.err
    assert "--help" in result.err
