"""The end of a run says how many cases were not run, by cause."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from .environment import ROOT, environment

CASES = """
import pytest

def test_runs(): pass

@pytest.mark.parametrize("number", range(3))
def test_package(number): pytest.importorskip("no_such_package" + number * ".part")

@pytest.mark.skipif(True, reason="another platform")
def test_platform(): pass

@pytest.mark.parametrize("case", [])
def test_nothing(case): pass

@pytest.mark.slow
def test_slow(): pass

@pytest.mark.oracle
def test_compares(): pass

@pytest.mark.xfail
def test_known(): assert False
"""


def _last_lines(folder: Path, *options: str) -> str:
    shutil.copy(Path(__file__).with_name("not_run.py"), folder)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow\n    oracle\n", "utf-8")
    (folder / "test_cases.py").write_text(CASES, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "not_run"]
    command += options
    given = environment(PYTEST_ADDOPTS="")  # those of the run that this test is part of are its own
    done = subprocess.run(
        command, cwd=folder, env=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_causes_are_counted_and_what_would_run_them_is_said(tmp_path: Path) -> None:
    assert (
        "7 cases were not run: 3 without the package no_such_package, 1 another platform, "
        "1 without cases: an empty list, 1 slow (pytest -m slow), "
        "1 with PyTorch (pip install torch, pytest -m oracle)\n"
    ) in _last_lines(tmp_path, "-m", "not slow and not oracle")


def test_a_run_of_everything_says_nothing(tmp_path: Path) -> None:
    named = "test_runs or test_slow or test_compares"
    assert "not run" not in _last_lines(tmp_path, "-k", named, "-m", "")


def test_a_run_begins_by_saying_how_long_it_takes_and_how_to_run_less() -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", str(Path(__file__))]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True
    )
    (line,) = [each for each in done.stdout.splitlines() if each.startswith("the plain suite: ")]
    assert "minutes" in line
    assert "pytest tests/cli" in line
    assert (ROOT / "tests" / "cli").is_dir()
