"""How often a verdict on a job is right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from job_maker import JobOptions, make_job
from score_jobs import Verdict, ask_jobs, at_fault, late_rank_verdict, score

from ..cli.command import tidy

_PLANTS = ("none", "slow-gpu", "small-collectives", "drift")


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A job of each of a few kinds."""
    folder = tmp_path_factory.mktemp("jobs")
    for plant in _PLANTS:
        make_job(folder / plant, JobOptions(ranks=4, plant=plant, steps=4, seed=1, rank=2))
    return [folder / plant for plant in _PLANTS]


def _truth(folder: Path) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads((folder / "truth.json").read_text("utf-8"))
    return truth


def _reported(folder: Path) -> Verdict:
    traces = sorted(folder.glob("rank-*.json.gz"))
    return late_rank_verdict(tidy("report", "--format", "json", *traces).json())


def test_who_knows_the_truth_is_always_right(jobs: list[Path]) -> None:
    def judge(folder: Path) -> Verdict:
        truth = _truth(folder)
        is_cause = truth["plant"]["is_cause"]
        return Verdict(at_fault(truth), truth["plant"]["name"] if is_cause else None)

    found = score(jobs, judge)
    assert found.jobs == found.rank_right == found.cause_right == dict.fromkeys(_PLANTS, 1)
    assert found.wrong == []


def test_who_names_nobody_is_right_of_clean_jobs_alone(jobs: list[Path]) -> None:
    found = score(jobs, lambda _: Verdict(frozenset()))
    assert found.wrong == [("slow-gpu", [])]
    assert found.cause_right == {"none": 1, "drift": 1, "small-collectives": 0}
    assert found.lines()[-1] == "slow-gpu: named nobody"


def test_who_names_a_further_rank_is_wrong(jobs: list[Path]) -> None:
    found = score(jobs, lambda _: Verdict(frozenset({1, 2})))
    assert [folder for folder, _ in found.wrong] == list(_PLANTS)


def test_what_costs_nothing_is_left_out(tmp_path: Path) -> None:
    make_job(tmp_path / "a", JobOptions(ranks=2, plant="slow-gpu", steps=2, strength=1.0))
    found = score([tmp_path / "a"], lambda _: Verdict(frozenset()))
    assert (found.jobs.total(), found.slight) == (0, {"slow-gpu": 1})


def test_the_late_rank_is_read_in_a_report(jobs: list[Path]) -> None:
    assert [_reported(folder).ranks for folder in jobs] == [set(), {2}, set(), set()]


def test_ranks_and_causes_are_found_from_tables_and_accounts(jobs: list[Path]) -> None:
    found = score(jobs, ask_jobs)
    assert found.wrong == []
    assert found.cause_right == {"none": 1, "drift": 1, "slow-gpu": 1, "small-collectives": 0}
    assert found.savings["slow-gpu"] == [pytest.approx(0.9, abs=0.2)]
