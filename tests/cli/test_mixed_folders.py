"""Folders with more than the ranks of one job: each is sorted out, and nothing counts twice."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from .command import Result, tidy
from .traces import Event, event, rank, text, write

_US = 1_712_345_678_000_000


def _steps(first: int, end: int, pid: int = 1) -> list[Event]:
    events = []
    for number in range(first, end):
        start_us = _US + 1000 * number
        events.append(event("user_annotation", f"ProfilerStep#{number}", start_us, 900))
        events += [event("cpu_op", "aten::add", start_us + 10 * n, 5) for n in range(30)]
    return [{**each, "pid": pid, "tid": pid} for each in events]


def _later(events: Sequence[Event], by_us: int) -> list[Event]:
    return [{**each, "ts": each["ts"] + by_us} for each in events]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two jobs of two ranks, a rank's later steps, a copy, and what is of no job."""
    folder = tmp_path / "runs"
    for number in (0, 1):
        write(folder / "a" / f"rank{number}.json", _steps(1, 5), **rank(number))
        write(folder / "b" / f"rank{number}.json", _later(_steps(1, 5), 10**9), **rank(number))
    write(folder / "c" / "later.json", _steps(4, 8), **rank(0))
    shutil.copy(folder / "a" / "rank1.json", folder / "c" / "rank1-copy.json")
    write(folder / "d" / "no-rank.json", _later(_steps(1, 5), 10**10))
    return folder


def _report(runs: Path, *more: str) -> tuple[Result, list[str]]:
    result = tidy("report", "runs", "--format", "json", *more, cwd=runs.parent)
    return result, [each["path"] for each in result.json()["traces"]]


def test_jobs_steps_and_copies(runs: Path) -> None:
    result, paths = _report(runs)
    assert result.code == 0
    assert paths == [
        f"runs/{each}.json"
        for each in ("a/rank0", "a/rank1", "b/rank0", "b/rank1", "c/later", "d/no-rank")
    ]
    assert result.err.splitlines() == [
        "tidy: runs/c/later.json: 1 of its 4 steps are in runs/a/rank0.json too; counted once",
        "tidy: runs/c/rank1-copy.json: the same steps as runs/a/rank1.json; left out",
    ]
    shown = tidy("report", "runs", cwd=runs.parent).out
    assert shown.count("ranks 0-1 of 2") == 2


def test_what_is_no_trace_of_one_rank(runs: Path) -> None:
    _, expected = _report(runs)
    merged = [*_steps(1, 5, pid=1), *_steps(1, 5, pid=2)]
    (runs / "d" / "merged.json").write_bytes(text(merged))
    (runs / "d" / "broken.json.gz").write_bytes(b"\x1f\x8bnothing")
    for name in "12345":
        (runs / f"settings{name}.json").write_text('{"lr": 0.1}')
    result, paths = _report(runs)
    assert (result.code, paths) == (2, expected)
    other, merged_said, broken_said = (
        [line for line in result.err.splitlines() if word in line]
        for word in ("no traces", "merged.json", "broken.json.gz")
    )
    assert other == [
        "tidy: runs: 5 other JSON file(s) or databases left out, no traces: settings1.json,"
        " settings2.json, settings3.json, ..."
    ]
    assert len(merged_said) == len(broken_said) == 1
    assert "2 processes (1, 2) were merged into this file" in merged_said[0]
    assert "the gzip stream is damaged" in broken_said[0]
    assert len(result.json()["unreadable"]) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right on Windows")
def test_links(runs: Path) -> None:
    before = _report(runs)
    (runs / "links").mkdir()
    for number in range(1000):
        (runs / "links" / f"{number}.json").symlink_to(runs / "a" / "rank1.json")
    (runs / "links" / "above").symlink_to(runs)
    (runs / "links" / "itself.json").symlink_to(runs / "links" / "itself.json")
    (runs / "links" / "gone.json").symlink_to(runs / "gone.json")
    os.link(runs / "a" / "rank0.json", runs / "links" / "hard.json")
    result, paths = _report(runs)
    assert (result.code, paths) == (before[0].code, before[1])
    assert result.err.splitlines() == [
        *before[0].err.splitlines(),
        "tidy: runs: 1,001 links to what is read already left out",
        "tidy: runs: 2 links to traces that are not there",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right on Windows")
def test_a_link_beside_its_file(runs: Path) -> None:
    (runs / "link.json").symlink_to(runs / "a" / "rank0.json")
    given: list[Any] = ["runs/link.json", "runs/a/rank0.json"]
    result = tidy("report", *given, "--format", "json", cwd=runs.parent)
    assert [each["path"] for each in result.json()["traces"]] == ["runs/a/rank0.json"]
    assert result.err == "tidy: runs/link.json: the same file as runs/a/rank0.json; left out\n"
    # By itself a link is as good as the file.
    alone = tidy("report", "runs/link.json", "--format", "json", cwd=runs.parent)
    assert [each["path"] for each in alone.json()["traces"]] == ["runs/link.json"]
