"""What TDY902 says of jobs whose late rank is known, and of one in which none is."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest
from job_maker import JobOptions, make_job

import tidy
from tidy.check.pipeline import CheckSettings, check
from tidy.patterns.rules.late_rank import LateRank
from tidy.patterns.runner import run_on_ranks
from tidy.reducing import RankSettings, reduce_files

from ..cli.command import tidy as tidy_command

_UNITS_NS = {"us": 1e3, "ms": 1e6}


def _said(folder: Path) -> list[str]:
    traces = [tidy.load(path) for path in sorted(folder.glob("rank-*.json.gz"))]
    outcomes = run_on_ranks(traces, [LateRank()])
    return [found.message for each in outcomes for found in each["TDY902"].findings]


@pytest.mark.parametrize(
    ("plant", "why"),
    [
        ("slow-loader", "its GPU gets its work late"),
        ("slow-host", "its host launches them late"),
        ("slow-gpu", "its GPU computes for [0-9.]+ [mu]s longer"),
        ("more-work", "its GPU computes for [0-9.]+ [mu]s longer"),
    ],
)
def test_the_late_rank_is_named_with_the_time_and_the_reason(
    plant: str, why: str, tmp_path: Path
) -> None:
    truth = make_job(tmp_path, JobOptions(ranks=4, plant=plant, seed=3))
    (late,) = truth["plant"]["ranks"]
    said = _said(tmp_path)
    assert len(said) == 3
    for each in said:
        assert f"waits for rank {late}, which comes last" in each
        assert re.search(why, each)
        amount, unit = re.findall(r", by ([0-9.]+) ([mu]s) a step", each)[0]
        true_ns = truth["step_ns"] - truth["without_step_ns"]
        assert 0.6 <= float(amount) * _UNITS_NS[unit] / true_ns <= 1.5


def test_nobody_is_named_where_nobody_is_late(tmp_path: Path) -> None:
    make_job(tmp_path, JobOptions(ranks=4, seed=3))
    assert not [each for each in _said(tmp_path) if "which comes last to" in each]


def test_what_it_saves_where_collectives_queue_is_saved_once(tmp_path: Path) -> None:
    """Between nodes they take long, so that each waits for what the one before waited for."""
    options = JobOptions(ranks=6, plant="slow-gpu", steps=8, seed=771, rank=3, node_size=3)
    truth = make_job(tmp_path, options)
    traces = [tidy.load(path) for path in sorted(tmp_path.glob("rank-*.json.gz"))]
    settings = CheckSettings([LateRank()])
    true_ns = truth["cost_of_hit_step_ns"]
    savings = [found.saving for each in check(traces, settings) for found in each.findings]
    assert len(savings) == 5
    for saving in savings:
        assert saving is not None
        assert saving.low_ns < true_ns < saving.high_ns < 1.3 * true_ns
    paths = sorted(map(str, tmp_path.glob("rank-*.json.gz")))
    reduced = reduce_files(paths, RankSettings(select=["TDY902"])).summaries
    assert [found.saving for each in reduced for found in each.findings] == savings


def test_it_saves_nothing_that_is_known_where_hosts_may_be_the_limit(tmp_path: Path) -> None:
    """As the report of the job says of the same rank."""
    make_job(tmp_path, JobOptions(ranks=6, plant="slow-host", steps=8, seed=4))
    told = tidy_command("report", tmp_path, "--select", "TDY902", "--format", "json").json()
    (late,) = told["jobs"][0]["late"]
    assert "hosts may be the limit" in late["why_not_saved"]
    found = [each for trace in told["traces"] for each in trace["findings"]]
    assert {each["why_no_saving"] for each in found} == {late["why_not_saved"]}
    assert {each["saving"] for each in found} == {None}


def test_a_replay_of_the_job_that_crashes_is_a_crash_of_the_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_job(tmp_path, JobOptions(ranks=2, plant="slow-gpu", seed=3))
    traces = [tidy.load(path) for path in sorted(tmp_path.glob("rank-*.json.gz"))]
    monkeypatch.setattr(import_module("tidy.check.late"), "collectives_of", lambda _: 1 / 0)
    for each in check(traces, CheckSettings([LateRank()])):
        assert "ZeroDivisionError" in each.crashed["TDY902"].error
