"""--select, --ignore and --name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidy.patterns.registry import load_patterns

from ..account_lines import without_account
from .command import EXAMPLES, tidy
from .traces import clean, event, loop, write

_ALL = {rule.code for rule in load_patterns()}
_TDY6 = {code for code in _ALL if code.startswith("TDY6")}


def _run_rules(*options: str) -> set[str]:
    """Codes of the rules that ran, whatever came of them."""
    report = tidy("report", EXAMPLES[0], "--format", "json", *options).json()
    (trace,) = report["traces"]
    others = [each["code"] for kind in ("not_checked", "not_applicable") for each in trace[kind]]
    return {*trace["checked"], *others}


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ([], _ALL),
        (["--select", "TDY404"], {"TDY404"}),
        (["--select", "for-loop-indexing, tdy6"], {"TDY404", *_TDY6}),
        (["--select", "TDY404", "--select", "TDY701"], {"TDY404", "TDY701"}),
        (["--ignore", "TDY6,bias-before-batch-norm"], _ALL - _TDY6 - {"TDY701"}),
        (["--select", "TDY6", "--ignore", "TDY603"], _TDY6 - {"TDY603"}),
    ],
)
def test_rules_are_chosen_by_code_prefix_or_name(options: list[str], codes: set[str]) -> None:
    assert _run_rules(*options) == codes


def test_a_choice_that_names_no_rule_is_one_line() -> None:
    for option in ("--select", "--ignore"):
        result = tidy("report", EXAMPLES[0], option, "TDY404,nonsense")
        assert (result.code, result.out) == (2, "")
        assert len(result.err.splitlines()) == 1
        assert "'nonsense'" in result.err
        assert "tidy rules" in result.err


def test_name_lists_events_and_changes_no_verdict(tmp_path: Path) -> None:
    """Two additions and a product in one function, 4 us, 4 us and 3 us of 10 us."""
    more = [event("cpu_op", "aten::add", 11, 4), event("cpu_op", "aten::mm", 16, 3)]
    frame = event("python_function", "train.py(3): fill", 0, 20)
    trace = write(tmp_path / "trace.json", [frame, *clean()[1:], *more])
    result = tidy("report", trace, "--name", "^aten::(add|mm)$")
    assert result.code == 0
    assert "TDY000 named-event info" in result.lines
    found = [line.split() for line in without_account(result.lines) if "train.py" in line]
    assert found == [
        "train.py:3 in fill() x2 8.00 us 40.0% of run".split(),
        "train.py:3 in fill() x1 3.00 us 15.0% of run".split(),
    ]
    assert [line.strip() for line in result.lines if "named 'aten" in line] == [
        "named 'aten::add'",
        "named 'aten::mm'",
    ]
    assert result.lines[-1].startswith("2 info")


def test_name_that_nothing_has(tmp_path: Path) -> None:
    trace = write(tmp_path / "loop.json", loop())
    assert "TDY000" not in tidy("report", trace, "--name", "^fill").out


def test_name_that_is_no_regular_expression() -> None:
    result = tidy("report", EXAMPLES[0], "--name", "aten::(")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("tidy: --name 'aten::(' is no regular expression: ")
    assert len(result.err.splitlines()) == 1
