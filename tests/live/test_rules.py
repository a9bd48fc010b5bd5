"""Each rule fires on a live run of a small script and names the line, and is quiet on the fix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ..cli.command import tidy
from .cases import CASES, Case

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
each_framework = pytest.mark.parametrize(
    "framework", ["runtime", pytest.param("torch", marks=pytest.mark.oracle)]
)


def _findings(case: Case, text: str, framework: str, folder: Path) -> list[dict[str, Any]]:
    """What `tidy run` finds of the case's rule."""
    if framework == "torch":
        pytest.importorskip("torch")
    (folder / "script.py").write_text(text, "utf-8")
    options = ("--framework", framework, "--format", "json", *case.options)
    done = tidy("run", *options, "script.py", cwd=folder)
    assert done.err == ""
    (report,) = json.loads(done.out)["traces"]
    return [found for found in report["findings"] if found["code"] == case.code]


@each_framework
@each_case
def test_it_names_the_line(case: Case, framework: str, tmp_path: Path) -> None:
    found = _findings(case, case.wrong, framework, tmp_path)
    places = {(f["location"]["file"], f["location"]["line"]) for f in found}
    assert places == {("script.py", line) for line in case.lines_at_fault()}
    assert all(f["location"]["is_call_line"] for f in found)


@each_case
def test_it_is_quiet_on_the_corrected_script(case: Case, tmp_path: Path) -> None:
    """On PyTorch test_round_trip.py has the same, in one process: importing it takes long."""
    assert _findings(case, case.corrected, "runtime", tmp_path) == []
