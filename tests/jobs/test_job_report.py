"""What reports say of jobs whose truth is known."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from job_maker import JobOptions, make_job

from ..cli.command import tidy
from ..environment import SOAK

_WHY = {
    "slow-loader": "idles for .* longer: loading data",
    "slow-gpu": "computes for .* longer: the same products take 1.2. times as long",
    "more-work": "computes for .* longer, with 3.% more operations in products",
    "other-path": "copies for .* longer",
    "slow-host": "its host launches them late",
    "passing": "in these steps its GPU idles for .* longer than in others",
    "gpu-throttle": "in these steps .* than in others: the same products take 1.3. times as long",
}
_IN_SOME_STEPS = "passing", "gpu-throttle"


def _job(folder: Path) -> dict[str, Any]:
    made: dict[str, Any] = tidy("report", folder, "--format", "json").json()
    (job,) = made["jobs"]
    assert isinstance(job, dict)
    return job


@pytest.mark.parametrize("plant", _WHY)
def test_the_late_rank_is_named_with_reason_and_cost(plant: str, tmp_path: Path) -> None:
    """What the job would be shorter by lies in the range that is said, or none is said."""
    truth = make_job(tmp_path, JobOptions(ranks=4, steps=8, plant=plant, seed=6))
    (late,) = _job(tmp_path)["late"]
    assert late["ranks"] == truth["plant"]["ranks"]
    assert re.search(_WHY[plant], late["reason"] or "")
    if plant == "slow-host":  # how long the others' hosts take is not in the traces
        assert (late["saved_ns"], late["late_ns"]) == (None, None)
        return
    cost_ns = truth["job_ns"] - truth["without_ns"]
    if plant in _IN_SOME_STEPS:
        assert set(late["steps"]) <= set(truth["plant"]["steps"])
    else:
        cost_ns /= 8
    low_ns, high_ns = late["saved_ns"]
    assert low_ns <= cost_ns <= high_ns < 1.5 * cost_ns


def test_events_outside_of_the_steps_are_no_work_that_others_do_not_do(tmp_path: Path) -> None:
    truth = make_job(tmp_path, JobOptions(ranks=4, steps=8, plant="slow-gpu", seed=6))
    (late,) = truth["plant"]["ranks"]
    path = tmp_path / f"rank-{late:04}.json.gz"
    document = json.loads(gzip.decompress(path.read_bytes()))
    events = document["traceEvents"]
    first = min((each for each in events if "ts" in each), key=lambda each: each["ts"])
    host = next(each for each in events if each.get("cat") == "cpu_op")
    events += [
        {**host, "name": "aten::empty", "ts": first["ts"] - 5 * number, "dur": 2, "args": {}}
        for number in range(1, len(events) // 8)
    ]
    path.write_bytes(gzip.compress(json.dumps(document).encode()))
    (found,) = _job(tmp_path)["late"]
    assert re.search(_WHY["slow-gpu"], found["reason"])


@pytest.mark.parametrize("plant", ["none", "clock-off", "drift"])
def test_nobody_is_named_where_nobody_is_late(plant: str, tmp_path: Path) -> None:
    make_job(tmp_path, JobOptions(ranks=4, plant=plant, seed=4))
    job = _job(tmp_path)
    assert (job["late"], job["slow_links"], job["unknown"]) == ([], [], [])
    assert {each["verdict"] for each in job["ranks"]} == {"not late"}
    assert max(each["clock_uncertainty_ns"] for each in job["ranks"]) < 20_000


def test_a_slow_link_is_named(tmp_path: Path) -> None:
    truth = make_job(tmp_path, JobOptions(ranks=8, steps=8, plant="slow-link", seed=4))
    (link,) = _job(tmp_path)["slow_links"]
    assert link["ranks"] == truth["plant"]["ranks"]
    said = " ".join(tidy("report", tmp_path).out.split())
    first, second = link["ranks"]
    assert f"slow link: nccl:all_reduce of ranks {first}, {second} takes" in said
    assert "TENSOR_PARALLEL_GROUP (tensor parallel), 4 groups of 2 ranks: transfer 0.34 to" in said


def test_lost_and_damaged_ranks_are_named_with_what_that_leaves_unknown(tmp_path: Path) -> None:
    truth = make_job(tmp_path, JobOptions(ranks=8, plant="lost-ranks", seed=4))
    first, second = truth["plant"]["ranks"]
    others = [rank for rank in range(8) if rank not in (first, second)]
    (tmp_path / f"rank-{others[0]:04d}.json.gz").write_bytes(b"no trace")
    (tmp_path / "truth.json").unlink()
    result = tidy("report", *sorted(tmp_path.iterdir()))
    missing = sorted([first, second, others[0]])
    assert result.code == 2
    assert f"rank-{others[0]:04d}.json.gz: " in result.err
    said = f"Ranks {', '.join(map(str, missing))} of 8 are missing: whether others wait"
    assert said in " ".join(result.out.split())


def test_the_report_of_summaries_is_that_of_the_traces_in_any_order(tmp_path: Path) -> None:
    make_job(tmp_path / "job", JobOptions(ranks=3, plant="slow-gpu", steps=4, seed=3))
    traces = sorted((tmp_path / "job").glob("rank-*"))
    kept = tmp_path / "kept"
    for width in ("60", "100") if SOAK else ("60",):
        before = tidy("report", *traces, "--width", width, "--summaries", kept).out
        assert "stays late" in before
        assert before == tidy("report", *traces[::-1], "--width", width).out
        assert before == tidy("report", kept, "--width", width).out
        summaries = sorted(kept.iterdir(), reverse=True)
        assert before == tidy("report", *summaries, "--width", width).out
    jobs = [json.dumps(_job(each)) for each in (tmp_path / "job", kept)]
    assert jobs[0] == jobs[1]
