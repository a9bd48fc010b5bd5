"""Traces with next to nothing in them, or with thousands of tracks; files that are not there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ..cli.command import tidy
from .making import content_of, unpacked


def _written(folder: Path, events: list[dict[str, Any]]) -> Path:
    file = folder / "trace.json"
    file.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}), "utf-8")
    return file


def _op(at: int, thread: int = 1, name: str = "aten::add") -> dict[str, Any]:
    where = {"pid": 1, "tid": thread}
    return {"ph": "X", "cat": "cpu_op", "name": name, "ts": at, "dur": 5, **where}


@pytest.mark.parametrize("count", [1, 2])
def test_a_few_events_are_shown(tmp_path: Path, count: int) -> None:
    done = tidy(
        "report",
        _written(tmp_path, [_op(10 * at) for at in range(count)]),
        "-o",
        "p.html",
        cwd=tmp_path,
    )
    assert (done.code, done.err) == (0, "")
    (job,) = content_of((tmp_path / "p.html").read_text("utf-8"))["jobs"]
    assert job["ranks"][0]["timelines"][0]["slices"]["count"] == count


def test_thousands_of_tracks_are_shown(tmp_path: Path) -> None:
    done = tidy(
        "report",
        _written(tmp_path, [_op(3 * at, at) for at in range(2_000)]),
        "-o",
        "p.html",
        cwd=tmp_path,
    )
    assert done.code == 0
    (job,) = content_of((tmp_path / "p.html").read_text("utf-8"))["jobs"]
    (shown,) = job["ranks"][0]["timelines"]
    assert len(shown["tracks"]) == 2_000
    assert len(set(unpacked(shown["slices"])["track"].tolist())) == 2_000


def test_no_page_is_written_of_what_cannot_be_read(tmp_path: Path) -> None:
    done = tidy("report", _written(tmp_path, []), "-o", "p.html", cwd=tmp_path)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert not (tmp_path / "p.html").exists()


@pytest.mark.skipif(os.name == "nt", reason="needs permissions of files")
def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    done = tidy("report", _written(tmp_path, [_op(0)]), "-o", "nowhere/p.html", cwd=tmp_path)
    assert done.code == 2
    assert done.err == "tidy: --output nowhere/p.html: cannot be written: no such folder\n"
