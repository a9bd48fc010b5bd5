"""The job run again: what ranks hide, and ranks that launch in another order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tidy.jobs import (
    Collectives,
    JobReplay,
    align,
    chain_of,
    late_cost,
    match,
    replay_of,
    waits_of,
)

from .simulated import one_group, tensor_and_data


def _replay(tables: list[Collectives]) -> JobReplay:
    matched = match(tables)
    return replay_of(matched, chain_of(matched), waits_of(matched, align(matched)))


@pytest.mark.parametrize("seed", range(3))
def test_unchanged_the_recorded_times_come_back(seed: int) -> None:
    job = tensor_and_data(16, 4, jitter=0.2, noise_ns=0.0, seed=seed)
    replay = _replay(job.tables())
    assert abs(replay.error) < 1e-4
    assert replay.cost_ns(np.zeros(16, bool)) == 0
    matched = replay.matched
    ends = job.true_end_ns[matched.ranks[matched.place[matched.first[:-1]]]]
    rows = matched.row[matched.first[:-1]]
    true = ends.reshape(len(rows), -1)[np.arange(len(rows)), rows]
    assert np.ptp(replay.end_ns - true) < 5_000


def test_nobody_is_cheaper_for_having_less_to_do() -> None:
    """Each rank's cost is from 0 to what all ranks cost together."""
    replay = _replay(tensor_and_data(16, 4, jitter=0.2).tables())
    costs = [replay.cost_ns(np.arange(16) == rank) for rank in range(16)]
    assert min(costs) >= 0
    assert max(costs) <= replay.cost_ns(np.ones(16, bool))


def test_a_replay_that_gives_no_time_tells_no_cost() -> None:
    """Times of damaged files are those of no clock."""
    tables = one_group(2, steps=6, each=2, noise_ns=0.0).tables()
    replay = replace(_replay(tables), knows_hidden=True)
    are = np.array([True, False])
    assert late_cost(replay, are, tables).cost_ns is not None
    damaged = (
        replace(replay, error=float("nan")),
        replace(replay, end_ns=np.full(len(replay.end_ns), np.inf)),
    )
    for each in damaged:
        told = late_cost(each, are, tables)
        assert (told.cost_ns, told.why_not) == (None, "a replay of the recorded job gives no time")


def test_ranks_that_launch_in_another_order_end_nevertheless() -> None:
    """Two collectives at once: on rank 1 the second begins before the first."""
    tables = one_group(2, steps=6, each=2, jitter=0.0, noise_ns=0.0).tables()
    start = tables[0].start_ns.copy()
    start[1::2] = start[::2] + 1_000
    first = replace(tables[0], start_ns=start, end_ns=start + 900_000)
    other = start.copy()
    other[1::2] -= 2_000
    second = replace(tables[1], start_ns=other, end_ns=start + 900_000)
    replay = _replay([first, second])
    assert np.isfinite(replay.end_ns).all()
    assert abs(replay.error) < 0.01


def test_ends_that_ranks_see_in_another_order_hide_no_cost() -> None:
    """Threads of the host see ends late: rank 1, which comes 100 ms late, that of the first."""
    steps, nothing = 8, np.full(16, -1)
    begin_us = 110_000 * np.repeat(np.arange(steps), 2)
    # Of each rank when both collectives of a step start and end, and for how long it waits.
    of_ranks = [
        ((5_000, 5_100), (107_000, 108_200), (101_900, 1_200)),
        ((105_000, 105_100), (108_500, 108_000), (500, 1_900)),
    ]
    tables = []
    for rank, columns in enumerate(of_ranks):
        start, end, blocked = (1_000 * np.tile(each, steps) for each in columns)
        job = one_group(2, steps=steps, each=2).tables()[rank]
        start, end = start + 1_000 * begin_us, end + 1_000 * begin_us
        tables.append(
            replace(
                job, start_ns=start, end_ns=end, launch_ns=start, blocked_ns=blocked,
                exposed_ns=nothing, on_device=nothing > 0,
            )
        )  # fmt: skip
    replay = _replay(tables)
    assert abs(replay.error) < 0.01
    assert replay.cost_ns(np.array([False, True])) == pytest.approx((steps - 1) * 1e8, rel=0.05)


def test_a_rank_does_not_wait_for_what_it_hides() -> None:
    """All is hidden but the last of each step: its own time goes on beside the others."""
    tables = one_group(4, steps=6, each=3).tables()
    hidden = np.tile([0, 0, 500_000], 6)
    matched = match([replace(each, exposed_ns=hidden) for each in tables])
    chain = chain_of(matched)
    step, at = np.divmod(matched.row, 3)
    waits_for_last = (chain.before >= 0) & (matched.row[chain.before] == 3 * step - 1)
    assert waits_for_last[step > 0].all()
    assert (chain.before[step == 0] == -1).all()
    assert ((chain.needs_ns >= 0) == (at == 2)).all()
    all_wait = match(tables)
    chain = chain_of(all_wait)
    assert (all_wait.row[chain.before] == all_wait.row - 1)[all_wait.row > 0].all()
