"""The action, the hooks of pre-commit and the examples of docs/ci.md, tried in a fresh project."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from ..environment import ROOT, environment
from .traces import clean, loop, write

_SCRIPT = """
import tidy.runtime as torch

model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(300):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
"""
_BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(_BASH is None or os.name == "nt", reason="there is no bash")


def _steps() -> dict[str, str]:
    """The shell scripts of the action, by the name of their step."""
    text = (ROOT / "action.yml").read_text("utf-8")
    steps = re.split(r"(?m)^    - name: ", text)[1:]
    scripts = {}
    for step in steps:
        name, _, rest = step.partition("\n")
        if (run := re.search(r"(?ms)^      run: \|\n((?:        [^\n]*\n|\n)+)", rest)) is not None:
            scripts[name] = dedent(run[1])
    return scripts


def _project(folder: Path) -> Path:
    """A project with a script, two traces, and `tidy`, `python` and `gh` on the path."""
    folder.mkdir()
    (folder / "train.py").write_text(_SCRIPT, "utf-8")
    write(folder / "traces" / "bad.trace.json", loop())
    write(folder / "clean dir" / "good.trace.json", clean())
    programs = folder / "bin"
    programs.mkdir()
    commands = {
        "python": f'exec {shlex.quote(sys.executable)} "$@"',
        "tidy": f'exec {shlex.quote(sys.executable)} -m tidy "$@"',
        "gh": 'printf "%s\\n" "$*" >> "$GH_LOG"\nfor each; do last=$each; done\n'
        'case "$*" in *--jq*) printf "%s" "$GH_KNOWN";; *) cp "$last" "$GH_BODY";; esac',
    }
    for name, text in commands.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n", "utf-8")
        (programs / name).chmod(0o755)
    return folder


def _bash(script: str, project: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a step as GitHub does."""
    path = f"{project / 'bin'}{os.pathsep}{os.environ['PATH']}"
    files = {name: str(project / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    return subprocess.run(
        [str(_BASH), "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=project,
        env=environment(PATH=path, RUNNER_TEMP=str(project), **files, **variables),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def _outputs(project: Path) -> dict[str, str]:
    lines = (project / "GITHUB_OUTPUT").read_text("utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines)


@needs_bash
def test_the_action_checks_traces_and_fails_last(tmp_path: Path) -> None:
    project = _project(tmp_path / "project")
    options = "--savings off --select 'TDY404'"
    done = _bash(_steps()["tidy"], project, TIDY_REPORT="traces", TIDY_RUN="", TIDY_OPTIONS=options)
    assert done.returncode == 0, done.stderr  # what follows is to run
    assert done.stdout.startswith("::warning title=TDY404 for-loop-indexing,file=train.py,line=3,")
    outputs = _outputs(project)
    assert outputs["exit-code"] == "1"
    sarif = json.loads(Path(outputs["sarif"]).read_text("utf-8"))
    assert [each["ruleId"] for each in sarif["runs"][0]["results"]] == ["TDY404"]
    assert Path(outputs["html"]).read_text("utf-8").startswith("<!doctype html>")
    page = Path(outputs["markdown"]).read_text("utf-8")
    assert (project / "GITHUB_STEP_SUMMARY").read_text("utf-8") == page
    assert _bash(_steps()["verdict"], project, TIDY_EXIT_CODE="1").returncode == 1
    assert _bash(_steps()["verdict"], project, TIDY_EXIT_CODE="").returncode == 2


@needs_bash
def test_inputs_of_the_action_are_words_and_no_script(tmp_path: Path) -> None:
    project = _project(tmp_path / "project")
    given = "'clean dir' '$(touch made)' '`touch made`;touch made'"
    _bash(_steps()["tidy"], project, TIDY_REPORT=given, TIDY_RUN="", TIDY_OPTIONS="")
    assert _outputs(project)["exit-code"] == "2"  # there are no such files
    assert not (project / "made").exists()
    odd = _bash(_steps()["tidy"], project, TIDY_REPORT="'open", TIDY_RUN="", TIDY_OPTIONS="")
    assert odd.returncode != 0
    assert "::error title=tidy::" in odd.stderr
    assert "Traceback" not in odd.stderr
    none = _bash(_steps()["tidy"], project, TIDY_REPORT="", TIDY_RUN="", TIDY_OPTIONS="")
    assert (none.returncode, "give the action a script" in none.stdout) == (2, True)


@needs_bash
@pytest.mark.parametrize("known", ["", "17\n18"])
def test_the_action_has_one_comment(tmp_path: Path, known: str) -> None:
    """The first run writes it, and later ones change it; long reports are cut."""
    project = _project(tmp_path / "project")
    (project / "report.md").write_text("a line\n" * 10_000, "utf-8")
    done = _bash(
        _steps()["comment"],
        project,
        TIDY_MARKDOWN="report.md",
        TIDY_PULL_REQUEST="5",
        TIDY_REPOSITORY="a/b",
        GH_KNOWN=known,
        GH_LOG=str(project / "log"),
        GH_BODY=str(project / "body"),
    )
    assert done.returncode == 0, done.stderr
    asked, sent = (project / "log").read_text("utf-8").splitlines()
    assert asked.startswith("api repos/a/b/issues/5/comments --paginate")
    how = "PATCH repos/a/b/issues/comments/17" if known else "POST repos/a/b/issues/5/comments"
    assert f"--method {how} --input" in sent
    body = json.loads((project / "body").read_text("utf-8"))["body"]
    assert body.startswith("<!-- tidy -->\na line\n")
    assert body.endswith("a line\n\nThe rest is in the summary of the job.")
    assert len(body) < 65_536


def test_no_input_of_the_action_is_text_of_a_script() -> None:
    assert set(_steps()) == {"install", "tidy", "comment", "verdict"}
    assert not any("${{" in script for script in _steps().values())


def _hooks() -> dict[str, dict[str, str]]:
    text = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
    hooks = [dict(re.findall(r"(?m)^[- ] (\w+): (.+)$", each)) for each in text.split("\n\n")]
    return {hook["id"]: hook for hook in hooks}


@needs_bash
def test_hooks_of_pre_commit(tmp_path: Path) -> None:
    """Each is called as pre-commit does: its entry, then its arguments, or the files that fit."""
    project, hooks = _project(tmp_path / "project"), _hooks()
    report = hooks["tidy-report"]
    fits = re.compile(report["files"]).search
    assert fits("a/bad.trace.json")
    assert fits("worker.pt.trace.json.gz")
    assert not fits("package.json")
    assert _bash(f"{report['entry']} traces/bad.trace.json", project).returncode == 1
    done = _bash(f"{report['entry']} 'clean dir/good.trace.json'", project)
    assert (done.returncode, done.stdout) == (0, "")
    fits = re.compile(hooks["tidy-config"]["files"]).search
    assert fits("tidy.toml")
    assert fits("sub/pyproject.toml")
    assert not fits("my_tidy.toml")
    entry = hooks["tidy-config"]["entry"]
    assert _bash(entry, project).returncode == 0
    (project / "tidy.toml").write_text("selct = []\n", "utf-8")
    done = _bash(entry, project)
    assert (done.returncode, "did you mean select" in done.stderr) == (2, True)


@needs_bash
@pytest.mark.slow
def test_commands_of_the_documentation(tmp_path: Path) -> None:
    """Each command of docs/ci.md and each hook that records, in this order, in one project."""
    project = _project(tmp_path / "project")
    text = (ROOT / "docs" / "ci.md").read_text("utf-8")
    blocks = re.findall(r"(?s)```\w+\n(.*?)```", text)
    commands = [
        command
        for block in blocks
        for command in re.findall(
            r"(?m)^\s*(?:- (?:run: )?|sh ')?(tidy (?:run|diff)[^\n']*)", block
        )
    ]
    assert len(commands) == 5
    base = (
        "tidy run --steps 50 --quickest --stop-after --trace base.json.gz --fail-on never train.py"
    )
    commands = [base, f"{_hooks()['tidy-run']['entry']} train.py", *commands]
    for command in commands:
        done = _bash(command, project)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    for written in (
        "tidy.sarif",
        "tidy.md",
        "report.json",
        "report.sarif",
        "report.txt",
        "diff.md",
    ):
        assert (project / written).stat().st_size, written
