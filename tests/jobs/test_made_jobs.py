"""Who is named in made jobs with tensor parallelism and pipelines, and what that costs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from job_maker import JobOptions, make_job

import tidy
from tidy.jobs import (
    JobReplay,
    Verdict,
    align,
    chain_of,
    collectives_of,
    lateness_of,
    match,
    replay_of,
    waits_of,
)

from ..environment import SOAK


def _judged(folder: Path) -> tuple[list[int], JobReplay]:
    """The ranks that are late, and the job."""
    paths = sorted(folder.glob("rank-*.json.gz"))
    matched = match([collectives_of(tidy.load(path)) for path in paths])
    waits, chain = waits_of(matched, align(matched)), chain_of(matched)
    verdicts = lateness_of(matched, waits, chain).verdicts
    late = [rank for rank, each in enumerate(verdicts) if each != Verdict.NOT_LATE]
    return late, replay_of(matched, chain, waits)


_JOBS: list[tuple[str, dict[str, int]]] = [
    ("slow-gpu", {"tensor_parallel": 2}),
    ("slow-gpu", {"pipeline": 2}),
    ("slow-loader", {"pipeline": 2, "tensor_parallel": 2}),
    ("gpu-throttle", {}),
    ("slow-host", {}),
    ("none", {"pipeline": 2, "tensor_parallel": 2}),
]
_ALIKE: list[tuple[str, dict[str, int]]] = [
    ("slow-loader", {"tensor_parallel": 4}),
    ("more-work", {"tensor_parallel": 4}),
    ("none", {"tensor_parallel": 2}),
    ("none", {"pipeline": 2}),
]


@pytest.mark.parametrize(("plant", "shape"), [*_JOBS, *(_ALIKE if SOAK else ())])
def test_the_late_ranks_are_named_with_what_they_cost(
    plant: str, shape: dict[str, int], tmp_path: Path
) -> None:
    """In a group of tensor parallelism and among stages, those beside the late one are not."""
    truth = make_job(tmp_path, JobOptions(ranks=8, plant=plant, steps=6, seed=5, **shape))
    late, replay = _judged(tmp_path)
    assert late == truth["plant"]["ranks"]
    assert abs(replay.error) < 0.01
    assert replay.knows_hidden
    cost_ns = replay.cost_ns(np.isin(replay.matched.ranks, late))
    true_ns = truth["job_ns"] - truth["without_ns"]
    assert 0.6 * true_ns <= cost_ns <= 1.1 * true_ns
