"""What a report says of a job: who is late, what that costs, and what is not known."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import tidy
from tidy.finding import NotChecked, Severity
from tidy.jobs import Collectives
from tidy.page.content import page_content
from tidy.patterns.rules.late_rank import LateRank
from tidy.patterns.runner import run_patterns
from tidy.report.console import make_console
from tidy.report.json_report import results_to_json
from tidy.report.results import Results
from tidy.report.text import print_report, render
from tidy.summary import Summary, decode, encode, summarise
from tidy.trace.outline import parse_outline

from ..environment import ROOT
from .making import finding, report, trace
from .making_jobs import EACH, STEPS, UNKNOWN, ranks_of_job, with_table


def _json(summaries: list[Summary]) -> list[dict[str, Any]]:
    schema = json.loads((ROOT / "docs" / "report.schema.json").read_text("utf-8"))
    text = json.dumps(results_to_json(Results(summaries, [], Path(), {}, 0)), allow_nan=False)
    made = json.loads(text)
    jsonschema.Draft202012Validator(schema).validate(made)
    jobs: list[dict[str, Any]] = made["jobs"]
    return jobs


def _said(summaries: list[Summary], width: int = 80) -> str:
    return " ".join(render(summaries, width=width).split())


def _changed_run(summary: Summary, **changes: Any) -> Summary:
    return replace(summary, run=replace(summary.run, **changes))


@pytest.mark.parametrize("ranks", [2, 8])
def test_a_rank_that_stays_late_is_named_with_what_it_costs(ranks: int) -> None:
    """Each step takes 2 ms longer for it, of 13 ms; of two ranks there is no map."""
    summaries = ranks_of_job(ranks, 2e6)
    said = _said(summaries)
    assert "Rank 1 stays late, by 1.9" in said or "Rank 1 stays late, by 2.0" in said
    assert "With it at the pace of the others a step takes" in said
    assert ("transfer 1.00 ms, waiting" in said) == (ranks == 8)
    assert ("rank 1 ███████████" in said) == (ranks == 8)
    (job,) = _json(summaries)
    (late,) = job["late"]
    assert (late["verdict"], late["ranks"], late["latest"]) == ("stays late", [1], 1)
    low_ns, high_ns = late["saved_ns"]
    assert 1e6 < low_ns < 2e6 < high_ns < 3e6
    assert [each["verdict"] for each in job["ranks"]].count("stays late") == 1
    assert job["matched_by_number"] == job["collectives"] == STEPS * EACH
    assert job["map"]["rows"][0]["ranks"] == [1]
    assert len(job["map"]["rows"]) == ranks
    assert job["unknown"] == []


def test_a_rank_that_is_late_in_some_steps_is_named_with_them() -> None:
    summaries = ranks_of_job(8, 9e6, range(5, 7))
    assert "Rank 1 is late in steps 5, 6, by 8.9" in _said(summaries)
    (late,) = _json(summaries)[0]["late"]
    assert (late["verdict"], late["steps"]) == ("late now and then", [5, 6])
    assert 12e6 < late["saved_ns"][0] < 18e6 < late["saved_ns"][1] < 24e6


def test_where_nothing_stands_out_the_report_says_how_ranks_were_compared() -> None:
    said = _said(ranks_of_job(8))
    assert "120 collectives of 8 ranks matched by process group and number; their clocks" in said
    assert "late" not in said
    assert _json(ranks_of_job(8))[0]["late"] == []
    assert "matched" not in _said(ranks_of_job(2))


def test_no_number_where_the_traces_do_not_tell_it() -> None:
    """What is not known is said in its place; who is late only if that is sure."""
    whole = ranks_of_job(8, 2e6)
    seq = np.arange(STEPS * EACH)
    unlike = [
        *whole[:7],
        with_table(whole[7].collectives, 8, seq=np.where(seq < 100, seq, seq + 999)),
    ]
    of_host = [
        with_table(each.collectives, 8, launch_ns=each.collectives.start_ns) for each in whole
    ]
    cases = {
        "what else ranks compute beside collectives is not recorded": ranks_of_job(
            8, 2e6, exposed_ns=UNKNOWN, blocked_ns=UNKNOWN
        ),
        "of what single ranks recorded is not matched": unlike,
        "steps with collectives are too few": [
            with_table(_first_steps(each.collectives, 2), 8) for each in whole
        ],
    }
    for why, summaries in cases.items():
        said = _said(summaries)
        assert why in said
        assert "Rank 1" not in said
        (job,) = _json(summaries)
        assert (job["late"], job["map"]) == ([], None)
        assert {each["verdict"] for each in job["ranks"]} == {"not known"}
    on_host = {"exposed_ns": UNKNOWN, "on_device": UNKNOWN > 0}
    assert _json(ranks_of_job(8, 2e6, **on_host))[0]["late"] == []  # by a sixth of a step
    of_gloo = ranks_of_job(8, 5e6, **on_host)
    for why, summaries, is_known in (
        ("of collectives on the host waiting is known too roughly", of_gloo, True),
        ("not all ranks of the job are compared", whole[:7], True),
        ("hosts may be the limit", of_host, False),
    ):
        assert f"is not known: {why}" in _said(summaries)
        (late,) = _json(summaries)[0]["late"]
        assert (late["ranks"], late["saved_ns"]) == ([1], None)
        assert (late["late_ns"] is not None) == is_known
        assert why in late["why_not_saved"]


def _first_steps(table: Collectives, count: int) -> Collectives:
    columns = [name for name in Collectives.__slots__ if np.ndim(getattr(table, name)) == 1]
    columns = [name for name in columns if isinstance(getattr(table, name), np.ndarray)]
    return replace(table, **{name: getattr(table, name)[: count * EACH] for name in columns})


def test_what_a_late_rank_costs_is_of_the_steps_in_which_that_is_known() -> None:
    """Of four steps three follow on one that was recorded."""
    few = [with_table(_first_steps(each.collectives, 4), 8) for each in ranks_of_job(8, 2e6)]
    (late,) = _json(few)[0]["late"]
    assert late["ranks"] == [1]
    assert 1.5e6 < late["saved_ns"][0] < 2e6 < late["saved_ns"][1] < 2.5e6


def _with_gaps(table: Collectives, numbers: Sequence[int]) -> Collectives:
    """The same steps with other numbers; those between were not recorded, and took 13 ms each."""
    later_ns = 13_000_000 * (np.array(numbers) - np.arange(len(numbers)))[table.step]
    times = {name: getattr(table, name) + later_ns for name in ("start_ns", "end_ns", "launch_ns")}
    return replace(table, step=np.array(numbers)[table.step], **times)


def test_gaps_between_recorded_steps_are_no_steps() -> None:
    """Most steps follow on none that was recorded: three tell how late a rank is, and how long."""
    numbers = 0, 10, 20, 30, 31, 40, 41, 50, 51, 60, 70, 80
    summaries = [
        with_table(_with_gaps(each.collectives, numbers), 8) for each in ranks_of_job(8, 2e6)
    ]
    assert "How 8 ranks compare: a step of 13." in _said(summaries)
    (job,) = _json(summaries)
    assert 12.5e6 < job["step_ns"] < 13.5e6
    (late,) = job["late"]
    assert (late["ranks"], late["steps"]) == ([1], [31, 41, 51])
    assert 1.5e6 < late["saved_ns"][0] < 2e6 < late["saved_ns"][1] < 2.5e6


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ([*range(0, 110, 10), 101], "1 of 12 steps with collectives follows right on a recorded"),
        ([*range(0, 100, 10), 91, 92], "2 of 12 steps with collectives follow right on a recorded"),
        (range(0, 120, 10), "none of 12 steps with collectives follow"),
    ],
)
def test_steps_that_follow_on_none_recorded_are_too_few(numbers: Sequence[int], said: str) -> None:
    summaries = [
        with_table(_with_gaps(each.collectives, numbers), 8) for each in ranks_of_job(8, 2e6)
    ]
    assert said in _said(summaries)
    assert _json(summaries)[0]["late"] == []


def test_missing_ranks_and_ranks_without_collectives_are_named() -> None:
    whole = ranks_of_job(8, 2e6)
    nothing = with_table(_first_steps(whole[5].collectives, 0), 8)
    summaries = [each for each in (*whole[:5], nothing, *whole[6:]) if each.run.rank != 3]
    said = _said(summaries)
    assert "Rank 3 of 8 is missing: whether others wait for it is not known" in said
    assert "No collectives are recorded of rank 5: whether others wait for it is not known" in said
    assert "What that costs the job is not known: not all ranks of the job are compared" in said
    (job,) = _json(summaries)
    assert (job["missing_ranks"], job["given_ranks"]) == ([3], [0, 1, 2, 4, 5, 6, 7])


def test_a_job_without_collectives_still_has_a_report() -> None:
    summaries = [summarise(report(finding(), run=trace(rank=rank, of=6))) for rank in range(6)]
    said = _said(summaries)
    assert "Ranks are not compared: no collectives of two of them belong together" in said
    assert "something that costs (all ranks)" in said
    assert _json(summaries)[0]["collectives"] == 0


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"device_is_modelled": True}, "times are modelled on rank 3"),
        ({"busy_is_lower_bound": True}, "work of devices may be missing on rank 3"),
        ({"times": "light"}, "steps have the times of other steps on rank 3"),
    ],
)
def test_times_that_are_not_those_of_the_run_are_not_compared(
    change: dict[str, Any], why: str
) -> None:
    summaries = ranks_of_job(8, 2e6)
    summaries[3] = _changed_run(summaries[3], **change)
    said = _said(summaries)
    assert f"Ranks are not compared: {why}" in said
    assert "Rank 1" not in said
    assert _json(summaries)[0]["ranks"] == []


@pytest.mark.parametrize("rank", [1 << 70, -5])
def test_a_rank_that_no_job_has_is_not_compared(rank: int) -> None:
    summaries = ranks_of_job(5, 2e6)
    summaries[3] = _changed_run(summaries[3], rank=rank)
    assert "their numbers are those of no job" in _said(summaries)
    assert _said(ranks_of_job(5, 2e6)[:1])


def test_a_job_that_claims_very_many_ranks_is_no_trouble() -> None:
    for size in (1 << 30, 1 << 62):
        summaries = [_changed_run(each, world_size=size) for each in ranks_of_job(5, 2e6)]
        count = f"{size - 5:,} of {size:,} ranks are missing"
        assert (count if size < 1 << 31 else "their numbers are those of no job") in _said(
            summaries
        )
        assert len(json.dumps(results_to_json(Results(summaries, [], Path(), {}, 0)))) < 1e6


def test_damaged_times_are_no_crash() -> None:
    """Columns hold whatever a file of a summary can hold."""
    largest = (1 << 62) - 1
    for value in (largest, -largest):
        for name in ("start_ns", "end_ns", "launch_ns", "exposed_ns", "nbytes", "seq", "step"):
            summaries = ranks_of_job(5, 2e6)
            table = summaries[2].collectives
            column = np.where(np.arange(len(table)) % 3, getattr(table, name), value)
            summaries[2] = replace(summaries[2], collectives=replace(table, **{name: column}))
            assert _said(summaries)
            assert _json(summaries)


@pytest.mark.parametrize("width", [60, 100])
def test_lines_keep_to_the_width(width: int) -> None:
    """Nodes have long names, and there are more steps than columns."""
    summaries = [
        replace(each, host=f"gpu-{each.run.rank or 0}.cluster-of-the-north-by-the-sea.example.com")
        for each in ranks_of_job(8, 2e6)
    ]
    lines = render(summaries, width=width).splitlines()
    assert max(map(len, lines[lines.index("") :])) <= width
    assert any("rank 1" in line and "█" in line for line in lines)
    with_nodes = any(line.strip().startswith("gpu-1.cluster") for line in lines)
    assert with_nodes == (width == 100)


def test_ranks_of_a_node_stand_together_in_the_map() -> None:
    summaries = [
        replace(each, host="ab"[(each.run.rank or 0) % 2]) for each in ranks_of_job(8, 2e6)
    ]
    rows = _json(summaries)[0]["map"]["rows"]
    assert rows[0]["ranks"] == [1]
    assert [each["host"] for each in rows] == ["b"] * 4 + ["a"] * 4


def test_of_many_ranks_the_text_has_those_that_stand_out() -> None:
    summaries = ranks_of_job(40, 2e6)
    lines = render(summaries).splitlines()
    assert sum("█" in line and "rank" in line for line in lines) == 1
    assert "  and 39 ranks that are hardly late (--format json)" in lines
    rows = _json(summaries)[0]["map"]["rows"]
    assert [len(row["ranks"]) for row in rows] == [1, 39]


def test_summaries_say_the_same_in_any_order_and_once_they_were_kept() -> None:
    summaries = ranks_of_job(8, 2e6)
    kept = [decode(encode(each), "kept") for each in summaries]
    assert render(kept) == render(summaries) == render(kept[::-1])
    assert _json(kept) == _json(summaries) == _json(kept[3:] + kept[:3])


def test_findings_name_their_ranks_and_how_far_costs_lie_apart() -> None:
    made = [
        summarise(
            report(
                *([] if rank == 3 else [finding(
                    message=f"{rank + 900} us of {rank}.5%", cost_ns=100 + rank, cost_share=0.5
                )]),
                run=trace(rank=rank, of=8),
            )
        )
        for rank in range(8)
    ]  # fmt: skip
    said = _said(made)
    assert "on rank 7: 907 us of 7.5% (all but 3: 0.10 to 0.11 us, median 0.10)" in said
    assert "x7 0.11 us 50.0% of run on rank 7" in said


def test_a_finding_is_one_whatever_its_unit_and_severity_on_each_rank() -> None:
    """`980 us` on one rank is `1.02 ms` on another, and near the limit of a warning."""
    low = finding(message="by 980 us", severity=Severity.INFO, cost_ns=98)
    high = finding(message="by 1.02 ms", cost_ns=102)
    made = [report(each, run=trace(rank=rank, of=2)) for rank, each in enumerate((low, high))]
    said = _said([summarise(each) for each in made])
    assert said.count("XYZ001") == 1
    assert "on rank 1: by 1.02 ms (all ranks: 0.10 us)" in said
    assert said.endswith("1 warning")


def test_a_verbose_report_has_each_rank() -> None:
    made = ranks_of_job(5, 2e6)
    for verbose in (False, True):
        file = io.StringIO()
        print_report(make_console(file, 80), made, verbose=verbose)
        lines = [line for line in file.getvalue().splitlines() if "CPU run, rank" in line]
        said = [line.split(",")[1].strip() for line in lines]
        alone = [f"rank {rank} of 5" for rank in range(5)]
        assert said == ["ranks 0-4 of 5", *(alone if verbose else [])]


def test_the_page_says_among_its_notes_who_is_late() -> None:
    whole = ranks_of_job(8, 2e6)[:7]
    (job,) = page_content(Results(whole, [], Path(), {}, 0))["jobs"]
    late, unknown = job["notes"][-2:]
    assert late.startswith("Rank 1 stays late, by ")
    assert unknown.startswith("Rank 7 of 8 is missing")


def test_a_verbose_report_of_a_rank_does_not_ask_for_traces_that_are_given() -> None:
    """The file of a rank lacks most collectives, so that these are not matched."""
    folder = ROOT / "tests" / "data" / "packed" / "real"
    files = [folder / f"hta__trace_filter__sampled_rank-{rank}.json.gz" for rank in (0, 1)]
    made = [summarise(tidy.check(tidy.load(each))) for each in files]
    for given, asks in ((made, False), (made[:1], True)):
        file = io.StringIO()
        print_report(make_console(file, 80), given, verbose=True)
        assert ("their traces, given too, tell" in file.getvalue()) == asks
        assert ("with the traces of all ranks it may be told" in file.getvalue()) != asks


def test_a_rank_given_more_than_once_is_reported_alone_and_says_so() -> None:
    whole = ranks_of_job(8, 2e6)
    again = _changed_run(whole[3], path="again.json")
    text = render([*whole, again])
    first, second = text.split("again.json")
    assert "Rank 1 stays late" in " ".join(first.split())
    assert "note: rank 3 was given more than once: not compared here" in second
    several = [_changed_run(each, path="again.json") for each in whole[2:4]]
    _, second = render([*whole, *several]).split("again.json", 1)
    said = " ".join(second.split())
    note = "ranks 2, 3 were given more than once: not compared here with the job above"
    assert note in said


def test_summaries_made_one_by_one_do_not_ask_for_the_traces_that_they_are_of() -> None:
    """TDY902 was not checked, and says why in words that are true of both."""
    example = next(each for each in LateRank.examples if each.name == "one-rank")
    outcome = run_patterns(parse_outline(example.outline), [LateRank()])["TDY902"]
    assert isinstance(outcome, NotChecked)
    assert "checked without the others" in outcome.reason


def test_columns_of_steps_join_without_a_gap() -> None:
    steps = _json(ranks_of_job(8, 2e6))[0]["map"]["steps"]
    assert all(before[1] < after[0] for before, after in pairwise(steps))
