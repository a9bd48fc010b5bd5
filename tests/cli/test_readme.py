"""What README.md says of its examples; for `make soak` on a machine that other work keeps busy."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..environment import ROOT, SOAK
from .command import tidy

pytestmark = pytest.mark.slow
_README = (ROOT / "README.md").read_text("utf-8")
_MISTAKES = {"TDY101", "TDY404", "TDY601", "TDY603", "TDY701"}


@pytest.fixture(autouse=True, scope="module")
def _two_busy_loops() -> Iterator[None]:
    count = 2 if SOAK else 0  # .ci/run has other tests beside these
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


def _codes(script: str) -> set[str]:
    done = tidy("run", "--quiet", "--fail-on", "never", script, cwd=ROOT)
    return set(re.findall(r"\bTDY\d{3}\b", done.out))


def test_the_first_example() -> None:
    """The five mistakes are found in one script, and none of them in the other."""
    assert "pip install . && tidy run examples/train_mlp.py" in _README
    assert "finds none of the five" in _README
    assert _codes("examples/train_mlp.py") >= _MISTAKES
    assert not _codes("examples/train_mlp_fixed.py") & _MISTAKES


def _verified() -> tuple[str, str]:
    """What the command prints that README.md shows, and what it prints here."""
    (command, shown) = re.search(r"\$ tidy (verify .*)\n([^`]*)```", _README).groups()  # type: ignore[union-attr]
    return shown, tidy(*command.split(), cwd=ROOT).out


def test_what_a_fix_gains_has_the_form_that_is_shown() -> None:
    shown, said = _verified()
    assert _form(said) == _form(shown)


@pytest.mark.alone
def test_what_a_fix_gains_is_much() -> None:
    _, said = _verified()
    before_ms, after_ms = map(float, re.findall(r"measured +([\d.]+) ms -> ([\d.]+) ms", said)[0])
    assert after_ms < 0.75 * before_ms


def _form(text: str) -> list[str]:
    """The lines without numbers, units and the verdict."""
    lines = text.replace("not as predicted", "as predicted").strip().splitlines()
    return [re.sub(r"[\d.]+( ms| us)?", "N", line) for line in lines]


def test_files_that_it_names_are_there() -> None:
    named = re.findall(r"\]\(([\w./-]+)\)|\b(examples/[\w/]+\.\w+)", _README)
    assert [path for pair in named for path in pair if path and not Path(ROOT, path).exists()] == []
