"""Whether ranks that were given together are said to be perhaps of several runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tidy.report.text import render
from tidy.summary import Summary, job_of

from .making_jobs import UNKNOWN, ranks_of_job

_HOUR_NS = 3_600_000_000_000


@pytest.mark.parametrize(
    ("hosts", "is_known"), [("a" * 8, False), (" " * 8, False), ("aaaabbbb", True)]
)
def test_whether_files_of_two_names_are_of_one_run_is_said_not_to_be_known(
    hosts: str, is_known: bool
) -> None:
    """Unless they are of two nodes, as the names then say."""
    summaries = [
        _named(
            replace(each, host=host.strip()), f"{rank // 4}\x1b-rank{rank}", rank // 4 * _HOUR_NS
        )
        for rank, (each, host) in enumerate(zip(ranks_of_job(8), hosts, strict=True))
    ]
    doubt = "whether these ranks ran together is not known: files are called 0\x1b-rank#.json"
    assert [doubt in each for each in _unknown(summaries)] == ([] if is_known else [True])
    assert ("1?-rank#.json" in " ".join(render(summaries, width=80).split())) != is_known


def _unknown(summaries: list[Summary]) -> tuple[str, ...]:
    job = job_of(summaries)
    assert job is not None
    return job.unknown


def _named(summary: Summary, name: str, later_ns: int) -> Summary:
    table = summary.collectives
    times: dict[str, Any] = {
        at: getattr(table, at) + later_ns for at in ("start_ns", "end_ns", "launch_ns")
    }
    later = replace(table, **times)
    run = replace(summary.run, path=f"runs/{name}.json")
    return replace(summary, run=run, collectives=later)


@pytest.mark.parametrize(
    "scheme", ["dp{of}_rank{rank}", "{of}_{rank}", "worker{of}_rank{rank}", "rank{rank}-tp{of}"]
)
def test_names_may_have_the_place_in_a_group_beside_the_rank(scheme: str) -> None:
    """Collectives that end at once by clocks that agree are those of one run."""
    cases: list[tuple[int, dict[str, Any], bool]] = [
        (0, {}, True),
        (20_000_000, {}, True),  # clocks of two machines
        (_HOUR_NS, {}, False),
        (0, {"seq": UNKNOWN}, False),
    ]
    for later_ns, no_number, is_known in cases:
        ranks = ranks_of_job(8, **no_number)
        summaries = [
            _named(each, scheme.format(of=rank % 2, rank=rank), rank % 2 * later_ns)
            for rank, each in enumerate(ranks)
        ]
        doubts = [
            each for each in _unknown(summaries) if "whether these ranks ran together" in each
        ]
        assert len(doubts) == (0 if is_known else 1)
