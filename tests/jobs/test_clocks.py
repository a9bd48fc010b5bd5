"""Clocks set by the ends of collectives: a job with known offsets and drifts gives them back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tidy.jobs import Clocks, align, match, waits_of

from .simulated import SimulatedJob, one_group, tensor_and_data

_WITHIN_NS = 20_000


def _clocks_of(ranks: int, seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {
        "offset_ns": random.uniform(-5e9, 5e9, ranks),
        "drift": random.uniform(-5e-5, 5e-5, ranks),
    }


def _errors_ns(job: SimulatedJob, clocks: Clocks) -> NDArray[np.float64]:
    """By how much common times are off, over all true ends; shape (ranks,)."""
    ranks = len(job.compute_ns)
    assert job.offset_ns is not None
    assert job.drift is not None
    ends = job.true_end_ns.reshape(ranks, -1)
    shown = np.rint(ends * (1 + job.drift[:, None]) + job.offset_ns[:, None]).astype(np.int64)
    place = np.repeat(np.arange(ranks), ends.shape[1]).reshape(shown.shape)
    common = clocks.common_ns(place, shown)
    reference = clocks.component  # its reference's clock is the common one
    apart = []
    for rank in range(ranks):
        same = np.flatnonzero(reference == reference[rank])
        first = same[clocks.offset_ns[same] == 0][0]
        true = ends[rank] * (1 + job.drift[first]) + job.offset_ns[first]
        apart.append(np.abs(common[rank] - true).max())
    return np.array(apart)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ranks", [2, 8, 64])
@pytest.mark.parametrize("make", [one_group, tensor_and_data])
def test_offsets_and_drifts_are_recovered(
    make: Callable[..., SimulatedJob], ranks: int, seed: int
) -> None:
    if make is tensor_and_data and ranks < 8:
        return
    job = make(ranks, steps=30, seed=seed, **_clocks_of(ranks, seed))
    clocks = align(match(job.tables()))
    errors = _errors_ns(job, clocks)
    assert errors.max() < _WITHIN_NS
    assert (errors <= clocks.uncertainty_ns).all()
    assert (clocks.uncertainty_ns < _WITHIN_NS).all()


def test_epochs_in_ns_lose_nothing() -> None:
    """1.7e18 is more than a 64-bit float holds exactly: differences of it are taken in integers."""
    job = one_group(4, steps=30)
    tables = [
        replace(each, start_ns=each.start_ns + at, end_ns=each.end_ns + at)
        for n, each in enumerate(job.tables())
        for at in [1_700_000_000_000_000_000 + n * 333]
    ]
    clocks = align(match(tables))
    assert np.abs(clocks.offset_ns - 333 * np.arange(4)).max() < 5_000


@pytest.mark.parametrize("seed", range(3))
def test_a_few_ends_seen_late_change_little(seed: int) -> None:
    job = one_group(8, steps=40, seed=seed, **_clocks_of(8, seed))
    random = np.random.default_rng(seed)
    hit = random.random(job.end_ns.shape) < 0.1
    job.end_ns = job.end_ns + np.where(hit, random.exponential(3e5, hit.shape), 0).astype(np.int64)
    clocks = align(match(job.tables()))
    assert _errors_ns(job, clocks).max() < _WITHIN_NS


def test_ranks_that_nothing_connects_have_no_common_time() -> None:
    job = tensor_and_data(8, steps=20)
    job.program = ["tp", "tp", "tp", "tp"]
    tables = job.tables()
    clocks = align(match(tables))
    assert set(clocks.component.tolist()) == {0, 4}
    assert np.isfinite(clocks.uncertainty_ns).all()
    alone = replace(one_group(2).tables()[1], rank=9, groups=())
    alone = replace(alone, group=np.full(len(alone), -1), seq=np.full(len(alone), -1))
    clocks = align(match([*tables, alone]))
    assert np.isnan(clocks.uncertainty_ns[-1])
    assert np.isfinite(clocks.uncertainty_ns[:-1]).all()


def test_ends_far_apart_are_not_known_together() -> None:
    """What was matched by order alone is another collective on each rank."""
    job = one_group(2, steps=20, has_seq=False)
    tables = job.tables()
    random = np.random.default_rng(0)
    moved = tables[1].end_ns + random.integers(1_000_000, 9_000_000, len(tables[1]))
    tables[1] = replace(tables[1], end_ns=moved)
    matched = match(tables)
    clocks = align(matched)
    assert np.isnan(clocks.uncertainty_ns).all()
    assert waits_of(matched, clocks).is_known.mean() < 0.2
