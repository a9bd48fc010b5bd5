"""Sources are shown of a run that tidy recorded itself, and of the project's files alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..cli.command import tidy
from ..environment import ROOT
from .making import content_of

_SCRIPT = (ROOT / "examples" / "train_mlp.py").read_text("utf-8")
# Its loop is in another module, which lies outside of the project.
_OUTSIDE = "import sys\nsys.path.insert(0, sys.argv[1])\nfrom outside import train\ntrain()\n"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[_Run, _Run]:
    """A run whose sources lie in the project, and one with the same sources outside of it."""
    tmp_path = tmp_path_factory.mktemp("sources")
    project, outside = tmp_path / "project", tmp_path / "elsewhere"
    project.mkdir()
    outside.mkdir()
    (outside / "outside.py").write_text(_SCRIPT, "utf-8")
    (project / "train.py").write_text(_SCRIPT, "utf-8")
    (project / "calls.py").write_text(_OUTSIDE, "utf-8")
    made = []
    for script in ("train.py", "calls.py"):
        options = ("--steps", "3", "--trace", "t.json", "-o", "p.html", "-o", "p.json")
        ran = tidy("run", *options, script, str(outside), cwd=project)
        assert ran.code in (0, 1), ran.err
        made.append(_Run(project))
    return made[0], made[1]


class _Run:
    """What the page of a run says, that of a report on its trace, and the findings as JSON."""

    def __init__(self, project: Path) -> None:
        self.page = content_of((project / "p.html").read_text("utf-8"))["jobs"][0]
        (trace,) = json.loads((project / "p.json").read_text("utf-8"))["traces"]
        self.findings = trace["findings"]
        tidy("report", "t.json", "-o", "report.html", cwd=project)
        self.report = content_of((project / "report.html").read_text("utf-8"))["jobs"][0]


def test_lines_have_their_cost(runs: tuple[_Run, _Run]) -> None:
    run, _ = runs
    (file,) = run.page["sources"]
    assert file["path"] == "train.py"
    lines = {line["number"]: line for line in file["lines"]}
    text = _SCRIPT.splitlines()
    assert all(line["text"] == text[number - 1] for number, line in lines.items())
    loop = next(number for number, line in enumerate(text, 1) if "found[:, i] =" in line)
    assert "TDY404" in lines[loop]["codes"]
    assert lines[loop]["host_ns"] > lines[loop - 1]["host_ns"]
    # Findings stand at their lines, but for those that cost next to nothing.
    said = {
        (each["code"], place["line"])
        for each in run.findings
        for place in (each["location"], (each["fix_place"] or {}).get("location"))
        if place is not None and place["file"] == "train.py"
    }
    shown = {(code, number) for number, line in lines.items() for code in line["codes"]}
    assert shown <= said


def test_files_outside_of_the_project_are_not_shown(runs: tuple[_Run, _Run]) -> None:
    _, run = runs
    assert any(each["code"] == "TDY404" for each in run.findings)
    assert {file["path"] for file in run.page["sources"]} <= {"calls.py"}


def test_no_source_is_shown_of_a_trace_that_is_given(runs: tuple[_Run, _Run]) -> None:
    """It may be somebody else's, and so may the paths in it."""
    assert [run.report["sources"] for run in runs] == [[], []]
