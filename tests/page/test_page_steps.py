"""`--page-steps`: which steps the timeline shows, and what is said of those that are not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..cli.command import tidy
from ..environment import ROOT
from .making import TRACES, content_of

_TRACE = str(ROOT / TRACES["cpu"][0])


@pytest.mark.parametrize("given", ["", "first", "3;4", "-1", "median,,x"])
def test_steps_that_make_no_sense(tmp_path: Path, given: str) -> None:
    done = tidy("report", _TRACE, "-o", "p.html", "--page-steps", given, cwd=tmp_path)
    assert done.code == 2
    assert "is no list of steps, such as 3,7 or median,slowest" in " ".join(done.err.split())


@pytest.mark.parametrize("command", ["report", "open"])
def test_a_step_that_is_not_there(tmp_path: Path, command: str) -> None:
    page = ("-o", "p.html") if command == "report" else ()
    done = tidy(command, _TRACE, *page, "--page-steps", "3,12,median", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"tidy: --page-steps 12: {_TRACE} has steps 2 to 4\n"
    assert list(tmp_path.iterdir()) == []


def test_a_step_that_one_rank_has(tmp_path: Path) -> None:
    for rank, steps in ((0, (0, 1, 2, 3)), (1, (0, 1, 2))):
        where = {"pid": rank, "tid": 1, "ph": "X"}
        events = [
            {"cat": cat, "name": name, "ts": 100 * step + late, "dur": 90 - 2 * late, **where}
            for step in steps
            for cat, name, late in (
                ("user_annotation", f"ProfilerStep#{step}", 0),
                ("cpu_op", "aten::mm", 1),
            )
        ]
        info = {"rank": rank, "world_size": 2}
        trace = {"schemaVersion": 1, "distributedInfo": info, "traceEvents": events}
        (tmp_path / f"rank{rank}.json").write_text(json.dumps(trace), "utf-8")
    files = ("rank0.json", "rank1.json")
    done = tidy("report", *files, "-o", "p.html", "--page-steps", "03", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    (job,) = content_of((tmp_path / "p.html").read_text("utf-8"))["jobs"]
    shown = [[each["label"] for each in rank["timelines"]] for rank in job["ranks"]]
    assert shown == [["step 3"], ["step 1"]]
    done = tidy("report", *files, "-o", "q.html", "--page-steps", "4", cwd=tmp_path)
    assert (
        done.err
        == "tidy: --page-steps 4: rank0.json has steps 0 to 3; nor is it in 1 other trace\n"
    )


def test_a_recording_is_not_lost_for_a_step(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text((ROOT / "examples" / "train_mlp.py").read_text("utf-8"), "utf-8")
    options = ("--steps", "3", "--framework", "runtime", "-o", "p.html", "--page-steps", "99")
    done = tidy("run", *options, "train.py", cwd=tmp_path)
    assert done.code == 2
    assert done.err.endswith("--page-steps 99: train.py has steps 1 to 3\n")
    (job,) = content_of((tmp_path / "p.html").read_text("utf-8"))["jobs"]
    assert [each["why"] for each in job["ranks"][0]["timelines"]] == ["median"]
