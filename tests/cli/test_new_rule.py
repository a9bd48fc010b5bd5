"""`tidy new-rule`: from nothing to a rule whose examples hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from .command import tidy
from .traces import clean, write

pytestmark = pytest.mark.slow  # each case starts processes


def test_a_new_rule_fails_until_it_is_written(tmp_path: Path) -> None:
    made = tidy("new-rule", "repeated-item", cwd=tmp_path)
    assert (made.code, made.err) == (0, "")
    assert made.lines[0] == "Wrote repeated_item.py: rule OWN001 repeated-item."
    check = made.lines[2].split()
    assert check == ["tidy", "new-rule", "--check", "repeated_item.py"]

    failing = tidy(*check[1:], cwd=tmp_path)
    assert (failing.code, failing.err) == (1, "")
    assert failing.lines == [
        "OWN001 repeated-item: example 'three-times': 3 events expected, 0 found"
    ]

    rule = tmp_path / "repeated_item.py"
    text = rule.read_text("utf-8")
    (line,) = [line for line in text.splitlines() if "return False" in line]
    rule.write_text(text.replace(line, "        return True"), "utf-8")
    passing = tidy(*check[1:], cwd=tmp_path)
    assert (passing.code, passing.err) == (0, "")
    assert passing.lines == ["OWN001 repeated-item: all of its 2 examples hold"]


def test_what_it_says_to_run_next_works_at_once(tmp_path: Path) -> None:
    made = tidy("new-rule", "SlowAddition", cwd=tmp_path)
    trace = write(tmp_path / "clean.json", clean())
    _, explain, report = (line.split()[1:] for line in made.lines[2:])
    told = tidy(*explain, cwd=tmp_path)
    assert (told.code, told.lines[0]) == (0, "OWN001 slow-addition (warning)")
    found = tidy(*(trace if word == "TRACE" else word for word in report), cwd=tmp_path)
    assert (found.code, found.err) == (0, "")


@pytest.mark.parametrize("name", ["repeated-item", "repeated_item", "RepeatedItem"])
def test_a_name_may_be_written_in_three_ways(tmp_path: Path, name: str) -> None:
    tidy("new-rule", name, cwd=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["repeated_item.py"]
    assert "\nclass RepeatedItem(Pattern):\n" in (tmp_path / "repeated_item.py").read_text("utf-8")


def test_the_next_code_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    for name, code in (("one-thing", "ABC041"), ("two-things", None), ("third-thing", None)):
        options = ("--code", code) if code else ()
        made = tidy("new-rule", name, "--folder", "rules", *options, cwd=tmp_path)
        assert made.code == 0
    codes = {path.stem: path.read_text("utf-8")[3:9] for path in (tmp_path / "rules").iterdir()}
    assert codes == {"one_thing": "ABC041", "two_things": "ABC042", "third_thing": "ABC043"}
    for rule in sorted((tmp_path / "rules").iterdir()):
        assert tidy("new-rule", "--check", rule).code == 1


def test_a_file_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "repeated_item.py").write_text("precious")
    result = tidy("new-rule", "repeated-item", cwd=tmp_path)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("tidy: repeated_item.py: there is such a file already")
    assert (tmp_path / "repeated_item.py").read_text() == "precious"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("bad name!",), "'bad name!' is no name for a rule"),
        (("",), "'' is no name for a rule"),
        (("3d-copies",), "'3d-copies' is no name for a rule"),
        (("../evil",), "'../evil' is no name for a rule"),
        (("none",), "'none' is no name for a rule"),
        (("pattern",), "'pattern' is no name for a rule"),
        (("for-loop-indexing",), "for-loop-indexing is taken by TDY404"),
        (("a-rule", "--code", "TDY404"), "TDY404 is taken by TDY404 for-loop-indexing"),
        (("a-rule", "--code", "slow"), "three capital letters and three digits"),
        (("a-rule", "--folder", "absent"), "--folder absent: there is no such folder"),
        (("--check", "absent.py"), "tidy: absent.py: there is no such file"),
        (("--check", "no_such_module"), "no_such_module"),
    ],
)
def test_what_will_not_do_is_one_line(tmp_path: Path, given: tuple[str, ...], says: str) -> None:
    result = tidy("new-rule", *given, cwd=tmp_path)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("tidy: ")
    assert len(result.err.splitlines()) == 1
    assert says in result.err
    assert list(tmp_path.iterdir()) == []


_RULE = '''
from tidy import Pattern

class Mine(Pattern):
    """Mine."""
    code = "{code}"

    def match(self, event):
        return True
'''


@pytest.mark.parametrize(
    ("code", "exit_code", "says"),
    [
        ("XYZ001", 1, "XYZ001 mine: it has no examples"),
        ("TDY404", 2, "code TDY404 is taken by for-loop-indexing"),
        ("slow", 2, "three capital letters and three digits"),
    ],
)
def test_a_checked_rule_has_examples_and_a_code_of_its_own(
    tmp_path: Path, code: str, exit_code: int, says: str
) -> None:
    rule = tmp_path / "mine.py"
    rule.write_text(_RULE.format(code=code))
    result = tidy("new-rule", "--check", rule)
    assert result.code == exit_code
    assert says in result.out + result.err


def test_our_own_rules_can_be_checked_too() -> None:
    result = tidy("new-rule", "--check", "tidy.patterns.rules.zeroed_gradients")
    assert (result.code, result.lines) == (
        0,
        ["TDY603 zeroed-gradients: all of its 6 examples hold"],
    )
