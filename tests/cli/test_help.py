"""What the command says of itself, and what it takes to say it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tidy import __version__
from tidy.patterns.document import HEADINGS
from tidy.patterns.registry import load_patterns

from ..environment import ROOT, environment
from .command import tidy

_ENDS = ("Needs:", "Fix:", "It fires on", "It is quiet on")
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


@pytest.mark.parametrize(
    "given", [(), ("report",), ("rules",), ("explain",), ("new-rule",), ("config",), ("baseline",)]
)
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
    assert heads == [[rule.code, rule.slug(), rule.severity.label] for rule in rules]
    told = " ".join(" ".join(line.split()) for line in result.lines if line.startswith(" "))
    assert told == " ".join(rule.summary() for rule in rules)
    assert not [line for line in result.lines if len(line) > 80 or line != line.rstrip()]


def test_explain_by_code_or_name() -> None:
    result = tidy("explain", "TDY404")
    assert (result.code, result.err) == (0, "")
    assert result.lines[0] == "TDY404 for-loop-indexing (warning)"
    for part in (*(f"{heading}:" for heading in HEADINGS), *_ENDS):
        assert [line for line in result.lines if line.startswith(part)], part
    for choice in ("tdy404", "for-loop-indexing", "For-Loop-Indexing"):
        assert tidy("explain", choice).out == result.out


def test_explain_what_is_none() -> None:
    result = tidy("explain", "TDY999")
    assert (result.code, result.out) == (2, "")
    assert result.err == "tidy: 'TDY999': no such rule: `tidy rules` lists all\n"


def test_explain_of_several_codes_and_prefixes() -> None:
    """In the order asked for, each once."""
    result = tidy("explain", "TDY60", "launch-bound,TDY601")
    rules = {rule.code: rule for rule in load_patterns()}
    heads = [line for line in result.lines if line.startswith("TDY") and line.endswith(")")]
    wanted = ("TDY601", "TDY602", "TDY603", "TDY604", "TDY605", "TDY606", "TDY402")
    assert heads == [
        f"{code} {rules[code].slug()} ({rules[code].severity.label})" for code in wanted
    ]
    for code in wanted:
        assert tidy("explain", code).out.rstrip("\n") in result.out


def test_rules_as_json() -> None:
    made = tidy("rules", "--format", "json").json()
    assert made["tool"] == {"name": "tidy", "version": __version__}
    rules = load_patterns()
    assert [each["code"] for each in made["rules"]] == [rule.code for rule in rules]
    for each, rule in zip(made["rules"], rules, strict=True):
        assert each["severity"] == rule.severity.label
        assert (each["name"], each["fix"]) == (rule.slug(), rule.fix)
        assert each["summary"] == rule.summary()


def test_the_version() -> None:
    assert tidy("-V").out == tidy("--version").out == f"tidy {__version__}\n"


def _completed(*words: str) -> list[str]:
    """What bash would offer for the last word, as kind and word."""
    done = subprocess.run(
        [sys.executable, "-m", "tidy"],
        cwd=ROOT, capture_output=True, text=True, check=True,
        env=environment(
            _TIDY_COMPLETE="bash_complete",
            COMP_WORDS=" ".join(["tidy", *words]),
            COMP_CWORD=str(len(words)),
        ),
    )  # fmt: skip
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["explain", "TDY60"], {f"plain,TDY60{i}" for i in (1, 2, 3, 4, 5, 6)}),
        (["explain", "launch"], {"plain,launch-blocking", "plain,launch-bound"}),
        (["report", "--select", "TDY404,zero"], {"plain,TDY404,zeroed-gradients"}),
        (["run", "--device", "h"], {"plain,h100", "plain,h200"}),
        (["report", "tra"], {"file,tra"}),
        (["run", "train"], {"file,train"}),
        (["new-rule", "--folder", "ex"], {"dir,ex"}),
        (["rep"], {"plain,report"}),
    ],
)
def test_completion(words: list[str], offered: set[str]) -> None:
    assert set(_completed(*words)) == offered


_COMMANDS = "report run account table rules explain diff verify baseline config new-rule".split()


@pytest.mark.parametrize("command", _COMMANDS)
def test_help_fits_a_narrow_terminal_and_begins_with_examples(command: str) -> None:
    lines = tidy(command, "--help", COLUMNS="60").lines
    # Code is not broken.
    code = "    with torch.profiler.profile(record_shapes=True, with_stack=True) as prof:"
    assert [line for line in lines if len(line) > 60 and line != code] == []
    if command not in ("table", "rules", "explain"):
        told = [line for line in lines[lines.index("") :] if line]
        before = next(number for number, line in enumerate(told) if line.startswith("    "))
        assert before <= 2, "a summary, of two lines at the most"


@pytest.mark.parametrize("command", ["run", "report", "verify", "baseline", "diff"])
def test_help_lists_many_options_under_headings(command: str) -> None:
    lines = tidy(command, "--help").lines
    headings = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert len(headings) >= 3
    last = lines.index("Options:")
    listed = [line.split()[0] for line in lines[last + 1 :] if line.startswith("  -")]
    assert set(listed) <= {"-h,", "--recover"}
    assert len(set(headings)) == len(headings)
