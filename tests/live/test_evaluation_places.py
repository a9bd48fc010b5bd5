"""An evaluation in each step has the line that calls the model, and the one that calls for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..cli.command import tidy
from .evaluation_cases import EVALUATION_CASES

pytestmark = [pytest.mark.oracle, pytest.mark.slow]

(CASE,) = (each for each in EVALUATION_CASES if each.name == "evaluated-in-each-step")


def test_the_line_that_calls_the_function_is_where_it_is_mended(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "script.py").write_text(CASE.wrong, "utf-8")
    (tmp_path / "tidy.toml").write_text("[rules.TDY413]\nworth-a-word = 0\n", "utf-8")
    options = ("--framework", "torch", "--format", "json", "--select", "TDY413")
    done = tidy("run", *options, "script.py", cwd=tmp_path)
    (found,) = (each for each in json.loads(done.out)["traces"][0]["findings"] if each["in_window"])
    (at,) = (n for n, line in enumerate(CASE.wrong.splitlines(), 1) if "log.append" in line)
    assert found["location"]["line"] in CASE.lines_at_fault()
    assert found["fix_place"]["what"] == "evaluate() is called"
    assert found["fix_place"]["location"]["line"] == at
