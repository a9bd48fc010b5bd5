"""The page of a run on a modelled A100: its device's work, idle time and lines, as recorded."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from ..cli.command import tidy
from ..environment import ROOT
from .making import content_of, unpacked

_SCRIPT = ROOT / "examples" / "train_gpu.py"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """What the page says of the run, and the JSON report on it."""
    folder = tmp_path_factory.mktemp("modelled")
    script = folder / "train_gpu.py"
    script.write_text(_SCRIPT.read_text("utf-8"), "utf-8")
    options = ("--device", "a100", "--steps", "3", "-o", "p.html", "-o", "p.json")
    done = tidy("run", *options, "train_gpu.py", cwd=folder)
    assert done.code in (0, 1), done.err
    (job,) = content_of((folder / "p.html").read_text("utf-8"))["jobs"]
    (trace,) = json.loads((folder / "p.json").read_text("utf-8"))["traces"]
    return job, trace


def test_it_says_that_times_are_modelled(recorded: tuple[Any, Any]) -> None:
    job, _ = recorded
    assert any("modelled, not measured" in note for note in job["notes"])
    assert "A100" in job["run_line"]


def test_work_and_idle_time_fill_the_step(recorded: tuple[Any, Any]) -> None:
    """To the nanosecond: what the device works on, and why it idles otherwise."""
    job, _ = recorded
    (rank,) = job["ranks"]
    for timeline in rank["timelines"]:
        slices = unpacked(timeline["slices"])
        works = np.array([kind["is_work"] for kind in timeline["kinds"]])[slices["kind"]]
        assert works.any()
        tracks = {timeline["tracks"][each]["label"] for each in slices["track"][works]}
        assert all(each.startswith("GPU 0, stream ") for each in tracks)
        (idle,) = (each for each in timeline["causes"] if each["device"] == 0)
        stretches = unpacked(idle["slices"])
        begins, ends = _step_of(rank, timeline)
        filled = np.zeros(ends - begins, bool)
        for columns, chosen in ((slices, works), (stretches, slice(None))):
            starts = columns["start_ns"][chosen]
            stops = starts + columns["duration_ns"][chosen]
            for start, stop in zip(starts, stops, strict=True):
                filled[max(start - begins, 0) : max(stop - begins, 0)] = True
        assert filled.all()
        overlap = _overlap_ns(slices, works, stretches)
        assert overlap == 0, "idle while it works"


def _step_of(rank: Any, timeline: Any) -> tuple[int, int]:
    """When the step of a timeline begins and ends, in the time of the timeline."""
    length = rank["steps"]["duration_ns"][timeline["step"]]
    return timeline["duration_ns"] - length, timeline["duration_ns"]


def _overlap_ns(slices: Any, works: Any, stretches: Any) -> int:
    starts, stops = (
        stretches["start_ns"],
        stretches["start_ns"] + stretches["duration_ns"],
    )
    begins = slices["start_ns"][works]
    ends = begins + slices["duration_ns"][works]
    both = np.minimum(ends[:, None], stops) - np.maximum(begins[:, None], starts)
    return int(np.maximum(both, 0).sum())


def test_kernels_lead_to_their_launches(recorded: tuple[Any, Any]) -> None:
    job, _ = recorded
    for timeline in job["ranks"][0]["timelines"]:
        slices = unpacked(timeline["slices"])
        text = [kind["text"] for kind in timeline["kinds"]]
        kernels = [at for at, kind in enumerate(slices["kind"]) if text[kind] == "kernel"]
        callers = [at + slices["caller"][at] for at in kernels if slices["caller"][at]]
        assert len(callers) > len(kernels) / 2
        assert {text[slices["kind"][at]] for at in callers} == {"call of the device's runtime"}


def test_lines_have_time_of_the_device(recorded: tuple[Any, Any]) -> None:
    job, trace = recorded
    (file,) = job["sources"]
    assert file["path"] == "train_gpu.py"
    device_ns = sum(line["device_ns"] for line in file["lines"])
    (account,) = trace["account"]
    busy_ns = sum(part["time_ns"] for part in account["parts"] if part["part"] != "idle")
    steps = len(trace["steps"]["durations_ns"])
    assert 0.9 * busy_ns / steps <= device_ns <= 1.001 * busy_ns / steps
    whole_ns = job["ranks"][0]["flame"]["whole_ns"]["device"]
    assert whole_ns == busy_ns
