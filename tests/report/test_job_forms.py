"""The comparison of a job's ranks in the forms for CI."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tidy.finding import Severity
from tidy.report.github import MOST_SHOWN, to_annotations
from tidy.report.markdown import to_markdown
from tidy.report.results import Results
from tidy.report.sarif import to_sarif
from tidy.summary import Summary, summarise

from .making import finding, report, trace
from .making_jobs import ranks_of_job


def _results(summaries: list[Summary]) -> Results:
    return Results(summaries, [], Path(), {}, 0)


def _notes(summaries: list[Summary]) -> list[Any]:
    (run,) = to_sarif(_results(summaries))["runs"]
    return [
        (each["level"], each["message"]["text"])
        for each in run["invocations"][0]["toolExecutionNotifications"]
    ]


@pytest.mark.parametrize("ranks", [2, 8])
def test_each_form_says_who_is_late(ranks: int) -> None:
    summaries = ranks_of_job(ranks, 2e6)
    first = next(to_annotations(_results(summaries)))
    assert first.startswith(f"::notice title=How {ranks} ranks compare%3A a step of 13.")
    assert "::Rank 1 stays late, by " in first
    ((level, note),) = _notes(summaries)
    assert level == "note"
    assert note.startswith("Rank 1 stays late, by ")
    made = to_markdown(_results(summaries)).splitlines()
    assert any(line.startswith(f"**How {ranks} ranks compare: a step of 13.") for line in made)
    assert any(line.startswith("- Rank 1 stays late, by ") for line in made)
    assert ("<details><summary>What collectives take</summary>" in made) == (ranks == 8)


def test_what_is_not_known_is_said_with_it() -> None:
    summaries = ranks_of_job(8, 2e6)[:7]
    said = "Rank 7 of 8 is missing: whether others wait for it is not known"
    assert next(to_annotations(_results(summaries))).endswith(f"%0A{said}")
    assert ("note", said) in _notes(summaries)
    assert f"> {said}" in to_markdown(_results(summaries)).splitlines()


def test_of_a_job_in_which_nothing_stands_out_nothing_needs_attention() -> None:
    summaries = ranks_of_job(8)
    assert not any("compare" in line for line in to_annotations(_results(summaries)))
    assert _notes(summaries) == []
    made = to_markdown(_results(summaries))
    assert "<details><summary>How 8 ranks compare: a step of 11." in made


def test_of_two_ranks_of_which_none_is_late_no_form_speaks() -> None:
    summaries = ranks_of_job(2)
    assert not any("compare" in line for line in to_annotations(_results(summaries)))
    assert _notes(summaries) == []
    assert "compare" not in to_markdown(_results(summaries))


def test_no_more_notices_are_shown_than_github_takes() -> None:
    many = [
        finding(message=f"odd {chr(97 + number)}", severity=Severity.INFO, cost_share=0.01)
        for number in range(20)
    ]
    alone = summarise(report(*many, run=trace(path="alone.json")))
    lines = [
        line
        for line in to_annotations(_results([*ranks_of_job(8, 2e6), alone]))
        if line.startswith("::notice ")
    ]
    assert len(lines) == MOST_SHOWN
    assert "How 8 ranks compare" in lines[0]
    assert "12 more infos" in lines[-1]


def _jobs(count: int, late_ns: float) -> list[Summary]:
    """As many jobs of eight ranks, each in a folder of its own."""
    return [
        replace(each, run=replace(each.run, path=f"{number}/rank-{each.run.rank}.json"))
        for number in range(count)
        for each in ranks_of_job(8, late_ns)
    ]


def test_of_several_jobs_each_line_says_of_which() -> None:
    summaries = _jobs(2, 2e6)
    wanted = [f"{number}/rank-0.json and 7 more ranks: " for number in range(2)]
    notes = [text for _, text in _notes(summaries)]
    assert [each.partition("Rank 1 stays late")[0] for each in notes] == wanted
    titles = [each for each in to_annotations(_results(summaries)) if "How 8 ranks" in each]
    named = [each.removeprefix("::notice title=").partition("%3A ")[0] for each in titles]
    assert [f"{each}: " for each in named] == wanted


@pytest.mark.parametrize("count", [5, 7])
def test_jobs_that_are_not_shown_are_counted(count: int) -> None:
    lines = list(to_annotations(_results(_jobs(count, 2e6))))
    shown = [each for each in lines if "How 8 ranks" in each]
    assert len(shown) == (5 if count == 5 else 4)
    more = [each for each in lines if each.endswith("3 more jobs: see the report")]
    assert len(more) == (count == 7)


def test_what_is_not_known_is_a_notice_where_nobody_is_late() -> None:
    first = next(to_annotations(_results(ranks_of_job(8)[:7])))
    assert first.endswith("::Rank 7 of 8 is missing: whether others wait for it is not known")
