"""Who is late, what it costs the job, and what ordinary jitter says: nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tidy.jobs import (
    JobReplay,
    Lateness,
    Verdict,
    align,
    chain_of,
    excess_of,
    lateness_of,
    match,
    replay_of,
    slow_links,
    times_by_group,
    waits_of,
)

from .simulated import SimulatedJob, one_group, tensor_and_data

_MAKERS = (one_group, tensor_and_data)


def _judge(job: SimulatedJob) -> tuple[Lateness, JobReplay]:
    matched = match(job.tables())
    waits, chain = waits_of(matched, align(matched)), chain_of(matched)
    return lateness_of(matched, waits, chain), replay_of(matched, chain, waits)


def _named(lateness: Lateness, verdict: Verdict) -> list[int]:
    return [rank for rank, each in enumerate(lateness.verdicts) if each == verdict]


def _only(ranks: int, late: int, ns: float) -> Any:
    more = np.zeros((ranks, 1, 1))
    more[late] = ns
    return more


def _clocks_of(ranks: int, seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {
        "offset_ns": random.uniform(-5e9, 5e9, ranks),
        "drift": random.uniform(-5e-5, 5e-5, ranks),
    }


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ranks", [2, 8, 64])
@pytest.mark.parametrize("make", _MAKERS)
def test_a_rank_that_is_always_late_is_named(
    make: Callable[..., SimulatedJob], ranks: int, seed: int
) -> None:
    """By 15 % of a step, among jitter of 2 % and clocks that differ by seconds."""
    if make is tensor_and_data and ranks < 8:
        return
    late = seed * 7 % ranks
    more = {"more_ns": _only(ranks, late, 5e5), "seed": seed}
    lateness, replay = _judge(make(ranks, **more, **_clocks_of(ranks, seed)))
    assert _named(lateness, Verdict.STAYS_LATE) == [late]
    assert _named(lateness, Verdict.PASSES) == []
    assert abs(replay.error) < 0.01
    # What the same job takes in which that rank has no more to do.
    slower, faster = make(ranks, **more).length_ns, make(ranks, seed=seed).length_ns
    places = np.arange(ranks) == late
    assert replay.cost_ns(places) == pytest.approx(slower - faster, rel=0.15)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("ranks", [2, 8, 64])
def test_ordinary_jitter_names_nobody(ranks: int, seed: int) -> None:
    """Ranks differ by a per cent, steps by several, and now and then one takes 5 % longer."""
    random = np.random.default_rng(seed)
    lasting = 1e7 * 0.005 * random.standard_normal((ranks, 1, 1)) / 3
    rare = 5e5 * (random.random((ranks, 20, 3)) < 0.02)
    make = tensor_and_data if seed % 2 and ranks > 2 else one_group
    if make is tensor_and_data:
        rare = 5e5 * (random.random((ranks, 20, 4)) < 0.02)
    job = make(ranks, steps=20, jitter=0.05, seed=seed, more_ns=lasting + rare)
    lateness, _ = _judge(job)
    assert set(lateness.verdicts) == {Verdict.NOT_LATE}


@pytest.mark.parametrize("seed", [1, 9, 33])
def test_long_steps_on_many_ranks_by_turns_name_nobody(seed: int) -> None:
    """A step in three hundred takes a fifth longer, whatever the rank; one has three of them."""
    random = np.random.default_rng(7 + seed)
    more = 1.25e4 * random.standard_normal((64, 1, 1)) + random.exponential(1.5e5, (64, 20, 4))
    more = more + 2e6 * (random.random((64, 20, 4)) < 0.003)
    lateness, _ = _judge(tensor_and_data(64, steps=20, jitter=0.04, seed=seed, more_ns=more))
    assert set(lateness.verdicts) == {Verdict.NOT_LATE}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ranks", [2, 8, 64])
def test_a_rank_that_is_late_in_some_steps_passes(ranks: int, seed: int) -> None:
    late = seed * 5 % ranks
    more = np.zeros((ranks, 20, 3))
    more[late, 5:8, 1] = 6e6
    lateness, replay = _judge(one_group(ranks, steps=20, seed=seed, more_ns=more))
    assert _named(lateness, Verdict.PASSES) == [late]
    assert _named(lateness, Verdict.STAYS_LATE) == []
    assert lateness.late_steps(late).tolist() == [5, 6, 7]
    assert replay.cost_ns(np.arange(ranks) == late) == pytest.approx(18e6, rel=0.15)


def test_ranks_beside_a_late_one_are_not_late() -> None:
    """In its tensor-parallel group all wait for it, and with it come late to the data-parallel."""
    job = tensor_and_data(16, 4, more_ns=_only(16, 5, 1e6))
    matched = match(job.tables())
    waits, chain = waits_of(matched, align(matched)), chain_of(matched)
    of_rank = np.bincount(matched.place, waits.late_ns * (matched.group[matched.collective] >= 0))
    assert (of_rank[[4, 6, 7]] > -1e6 * 40).all()
    usual = lateness_of(matched, waits, chain).usual_ns
    assert usual[5] == pytest.approx(4e6, rel=0.1)
    assert np.abs(np.delete(usual, 5)).max() < 5e5


def test_a_whole_node_that_is_late_is_named() -> None:
    more = np.zeros((32, 1, 1))
    more[8:16] = 1e6
    lateness, _ = _judge(one_group(32, more_ns=more))
    assert _named(lateness, Verdict.STAYS_LATE) == list(range(8, 16))


@pytest.mark.parametrize("steps", [1, 2])
def test_of_few_steps_nothing_is_said(steps: int) -> None:
    lateness, _ = _judge(one_group(4, steps=steps, more_ns=_only(4, 2, 5e6)))
    assert set(lateness.verdicts) == {Verdict.NOT_KNOWN}


def test_the_shortest_part_is_the_transfer() -> None:
    job = one_group(4, steps=5, noise_ns=0.0, more_ns=_only(4, 3, 2e6), jitter=0.0)
    matched = match(job.tables())
    waits = waits_of(matched, align(matched))
    assert waits.transfer_ns.tolist() == [500_000] * 15
    assert waits.last.tolist() == [3] * 15
    assert waits.lead_ns.tolist() == [2_000_000] * 15
    assert waits.waiting_ns.reshape(15, 4).tolist() == [[2_000_000] * 3 + [0]] * 15
    assert waits.late_ns.reshape(15, 4)[:, 3].tolist() == [2e6] * 15
    (row,) = times_by_group(matched, waits)
    assert (row.collectives, row.members, row.nbytes, row.small) == (15, 4, 1 << 20, 0)
    assert (row.transfer_ns, row.waiting_ns, row.exposed_ns) == (15 * 500_000, 15 * 1_500_000, -1)


@pytest.mark.parametrize("seed", range(5))
def test_by_naive_means_the_same(seed: int) -> None:
    """Lateness and the time above the others', a loop over members."""
    job = tensor_and_data(8, 4, steps=4, jitter=0.3, seed=seed)
    matched = match(job.tables())
    waits, chain = waits_of(matched, align(matched)), chain_of(matched)
    excess = excess_of(matched, chain, waits.is_known)
    took = matched.end_ns - matched.start_ns
    for first, end in zip(matched.first[:-1], matched.first[1:], strict=True):
        for member in range(first, end):
            others = [each for each in range(first, end) if each != member]
            assert waits.late_ns[member] == np.median(took[others]) - took[member]
    # A rank's own time in a step: from each end to the next start.
    own = job.start_ns - np.roll(job.end_ns.reshape(8, -1), 1, axis=1).reshape(job.end_ns.shape)
    spent = own.cumsum(axis=2)
    for member, (rank, row) in enumerate(zip(matched.place, matched.row, strict=True)):
        step, at = divmod(int(row), len(job.program))
        others = [spent[each, step, at] for each in range(8) if each != rank]
        expected = spent[rank, step, at] - np.median(others) if step else 0
        assert excess[member] == expected


def test_a_group_with_a_slow_link_is_found() -> None:
    job = tensor_and_data(32, 4, slow={("tp", 3): 2.0})
    matched = match(job.tables())
    waits = waits_of(matched, align(matched))
    (link,) = slow_links(matched, waits)
    assert link.ranks == (12, 13, 14, 15)
    assert link.transfer_ns / link.usual_ns == pytest.approx(2.0, rel=0.05)
    assert link.others == 7
    assert link.gbytes_per_s < link.usual_gbytes_per_s
    matched = match(tensor_and_data(32).tables())
    assert slow_links(matched, waits_of(matched, align(matched))) == []


@pytest.mark.parametrize(
    ("slower", "hosts", "found"),
    [
        (4.0, ["a"] * 8, True),
        (4.0, ["a"] * 4 + ["b"] * 4, True),
        (4.0, ["a"] * 6 + ["b"] * 2, False),  # the second one is among nodes
        (4.0, [""] * 8, False),
        (1.5, ["a"] * 8, False),  # either of them may be as it should be
        (1.0, ["a"] * 8, False),
    ],
)
def test_of_two_links_one_that_is_slower_by_far_is_found(
    slower: float, hosts: list[str], found: bool
) -> None:
    matched = match(tensor_and_data(8, 4, slow={("tp", 1): slower}).tables())
    waits = waits_of(matched, align(matched))
    links = slow_links(matched, waits, dict(enumerate(hosts)))
    assert [each.ranks for each in links] == ([(4, 5, 6, 7)] if found else [])
    assert slow_links(matched, waits) == []
    for link in links:
        assert link.transfer_ns / link.usual_ns == pytest.approx(slower, rel=0.05)
        assert link.others == 1


def test_the_one_link_among_nodes_is_not_compared_with_those_within() -> None:
    matched = match(tensor_and_data(16, 4, slow={("tp", 1): 4.0}).tables())
    waits = waits_of(matched, align(matched))
    hosts = dict(enumerate(["a"] * 6 + ["b"] * 10))
    assert slow_links(matched, waits, hosts) == []
    assert slow_links(matched, waits, hosts | {15: ""}) == []  # of another link
    assert slow_links(matched, waits, hosts | {5: ""}) == []  # it alone has a node unknown
    assert [each.ranks for each in slow_links(matched, waits)] == [(4, 5, 6, 7)]
    assert slow_links(matched, waits, dict.fromkeys(range(16), "a")) == slow_links(matched, waits)
