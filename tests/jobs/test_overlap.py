"""Ranks that compute beside their collectives, as DistributedDataParallel does in its backward."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tidy.jobs import (
    Collectives,
    ProcessGroup,
    Verdict,
    align,
    chain_of,
    lateness_of,
    match,
    replay_of,
    waits_of,
)

_STEPS, _BUCKETS = 20, 5
_Columns = list[tuple[NDArray[np.float64], ...]]


def _buckets(
    ranks: int, transfer_ns: float, *, late: int = -1, seed: int = 0
) -> tuple[list[Collectives], float]:
    """A forward of 6 ms, then a backward of 10 ms, in which each fifth makes a bucket ready.

    One after the other these are reduced on a stream of their own. The late rank computes a tenth
    longer. Gives the tables and how long the job takes.
    """
    random = np.random.default_rng(seed)
    slower = np.where(np.arange(ranks) == late, 1.1, 1.0)

    def takes(ns: float) -> NDArray[np.float64]:
        return ns * slower * (1 + 0.02 * random.standard_normal(ranks))

    now, seen = np.zeros(ranks), np.zeros(ranks)
    columns: _Columns = []
    for _ in range(_STEPS):
        computed, free, of_step = now + takes(6e6), 0.0, []
        for _ in range(_BUCKETS):
            computed = computed + takes(2e6)
            start = np.maximum(computed, free)
            free = float(start.max()) + transfer_ns
            of_step.append((computed, free))
        for ready, end in of_step:
            start = np.maximum(ready, seen)
            seen = end + 1_500 * random.standard_normal(ranks)
            hidden = np.clip(end - np.maximum(start, computed), 0, None)
            columns.append((start, seen, hidden, ready))
        now = np.maximum(computed, free)
    starts, ends, exposed, ready_ns = (
        np.rint(np.array(each)).astype(np.int64).T for each in zip(*columns, strict=True)
    )
    count = _STEPS * _BUCKETS
    nothing = np.full(count, -1)
    tables = [
        Collectives(
            rank=rank,
            step=np.repeat(np.arange(_STEPS), _BUCKETS),
            group=np.zeros(count, np.int64),
            seq=np.arange(count),
            operation=np.zeros(count, np.int64),
            nbytes=np.full(count, 1 << 24),
            start_ns=starts[rank],
            end_ns=ends[rank],
            launch_ns=ready_ns[rank],
            on_device=np.ones(count, bool),
            source=nothing,
            target=nothing,
            exposed_ns=exposed[rank],
            blocked_ns=exposed[rank],
            groups=(ProcessGroup("0", tuple(range(ranks)), ranks),),
            operations=("nccl:all_reduce",),
            world_size=ranks,
        )
        for rank in range(ranks)
    ]
    return tables, float(now.max())


@pytest.mark.parametrize("ranks", [2, 8, 64])
@pytest.mark.parametrize("transfer_ns", [1e5, 4e5, 2.5e6])
def test_a_late_rank_among_hidden_collectives(ranks: int, transfer_ns: float) -> None:
    """Transfers of 2.5 ms queue behind one another, those of 0.1 ms do not."""
    tables, slow_ns = _buckets(ranks, transfer_ns, late=1)
    _, even_ns = _buckets(ranks, transfer_ns)
    matched = match(tables)
    waits, chain = waits_of(matched, align(matched)), chain_of(matched)
    verdicts = lateness_of(matched, waits, chain).verdicts
    assert [rank for rank, each in enumerate(verdicts) if each != Verdict.NOT_LATE] == [1]
    replay = replay_of(matched, chain, waits)
    assert abs(replay.error) < 0.001
    assert replay.knows_hidden
    assert replay.cost_ns(np.arange(ranks) == 1) == pytest.approx(slow_ns - even_ns, rel=0.1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("transfer_ns", [1e5, 4e5, 2.5e6])
@pytest.mark.parametrize("ranks", [2, 8, 64])
def test_nobody_is_late_where_all_compute_alike(ranks: int, transfer_ns: float, seed: int) -> None:
    tables, _ = _buckets(ranks, transfer_ns, seed=seed)
    matched = match(tables)
    waits = waits_of(matched, align(matched))
    assert set(lateness_of(matched, waits, chain_of(matched)).verdicts) == {Verdict.NOT_LATE}


def test_without_the_column_of_waits_no_saving_is_known() -> None:
    tables = [replace(each, blocked_ns=None) for each in _buckets(2, 1e5, late=1)[0]]
    matched = match(tables)
    waits = waits_of(matched, align(matched))
    assert not replay_of(matched, chain_of(matched), waits).knows_hidden
