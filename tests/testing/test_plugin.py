"""The plug-in of pytest, in fresh projects that are made for it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ..environment import ROOT, environment

pytest_plugins = ("pytester",)

_TRAINING = """
import pytest
import {framework} as torch
nn = torch.nn

def train(steps=6, fills=False, reads=False):
    model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        if fills:
            t = torch.zeros(24)
            for i in range(24):
                t[i] = i
        loss = model(torch.ones(8, 16)).sum()
        if reads:
            loss.item()
        loss.backward()
        optimizer.step()
"""
_TESTS = """
def test_clean(tidy):
    with tidy.profile(steps=4) as recording:
        train()
    tidy.assert_clean(max_step_ms=60_000, max_syncs=0)
    assert len(recording.trace.steps) == 4
    assert tidy.load and tidy.Severity  # what the module has

def test_fills(tidy):
    with tidy.profile(steps=4):
        train(fills=True)
    tidy.assert_clean(select=["TDY404"], fail_on="info")

def test_fills_ignored(tidy):
    with tidy.profile(steps=4):
        train(fills=True)
    select, ignore = "TDY404,TDY601,TDY701", "for-loop-indexing,TDY601"
    tidy.assert_clean(select=select, ignore=ignore, fail_on="info")

def test_reads(tidy):
    with tidy.profile(steps=4):
        train(reads=True)
    tidy.assert_clean(fail_on="never", max_syncs=3)

def test_slow(tidy):
    with tidy.profile(steps=4):
        train()
    tidy.assert_clean(fail_on="never", max_step_ms=0.000_01)

@pytest.mark.tidy(steps=4, max_step_ms="20")
def test_no_limit():
    train()

def test_a_limit_that_never_fails(tidy):
    with tidy.profile(steps=4):
        train()
    tidy.assert_clean(max_step_ms=float("nan"))

def test_forgot(tidy):
    tidy.assert_clean()

def test_no_steps(tidy):
    with tidy.profile(steps=4):
        torch.ones(3) + 1
    tidy.assert_clean(fail_on="never", max_step_ms=1)

@pytest.mark.tidy(steps=4, max_syncs=0)
@pytest.mark.parametrize("reads", [False, True], ids=["quiet", "../reads"])
def test_marked(reads, tmp_path):
    train(reads=reads)

@pytest.mark.tidy(steps=4)
def test_its_own_failure():
    train()
    assert "this" == "that"

@pytest.mark.tidy(4)
def test_wrong_marker():
    train()

@pytest.mark.tidy(stps=4)
def test_misspelt():
    train()

@pytest.mark.tidy(steps=4, colour="red")
def test_unknown_argument():
    train()

@pytest.mark.tidy(steps="4")
def test_wrong_value():
    train()

@pytest.mark.tidy(steps=4, fail_on="notice")
def test_wrong_severity():
    train()

@pytest.mark.tidy(steps=4, select="TDY404,TDY601", ignore="TDY601", fail_on="info")
def test_marked_fills():
    train(fills=True)

@pytest.mark.tidy
def test_nothing_ran():
    sum(range(9))

def test_nothing_ran_in_the_statement(tidy):
    with tidy.profile(after=50):
        train()
    tidy.assert_clean(fail_on="never")

def test_operators_without_a_step(tidy):
    with tidy.profile():
        torch.ones(3) + 1
    tidy.assert_clean(without_steps=True)

@pytest.mark.tidy
def test_marked_without_a_step():
    torch.ones(3) + 1

@pytest.mark.tidy(without_steps=True)
def test_marked_inference():
    torch.ones(3) + 1

@pytest.mark.tidy(steps=4)
async def test_coroutine():
    train()

def test_nothing_stays_behind(tidy):
    with pytest.raises(ValueError, match="mine"):
        with tidy.profile():
            raise ValueError("mine")
    with tidy.profile(steps=2) as recording:
        train(3)
    assert len(recording.trace.steps) == 2
"""
_SAID = {
    "test_fills": r"tidy: 1 (warning|info)\n",
    "test_reads": r"a tensor's value is read 4 times, first at test_\w+\.py:\d+, and 3 are allowed",
    "test_slow": r"a step takes .*, and 1e-05 ms are allowed",
    "test_no_limit": r"tidy: max_step_ms is a number from 0 on, and not '20'\n",
    "test_a_limit_that_never_fails": r"tidy: max_step_ms is a number from 0 on, and not nan\n",
    "test_forgot": r"nothing was recorded; use `with tidy.profile\(\): ...` before",
    "test_no_steps": r"no steps were recorded, so that max_step_ms cannot be checked",
    "test_marked[../reads]": r"a tensor's value is read 4 times",
    "test_its_own_failure": r"assert 'this' == 'that'",
    "test_wrong_marker": r"takes arguments by name alone",
    "test_misspelt": r"@pytest\.mark\.tidy: unknown argument 'stps'; did you mean 'steps'\?\n",
    "test_unknown_argument": r"unknown argument 'colour'; it takes steps, .*, without_steps\n",
    "test_wrong_value": r"@pytest\.mark\.tidy: steps is a whole number from 1 on, and not '4'\n",
    "test_wrong_severity": r'fail_on is "error", .*, not .notice.\n',
    "test_marked_fills": r"tidy: 1 (warning|info)\n",
    "test_nothing_ran": r"tidy: no step was recorded: .*; what trains has to run in",
    "test_nothing_ran_in_the_statement": r"no step was recorded: .*there were 6 optimizer steps",
    "test_marked_without_a_step": r"tidy: no step was recorded, since no optimizer stepped",
    "test_coroutine": r"records no coroutine",
}
_PASSED = {
    "test_clean",
    "test_fills_ignored",
    "test_marked[quiet]",
    "test_nothing_stays_behind",
    "test_operators_without_a_step",
    "test_marked_inference",
}
# Of which no report is kept: they record nothing.
_UNRECORDED = {
    "test_forgot",
    "test_wrong_marker",
    "test_coroutine",
    "test_misspelt",
    "test_unknown_argument",
    "test_wrong_value",
    "test_nothing_ran",
    "test_nothing_ran_in_the_statement",
}


def _pytest(pytester: pytest.Pytester, *given: str) -> subprocess.CompletedProcess[str]:
    """Run pytest with the plug-in and no others, in the folder of the project."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tidy.testing.plugin", "-W", "error", *given],
        cwd=pytester.path,
        env=environment(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def _run(pytester: pytest.Pytester, framework: str, *given: str) -> tuple[str, dict[str, str]]:
    """Run the tests of a project that uses a framework; gives the output and what each came to."""
    name = f"test_{framework.replace('.', '_')}"
    pytester.makepyfile(**{name: _TRAINING.format(framework=framework) + _TESTS})
    given = ("-rA", "--strict-markers", *given)
    done = _pytest(pytester, *given)
    assert done.returncode == 1, done.stdout + done.stderr
    ends = re.findall(
        r"^(PASSED|FAILED|ERROR) \S+?::([^\n]+?)(?: - .*)?$", done.stdout, re.MULTILINE
    )
    return done.stdout, {test: end for end, test in ends}


def _check(out: str, ends: dict[str, str]) -> None:
    assert {test for test, end in ends.items() if end == "PASSED"} == _PASSED
    assert {test for test, end in ends.items() if end == "FAILED"} == _SAID.keys()
    for test, said in _SAID.items():
        head = rf"^_+ {re.escape(test)} _+$"
        (shown,) = re.findall(rf"(?ms){head}\n(.*?)(?=^_{{3,}} |^={{3,}} )", out)
        assert re.search(said, shown), shown
    assert "Traceback" not in out


def test_a_project_with_the_runtime(pytester: pytest.Pytester) -> None:
    out, ends = _run(pytester, "tidy.runtime", "--tidy-report", "kept/reports")
    _check(out, ends)
    kept = pytester.path / "kept" / "reports"
    made = {path.stem: json.loads(path.read_text("utf-8")) for path in kept.glob("*.json")}
    recorded = (_PASSED | _SAID.keys()) - _UNRECORDED
    titles = {each["path"].partition("::")[2] for each in made.values()}
    assert titles == recorded
    assert all(re.fullmatch(r"[-.\w]+", name) for name in made)
    # A failure shows the findings as the text report does.
    (fills,) = (name for name in made if name.startswith("test_tidy_runtime.py_test_fills-"))
    assert (kept / f"{fills}.txt").read_text("utf-8") in out
    assert "TDY404" in (kept / f"{fills}.html").read_text("utf-8")
    assert {each["code"] for each in made[fills]["findings"]} == {"TDY404"}


def test_what_the_project_says_holds(pytester: pytest.Pytester) -> None:
    """Its configuration, and a comment that accepts a finding; without them the test fails."""
    training = _TRAINING.format(framework="tidy.runtime")
    test = """
def test_fills(tidy):
    with tidy.profile(steps=3):
        train(4, fills=True)
    tidy.assert_clean(fail_on="info", select=["TDY404", "TDY601"])
"""
    pytester.makepyfile(training + test)
    assert "TDY404" in _pytest(pytester, "-q").stdout
    (pytester.path / "tidy.toml").write_text('ignore = ["TDY601"]\n', "utf-8")
    pytester.makepyfile(training.replace("t[i] = i", "t[i] = i  # tidy: ignore[TDY404]") + test)
    done = _pytest(pytester, "-q")
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_several_processes_of_xdist(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    given = ("-p", "xdist", "-n", "2", "--tidy-report", "kept")
    out, ends = _run(pytester, "tidy.runtime", *given)
    _check(out, ends)
    assert len(list((pytester.path / "kept").glob("*.json"))) == len(
        (_PASSED | _SAID.keys()) - _UNRECORDED
    )


@pytest.mark.oracle
def test_a_project_with_pytorch(pytester: pytest.Pytester) -> None:
    _check(*_run(pytester, "torch"))


def test_loading_the_plug_in_imports_nothing(pytester: pytest.Pytester) -> None:
    """In a project that does not use it neither numpy nor anything else of tidy is imported."""
    pytester.makepyfile(
        """
        import sys

        def test_nothing():
            mine = sorted(m for m in sys.modules if m.partition(".")[0] == "tidy")
            assert mine == ["tidy", "tidy._version", "tidy.testing", "tidy.testing.plugin"]
            assert not {"numpy", "rich", "msgspec", "click"} & sys.modules.keys()
        """
    )
    done = _pytest(pytester, "-q")
    assert done.returncode == 0, done.stdout


def test_pytest_is_told_where_the_plug_in_is() -> None:
    text = (Path(ROOT) / "pyproject.toml").read_text("utf-8")
    (named,) = re.findall(r"\[project\.entry-points\.pytest11\]\ntidy = \"(.+)\"", text)
    assert named == "tidy.testing.plugin"
