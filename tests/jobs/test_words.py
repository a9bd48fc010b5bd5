"""Ranks in words, reasons, and the map of ranks against steps."""

from __future__ import annotations

import numpy as np
import pytest

from tidy.jobs import (
    ProcessGroup,
    heat_map,
    parallelism_of,
    ranks_text,
    reason_of,
    uneven_work,
)
from tidy.jobs.heat_maps import MOST_ROWS


@pytest.mark.parametrize(
    ("ranks", "count", "text"),
    [
        ([5], 8, "rank 5"),
        ([0, 1, 2, 3, 5], 64, "ranks 0-3, 5"),
        ([5, 3, 2, 1, 0, 0], 64, "ranks 0-3, 5"),
        ([0, 1], 8, "ranks 0, 1"),
        (range(8), 8, "all ranks"),
        ([0, 1, 2, 3, 4, 5, 6], 8, "ranks 0-6"),
        ([each for each in range(8) if each != 5], 8, "all but 5"),
        ([each for each in range(64) if each not in (5, 9)], 64, "all but 5, 9"),
        ([0], 1, "rank 0"),
        (range(0, 64, 4), 64, "ranks 0, 4, 8, 12, 16, 20, 24, 28 and 8 more"),
    ],
)
def test_ranks_in_words(ranks: list[int], count: int, text: str) -> None:
    assert ranks_text(ranks, range(count)) == text


def test_the_part_that_makes_a_rank_late_is_named() -> None:
    parts = {
        "loader": np.array([1e6, 1.1e6, 6e6, 0.9e6]),
        "matrix products": np.array([8e6, 8.1e6, 8.4e6, 8e6]),
    }
    reason = reason_of(parts, 2, 5.4e6)
    assert reason is not None
    assert (reason.part, reason.more_ns) == ("loader", 5e6)
    assert reason.share == pytest.approx(5 / 5.4)
    assert reason_of(parts, 2, 20e6) is None  # what makes it late is in none of them
    assert reason_of(parts, 1, 0.0) is None


@pytest.mark.parametrize("seed", range(5))
def test_time_that_follows_the_tokens_is_uneven_work(seed: int) -> None:
    random = np.random.default_rng(seed)
    tokens = random.integers(1_000, 4_000, (8, 12)).astype(float)
    noise = 1e5 * random.standard_normal(tokens.shape)
    others = np.array([np.median(np.delete(tokens, rank, 0), axis=0) for rank in range(8)])
    late = 2_000 * (tokens - others) + noise
    role = np.zeros(tokens.shape, np.int64)
    found = uneven_work(late, tokens, role)
    assert found is not None
    assert found.spread > 0.3
    by_turns = tokens - (tokens - others).mean(axis=1, keepdims=True)
    most = (by_turns.max(axis=0) - by_turns.mean(axis=0)).mean()
    assert found.more_ns == pytest.approx(2_000 * most, rel=0.05)
    assert uneven_work(noise, tokens, role) is None
    assert uneven_work(late, np.full(tokens.shape, 2_000.0), role) is None
    assert uneven_work(late, np.full(tokens.shape, np.nan), role) is None


def test_what_a_rank_has_more_of_in_all_steps_is_not_uneven_work() -> None:
    """Nor is what ranks of another role have: both are in neither share nor time."""
    random = np.random.default_rng(0)
    tokens = random.integers(10_000, 11_000, (8, 20)).astype(float)
    late = 2_000 * np.array(
        [tokens[rank] - np.median(np.delete(tokens, rank, 0), axis=0) for rank in range(8)]
    )
    found = uneven_work(late, tokens, np.zeros(tokens.shape, np.int64))
    assert found is not None
    more = tokens.copy()
    more[6:] += 6_000
    same = uneven_work(late, more, np.zeros(tokens.shape, np.int64))
    assert same is not None
    assert same.spread == pytest.approx(found.spread, rel=0.3)
    assert same.more_ns == pytest.approx(found.more_ns, rel=0.1)
    stages = np.repeat([[0], [1]], 4, axis=0) + np.zeros(20, np.int64)
    late = 2_000 * np.array(
        [
            tokens[r] - np.median(np.delete(tokens[r // 4 * 4 :][:4], r % 4, 0), axis=0)
            for r in range(8)
        ]
    )
    apart = uneven_work(late, tokens + 50_000 * stages, stages)
    assert apart is not None
    assert apart.spread < 0.1
    assert apart.more_ns < 2_000 * 1_000


def test_a_map_of_few_ranks_has_a_row_each() -> None:
    values = np.zeros((4, 3))
    values[2] = [0, 5e6, 10e6]
    values[1, 0] = np.nan
    drawn = heat_map([0, 1, 2, 3], np.array([7, 8, 9]), values)
    assert drawn.ranks == ((2,), (0,), (1,), (3,))
    assert drawn.text().splitlines() == [
        "  step  7 9",
        "rank 2   ▒█",
        "rank 0",
        "rank 1  ·",
        "rank 3",
    ]
    assert drawn.text(ascii_only=True).splitlines()[1:3] == ["rank 2   :#", "rank 0"]
    assert drawn.text(ascii_only=True).isascii()


def test_of_many_ranks_what_stands_out_is_first_and_nodes_are_together() -> None:
    values = np.zeros((512, 200))
    values[77, 20:] = 9e6
    values[300, 150] = 9e6
    hosts = {rank: f"node{rank // 8}" for rank in range(512)}
    drawn = heat_map(range(512), np.arange(200), values, hosts=hosts, ordinary_ns=1e6)
    assert len(drawn.labels) == MOST_ROWS
    assert drawn.ranks[:2] == ((77,), (300,))
    assert drawn.hosts[:2] == ("node9", "node37")
    assert drawn.labels[0] == "node9: rank 77"
    assert sorted(rank for row in drawn.ranks for rank in row) == list(range(512))
    assert drawn.values_ns.shape == (MOST_ROWS, 60)
    assert max(map(len, drawn.text().splitlines())) < 130


def test_a_map_of_nothing_is_drawn() -> None:
    assert heat_map([], np.zeros(0, np.int64), np.zeros((0, 0))).text() == "step"


@pytest.mark.parametrize(
    ("description", "kind"),
    [
        ("mesh_tp", "tensor"),
        ("mesh_dp_shard", "data"),
        ("PIPELINE_MODEL_PARALLEL_GROUP", "pipeline"),
        ("EXPERT_MODEL_PARALLEL_GROUP", "expert"),
        ("EXPERT_DATA_PARALLEL_GROUP", "data"),
        ("CONTEXT_PARALLEL_GROUP", "context"),
        ("default_pg", ""),
        ("https", ""),
    ],
)
def test_what_a_group_is_for(description: str, kind: str) -> None:
    assert parallelism_of(ProcessGroup("1", description=description)) == kind
