"""--patterns: rules of the user's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from .command import tidy, tidy_process
from .traces import clean, loop, write

_SLOW_ADD = '''
from tidy import Pattern, Severity

class SlowAddition(Pattern):
    """An addition takes long.

    Cost: its time. Instead: subtract.
    """
    code, severity = "XYZ001", Severity.ERROR
    triggers = frozenset({"aten::add"})
    fix = "subtract"

    def match(self, event):
        return event.duration_ns > 3000
'''
_BROKEN = '''
from tidy import Pattern

class Broken(Pattern):
    """A rule with a defect."""
    code = "XYZ002"

    def match(self, event):
        raise ValueError("no such\\nluck")
'''


def _rules(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_rule_of_ones_own_fires(tmp_path: Path) -> None:
    rules = _rules(tmp_path / "mine.py", _SLOW_ADD)
    trace = write(tmp_path / "clean.json", clean())
    result = tidy("report", trace, "--patterns", rules)
    assert result.code == 1
    at = result.lines.index("XYZ001 slow-addition error")
    assert result.lines[at + 1].split() == "train.py:3 in fill() x1 4.00 us 40.0% of run".split()
    assert result.lines[at + 2 : at + 4] == ["    An addition takes long.", "    -> subtract"]
    assert result.lines[-1].startswith("1 error")


def test_a_rule_may_come_from_a_module_of_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    _rules(tmp_path / "team" / "checks.py", _SLOW_ADD)
    listed = tidy_process("rules", "--patterns", "team.checks", cwd=tmp_path).lines
    assert [line.split() for line in listed[-2:]] == [
        ["XYZ001", "slow-addition", "error"],
        ["An", "addition", "takes", "long."],
    ]
    told = tidy_process("explain", "slow-addition", "--patterns", "team.checks", cwd=tmp_path)
    assert told.lines[0] == "XYZ001 slow-addition (error)"
    assert "Fix: subtract" in told.lines


def test_a_rule_that_raises_spoils_no_other(tmp_path: Path) -> None:
    rules = _rules(tmp_path / "mine.py", _BROKEN)
    trace = write(tmp_path / "loop.json", loop())
    result = tidy("report", trace, "--patterns", rules)
    assert (result.code, result.err) == (2, "")
    assert "TDY404 for-loop-indexing warning" in result.out
    crash = "XYZ002 crashed: ValueError: no such luck (match, line 9) (TIDY_TRACEBACK=1 shows"
    assert crash in result.lines
    assert "1 rule crashed" in result.lines[-1]
    report = tidy("report", trace, "--patterns", rules, "--format", "json").json()
    (crashed,) = report["traces"][0]["crashed"]
    assert crashed["code"] == "XYZ002"
    assert report["summary"]["exit_code"] == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("class Rule(:\n", "SyntaxError at line 1"),
        ("import no_such_module\n", "no_such_module"),
        ("x = 1\n", "defines no rule"),
        (_SLOW_ADD.replace("XYZ001", "TDY404"), "TDY404 is taken"),
        (_SLOW_ADD.replace("XYZ001", "slow"), "three capital letters and three digits"),
    ],
)
def test_rules_that_do_not_load_are_one_line(tmp_path: Path, text: str, says: str) -> None:
    rules = _rules(tmp_path / "mine.py", text)
    result = tidy("rules", "--patterns", rules)
    assert (result.code, result.out) == (2, "")
    assert len(result.err.splitlines()) == 1
    assert says in result.err


def test_no_such_rules_stop_a_report_before_it_begins(tmp_path: Path) -> None:
    trace = write(tmp_path / "loop.json", loop())
    result = tidy("report", trace, "--patterns", tmp_path / "absent.py")
    assert (result.code, result.out) == (2, "")
    assert result.err == f"tidy: --patterns {tmp_path / 'absent.py'}: there is no such file\n"
