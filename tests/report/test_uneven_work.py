"""A report says that ranks are given more to do than others by turns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tidy.report.json_report import results_to_json
from tidy.report.results import Results
from tidy.report.text import render
from tidy.summary import Summary, decode, encode

from ..jobs.simulated import one_group
from .making_jobs import with_table

_STEPS, _FLOPS = 20, 1_000_000_000


def _uneven(ranks: int, *, goes_with: bool = True, seed: int = 0) -> list[Summary]:
    """Ranks with 2 to 8 sequences in a step, each of which takes 1 ms, or whose times jitter."""
    random = np.random.default_rng(seed)
    sequences = random.integers(2, 9, (ranks, _STEPS))
    takes = sequences if goes_with else random.integers(2, 9, (ranks, _STEPS))
    job = one_group(ranks, _STEPS, more_ns=1e6 * takes[:, :, None] / 3, seed=seed)
    return [
        with_table(table, ranks, step_flops=np.repeat(sequences[table.rank] * _FLOPS, 3))
        for table in job.tables()
    ]


def _job(summaries: list[Summary]) -> dict[str, Any]:
    (job,) = results_to_json(Results(summaries, [], Path(), {}, 0))["jobs"]
    return dict(job)


@pytest.mark.parametrize("ranks", [2, 8])
def test_time_that_follows_the_work_is_said(ranks: int) -> None:
    summaries = _uneven(ranks)
    said = " ".join(render(summaries).split())
    assert "Work is uneven: in the median step the rank with the most has " in said
    found = _job(summaries)["uneven_work"]
    assert found["correlation"] > 0.95
    assert found["spread"] > 0.1
    amounts = np.array([each.collectives.step_flops[::3] for each in summaries]) / _FLOPS
    amounts = amounts[:, 1:] - amounts[:, 1:].mean(axis=1, keepdims=True)
    most_ns = 1e6 * (amounts.max(axis=0) - amounts.mean(axis=0)).mean()
    assert found["more_ns"] == pytest.approx(most_ns, rel=0.1)
    kept = [decode(encode(each), "kept") for each in summaries]
    assert _job(kept)["uneven_work"] == found


def _with_flops(summaries: list[Summary], flops: Any) -> list[Summary]:
    return [
        replace(each, collectives=replace(each.collectives, step_flops=flops)) for each in summaries
    ]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ranks", [2, 8])
def test_other_reasons_are_none(ranks: int, seed: int) -> None:
    """Times that vary by themselves, work that does not, and work that is not known."""
    whole = _uneven(ranks, seed=seed)
    count = len(whole[0].collectives)
    others = [
        _uneven(ranks, goes_with=False, seed=seed),
        _with_flops(whole, np.full(count, _FLOPS)),
        _with_flops(whole, np.full(count, -1)),
        _with_flops(whole, None),
    ]
    for summaries in others:
        assert _job(summaries)["uneven_work"] is None
        assert "uneven" not in render(summaries)


@pytest.mark.parametrize("ranks", [2, 8])
def test_work_that_one_rank_did_not_record_is_not_known(ranks: int) -> None:
    whole = _uneven(ranks)
    job = _job([*_with_flops(whole[:1], None), *whole[1:]])
    assert job["uneven_work"] is None
    (unknown,) = job["unknown"]
    assert unknown.endswith("not known: the operations of products are not known on rank 0")


def test_a_rank_that_has_more_in_all_steps_is_not_uneven_by_turns() -> None:
    """What it has more of says nothing of steps that vary by a per cent."""
    random = np.random.default_rng(0)
    varies = random.normal(0, 1, (8, _STEPS))
    flops = 1e12 * (1 + 0.01 * varies)
    flops[6:] *= 1.6
    job = one_group(8, _STEPS, more_ns=1e6 * np.maximum(3 + varies / 2, 0)[:, :, None] / 3)
    assert (
        _job(
            [
                with_table(each, 8, step_flops=np.repeat(flops[each.rank].astype(np.int64), 3))
                for each in job.tables()
            ]
        )["uneven_work"]
        is None
    )


@pytest.mark.parametrize("shift", [1, 100])
def test_ranks_may_number_their_steps_otherwise(shift: int) -> None:
    whole = _uneven(8)
    table = whole[3].collectives
    other = replace(whole[3], collectives=replace(table, step=table.step + shift))
    assert _job([*whole[:3], other, *whole[4:]])["uneven_work"] == _job(whole)["uneven_work"]
