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


def _launched(step: int, begins: int, ends: int) -> list[dict[str, Any]]:
    """A step of 100 us of the host, and a kernel that it launches at its beginning."""
    at, host, launch = 100 * step, {"pid": 1, "tid": 1, "ph": "X"}, {"correlation": step + 1}
    name, call = f"ProfilerStep#{step}", "cudaLaunchKernel"
    device = {"pid": 0, "tid": 7, "ph": "X", "args": {**launch, "device": 0, "stream": 7}}
    return [
        {"cat": "user_annotation", "name": name, "ts": at, "dur": 99, **host},
        {"cat": "cpu_op", "name": "aten::mm", "ts": at + 1, "dur": 8, **host},
        {"cat": "cuda_runtime", "name": call, "ts": at + 2, "dur": 3, "args": launch, **host},
        {"cat": "kernel", "name": "gemm", "ts": begins, "dur": ends - begins, **device},
    ]


@pytest.mark.parametrize("begins", [170, 240])
def test_a_step_in_which_a_device_is_busy_throughout(tmp_path: Path, begins: int) -> None:
    """The first kernel ends at 170 us: only where the second comes later has the device idled."""
    events = [*_launched(0, 10, 170), *_launched(1, begins, 290), *_launched(2, 290, 390)]
    options = ("-o", "p.html", "--page-steps", "1")
    done = tidy("report", _written(tmp_path, events), *options, cwd=tmp_path)
    assert done.err == ""
    (job,) = content_of((tmp_path / "p.html").read_text("utf-8"))["jobs"]
    (causes,) = job["ranks"][0]["timelines"][0]["causes"]
    assert causes["label"] == "GPU 0 idle"
    assert unpacked(causes["slices"])["duration_ns"].sum() == 1000 * (begins - 170)


def test_memory_that_does_not_change_in_a_step(tmp_path: Path) -> None:
    """It is drawn from the beginning of the step at what was in use before."""
    where = {"pid": 1, "tid": 1, "ph": "X"}
    taken = {"Addr": 1, "Bytes": 512, "Total Allocated": 512, "Device Type": 0, "Device Id": -1}
    memory = {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "ts": 3}
    events = [
        {**memory, "pid": 1, "tid": 1, "args": taken},
        *(
            {
                "cat": "user_annotation",
                "name": f"ProfilerStep#{at}",
                "ts": 100 * at,
                "dur": 99,
                **where,
            }
            for at in range(3)
        ),
        *(_op(100 * at + 2) for at in range(3)),
    ]
    options = ("-o", "p.html", "--page-steps", "1")
    done = tidy("report", _written(tmp_path, events), *options, cwd=tmp_path)
    assert done.err == ""
    (job,) = content_of((tmp_path / "p.html").read_text("utf-8"))["jobs"]
    (memory_shown,) = job["ranks"][0]["timelines"][0]["memory"]
    points = unpacked(memory_shown["points"])
    assert (points["at_ns"].tolist(), points["nbytes"].tolist()) == ([0], [512])
    assert (memory_shown["peak_nbytes"], memory_shown["peak_at_ns"]) == (512, 0)
