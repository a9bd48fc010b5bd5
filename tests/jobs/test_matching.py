"""Collectives matched across ranks, by what is recorded of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

import numpy as np
import pytest

from tidy.jobs import Collectives, Matched, align, bubbles_ns, match, waits_of
from tidy.jobs.matching import (
    ALONE,
    NO_PEER,
    NOT_ON_ALL,
    OTHER_COUNT,
    OTHER_SIZE,
)

from .simulated import SimulatedJob, one_group, tensor_and_data


def _rows_of(matched: Matched) -> set[tuple[tuple[int, int], ...]]:
    """Each collective as its pairs of a rank and a row."""
    return {
        tuple(
            zip(
                matched.ranks[matched.place[first:end]].tolist(),
                matched.row[first:end].tolist(),
                strict=True,
            )
        )
        for first, end in zip(matched.first[:-1], matched.first[1:], strict=True)
    }


def _true_rows(job: SimulatedJob) -> set[tuple[tuple[int, int], ...]]:
    _, steps, length = job.compute_ns.shape
    return {
        tuple((rank, step * length + at) for rank in sorted(group))
        for step in range(steps)
        for at, name in enumerate(job.program)
        for group in job.families[name]
    }


def _shuffled(table: Collectives, seed: int) -> tuple[Collectives, np.ndarray]:
    order = np.random.default_rng(seed).permutation(len(table))
    columns = {
        name: getattr(table, name)[order]
        for name in table.__slots__
        if isinstance(getattr(table, name), np.ndarray)
    }
    return replace(table, **columns), order


@pytest.mark.parametrize("has_seq", [True, False])
@pytest.mark.parametrize("make", [one_group, tensor_and_data])
def test_all_are_matched_as_they_happened(make: Callable[..., SimulatedJob], has_seq: bool) -> None:
    job = make(8, steps=5, has_seq=has_seq)
    matched = match(job.tables())
    assert _rows_of(matched) == _true_rows(job)
    assert not matched.unmatched
    assert matched.missing == 0


def test_without_groups_the_order_in_the_step_tells() -> None:
    job = one_group(4, steps=3, has_group=False, has_seq=False)
    assert _rows_of(match(job.tables())) == _true_rows(job)


@pytest.mark.parametrize("seed", range(3))
def test_neither_order_of_rows_nor_of_ranks_counts(seed: int) -> None:
    job = tensor_and_data(8, steps=4)
    shuffled = [_shuffled(each, seed + n) for n, each in enumerate(job.tables())]
    tables, orders = zip(*shuffled, strict=True)
    matched = match(tables[::-1])
    found = {
        tuple((rank, int(orders[rank][row])) for rank, row in each) for each in _rows_of(matched)
    }
    assert found == _true_rows(job)


def test_numbers_tell_where_recordings_begin_at_different_times() -> None:
    job = one_group(3, steps=4)
    tables = job.tables()
    names = [n for n in Collectives.__slots__ if isinstance(getattr(tables[0], n), np.ndarray)]
    tables[1] = replace(tables[1], **{name: getattr(tables[1], name)[2:] for name in names})
    matched = match(tables)
    whole = {each for each in _true_rows(job) if each[0][1] >= 2}
    assert {tuple((r, w + 2 * (r == 1)) for r, w in each) for each in _rows_of(matched)} == whole
    assert matched.unmatched == {NOT_ON_ALL: 4}


def test_a_step_with_another_count_is_not_matched_by_order() -> None:
    job = one_group(3, steps=4, has_seq=False)
    tables = job.tables()
    names = [n for n in Collectives.__slots__ if isinstance(getattr(tables[0], n), np.ndarray)]
    tables[1] = replace(tables[1], **{name: getattr(tables[1], name)[1:] for name in names})
    matched = match(tables)
    assert len(matched.group) == 9
    assert matched.unmatched == {OTHER_COUNT: 8}


def test_other_sizes_are_not_one_collective() -> None:
    tables = one_group(2, steps=2, each=1, has_seq=False).tables()
    tables[1] = replace(tables[1], nbytes=np.array([1 << 20, 5]))
    matched = match(tables)
    assert _rows_of(matched) == {((0, 0), (1, 0))}
    assert matched.unmatched == {OTHER_SIZE: 2}


def test_groups_of_one_name_are_told_by_their_ranks() -> None:
    """Those that one call of `split_group` makes have one name."""
    job = tensor_and_data(8, steps=2)
    assert len({group.name for table in job.tables() for group in table.groups}) == 2
    assert _rows_of(match(job.tables())) == _true_rows(job)


def test_groups_of_one_rank_lack_nobody() -> None:
    """As those of data parallelism where all ranks share each layer."""
    job = tensor_and_data(4, 4, steps=2)
    matched = match(job.tables())
    assert _rows_of(matched) == {rows for rows in _true_rows(job) if len(rows) == 4}
    assert (len(matched.group), matched.unmatched) == (6, {})


def test_ranks_that_were_not_given_are_counted() -> None:
    tables = tensor_and_data(8, steps=2).tables()
    matched = match([tables[0], tables[5]])
    assert matched.missing == 6
    assert matched.unmatched == {ALONE: 16}
    assert len(matched.group) == 0
    matched = match([tables[0], tables[1], tables[5]])
    assert len(matched.group) == 6 + 2  # of tensor parallelism 0 and 1, of data parallelism 1 and 5


def _pairs(rank: int, source: list[int], target: list[int]) -> Collectives:
    count = len(source)
    table = one_group(2, steps=count, each=1).tables()[0]
    peers = np.array(source, np.int64), np.array(target, np.int64)
    return replace(table, rank=rank, operations=("send/recv",), source=peers[0], target=peers[1])


def test_a_send_is_matched_with_its_receive() -> None:
    """Rank 1 receives of 0, then sends to 2, in each step."""
    tables = [
        _pairs(0, [0, 0], [1, 1]),
        _pairs(1, [0, 1], [1, 2]),
        _pairs(2, [1, 1], [2, 2]),
    ]
    tables[1] = replace(tables[1], step=np.array([0, 0]))
    tables[2] = replace(tables[2], step=np.array([0, 1]))
    matched = match(tables)
    assert _rows_of(matched) == {((0, 0), (1, 0)), ((1, 1), (2, 0))}
    assert matched.unmatched == {NOT_ON_ALL: 2}


def test_a_stage_that_waits_for_the_one_before_has_a_bubble() -> None:
    """Rank 1 is ready to receive 3 ms before rank 0 sends, in each of 20 steps."""
    sends = _pairs(0, [0] * 20, [1] * 20)
    receives = replace(_pairs(1, [0] * 20, [1] * 20), start_ns=sends.start_ns - 3_000_000)
    receives = replace(receives, end_ns=sends.end_ns)
    matched = match([sends, receives])
    waits = waits_of(matched, align(matched))
    assert waits.is_known.all()
    assert waits.last.tolist() == [0] * 20
    waited = bubbles_ns(matched, waits, np.arange(1, 21))
    assert waited[0].max() == 0
    assert waited[1, :19] == pytest.approx(3e6, rel=0.01)
    assert waited[1, 19] == 0  # no such step


def test_without_a_peer_a_send_is_not_matched() -> None:
    tables = [_pairs(rank, [-1, -1], [-1, -1]) for rank in range(2)]
    assert match(tables).unmatched == {NO_PEER: 4}


def test_no_tables_and_no_rows() -> None:
    assert len(match([]).group) == 0
    empty = _pairs(0, [], [])
    assert len(match([empty, replace(empty, rank=1)]).group) == 0


def test_a_rank_without_collectives_blinds_no_others() -> None:
    tables = one_group(4, has_seq=False, has_group=False).tables()
    columns = {
        each.name: getattr(tables[2], each.name)[:0]
        for each in fields(Collectives)
        if isinstance(getattr(tables[2], each.name), np.ndarray)
    }
    matched = match([*tables[:2], replace(tables[2], **columns), tables[3]])
    assert matched.unmatched == {}
    assert set(matched.count.tolist()) == {3}
