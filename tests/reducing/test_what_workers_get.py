"""What goes to worker processes, and what comes back from them beside summaries."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tidy.cli import main
from tidy.commands import reduced
from tidy.commands.files import InputFiles
from tidy.readers import text_size
from tidy.reducing import RankFile, late, pool, rank

from ..cli.command import tidy
from ..cli.traces import clean, loop, write
from ..cli.traces import rank as of_rank

_CRASHES = """
from tidy import Pattern

class Crashing(Pattern):
    \"\"\"Crashes.\"\"\"
    code, needs, fix = "ABC125", frozenset(), "none"

    def find(self, trace):
        raise ValueError("no such luck")
"""


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two ranks, for which workers are started, little as they hold."""
    monkeypatch.setattr(reduced, "_FEWEST_NBYTES", 0)
    monkeypatch.setattr(reduced, "_FEWEST_SPAWNED_NBYTES", 0)
    method = "fork" if hasattr(os, "fork") else "spawn"
    monkeypatch.setattr(pool, "best_method", lambda: method)
    events = [{**each, "ts": each.get("ts", 0) + 1_712_345_678_000_000} for each in loop()]
    step = {**clean()[1], "name": "ProfilerStep#3", "cat": "user_annotation", "dur": 900}
    step["ts"] = 1_712_345_678_000_000
    for number in (0, 1):
        write(tmp_path / f"r{number}.json", [step, *events], **of_rank(number))
    return tmp_path


def _ended(*given: str) -> int:
    """Call the command where tracebacks are asked for; give its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIDY_TRACEBACK", "1")
        patch.setattr(sys, "argv", ["tidy", *given])
        with pytest.raises(SystemExit) as ended:
            main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize("missing", ["none.json", "r0.json/none.json", "n" * 300])
def test_a_file_that_is_missing_leaves_the_others_to_workers(
    job: Path, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError

    given = "r0.json", missing, "r1.json"
    expected = tidy("report", *given, "--jobs", "1", cwd=job)
    assert expected.code == 2
    assert f"tidy: {missing}: cannot be read: " in expected.err
    monkeypatch.setattr(InputFiles, "read", never)
    assert tidy("report", *given, "--jobs", "2", cwd=job) == expected


def test_windows_waits_for_few_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its call that waits takes 63 handles."""
    started: list[None] = []
    monkeypatch.setattr(pool.FilePool, "_start", lambda _: started.append(None))
    monkeypatch.setattr(pool.sys, "platform", "win32")
    pool.FilePool(100)
    assert len(started) == 60


def test_no_more_sizes_are_asked_for_than_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def nbytes(url: str) -> int:
        asked.append(url)
        return 1000

    monkeypatch.setattr(text_size, "url_nbytes", nbytes)
    urls = [f"s3://bucket/{number}.json" for number in range(9)]
    assert text_size.has_text(urls, 2500)
    assert asked == urls[:3]
    assert not text_size.has_text(urls, 9001)
    assert text_size.has_text(urls, 9000)


@pytest.mark.parametrize("most_files", [64, 1])
def test_the_traceback_of_a_rule_comes_back(
    job: Path, most_files: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(text_size, "_MOST_FILES", most_files)
    rules = job / "crashing.py"
    rules.write_text(_CRASHES, "utf-8")
    shutil.copy(job / "r0.json", job / "r0-again.json")
    given = [str(job / "r0.json"), str(job / "r1.json"), str(job / "r0-again.json")]
    more = "--patterns", str(rules), "--select", "ABC125"
    quiet = tidy("report", *given, *more, "--jobs", "2")
    assert quiet.code == 2
    assert "left out" in quiet.err
    written = []
    for jobs in "12":
        assert _ended("report", *given, *more, "--jobs", jobs) == 2
        written.append(capsys.readouterr())
    assert written[0] == written[1]
    assert written[0].out == quiet.out
    for path in given[:2]:
        assert f"tidy: ABC125 crashed on {path}\nTraceback (most recent" in written[0].err
    assert written[0].err.count(f'File "{rules}"') == 2


def test_the_traceback_of_a_comparison_by_tables_is_said_of_each_rank(
    job: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object) -> None:
        raise ValueError("no such luck")

    monkeypatch.setattr(text_size, "_MOST_FILES", 1)
    monkeypatch.setattr(late, "match", fails)
    given = [str(job / "r0.json"), str(job / "r1.json")]
    assert _ended("report", *given, "--format", "json") == 2
    said = capsys.readouterr()
    for path in given:
        assert f"tidy: TDY902 crashed on {path}\nTraceback (most recent" in said.err
    assert said.err.count("in fails") == 2
    for trace in json.loads(said.out)["traces"]:
        (crash,) = trace["crashed"]
        assert (crash["code"], "no such luck" in crash["error"]) == ("TDY902", True)
        assert "TDY902" not in [each["code"] for each in trace["not_checked"]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="patches what a fork inherits")
def test_the_traceback_of_a_worker_comes_back(
    job: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(file: RankFile) -> Any:
        raise KeyError(file.path)

    monkeypatch.setattr(rank, "_read", fails)
    given = [str(job / "r0.json"), str(job / "r1.json")]
    assert _ended("report", *given, "--jobs", "2") == 2
    said = capsys.readouterr().err
    assert said.count("Traceback (most recent call last)") == 2
    assert "in fails" in said
    assert "Traceback" not in tidy("report", *given, "--jobs", "2").err
