"""What the command says of itself, and what it takes to say it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tidy import __version__
from tidy.patterns.registry import load_patterns

from .command import ROOT, environment, tidy

_HEAVY = ["numpy", "rich", "msgspec", "tidy.patterns", "tidy.trace", "tidy.readers"]
_START = f"""
import sys
from tidy.cli import main

for option in ("--help", "--version"):
    sys.argv = ["tidy", option]
    try:
        main()
    except SystemExit as end:
        assert not end.code
print("heavy:", [name for name in {_HEAVY} if name in sys.modules])
"""


def test_starting_loads_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _START],
        cwd=ROOT, env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[-2:] == [f"tidy {__version__}", "heavy: []"]


@pytest.mark.parametrize("given", [(), ("report",), ("rules",), ("explain",)])
def test_help_fits_and_says_how_to_use(given: tuple[str, ...]) -> None:
    result = tidy(*given, "--help")
    assert (result.code, result.err) == (0, "")
    assert result.lines[0].startswith(f"Usage: tidy {' '.join(given)}".rstrip())
    assert "\\b" not in result.out, "a mark for click that it did not take for one"
    assert not [line for line in result.lines if len(line) > 80]
    assert tidy(*given, "-h").out == result.out


def test_help_of_report_has_a_recipe_and_the_exit_codes() -> None:
    lines = [line.strip() for line in tidy("report", "--help").lines]
    recipe = lines.index(
        "with torch.profiler.profile(record_shapes=True, with_stack=True) as prof:"
    )
    assert lines[recipe + 1 : recipe + 3] == [
        "train_some_steps()",
        'prof.export_chrome_trace("trace.json.gz")',
    ]
    codes = [line.split()[0] for line in lines[lines.index("Exit codes:") + 1 :]]
    assert codes == ["0", "1", "2"]


def test_no_command_is_a_question_for_help() -> None:
    result = tidy()
    assert (result.code, result.out) == (2, "")
    assert result.err == tidy("--help").out


def test_rules_lists_every_rule() -> None:
    result = tidy("rules")
    rules = load_patterns()
    assert (result.code, result.err) == (0, "")
    heads = [line.split() for line in result.lines if not line.startswith(" ")]
    assert heads == [[rule.code, rule.slug()] for rule in rules]
    told = " ".join(" ".join(line.split()) for line in result.lines if line.startswith(" "))
    assert told == " ".join(rule.summary() for rule in rules)
    assert not [line for line in result.lines if len(line) > 80 or line != line.rstrip()]


def test_explain_by_code_or_name() -> None:
    result = tidy("explain", "TDY404")
    assert (result.code, result.err) == (0, "")
    assert result.lines[0] == "TDY404 for-loop-indexing (warning)"
    for part in ("Cost:", "Instead:", "Misses:", "Needs:", "Fix:", "It fires on", "It is quiet on"):
        assert [line for line in result.lines if line.startswith(part)], part
    for choice in ("tdy404", "for-loop-indexing", "For-Loop-Indexing"):
        assert tidy("explain", choice).out == result.out


def test_explain_what_is_none() -> None:
    result = tidy("explain", "TDY999")
    assert (result.code, result.out) == (2, "")
    assert result.err == "tidy: no rule is called 'TDY999'; `tidy rules` lists all\n"
