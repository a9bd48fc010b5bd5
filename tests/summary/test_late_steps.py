"""Why a rank is late in some steps: by its own account of those steps beside its others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from tidy.account import StepParts
from tidy.jobs import Verdict
from tidy.summary import Summary, decode, encode, job_of

from ..report.making_jobs import EACH, STEPS, ranks_of_job

_LATE = range(5, 7)
_MS = 1_000_000
_USUAL = {
    ("compute", "matmul"): 6 * _MS,
    ("idle", "data-loading"): 2 * _MS,
    ("communication", "transfer"): 1 * _MS,
}
Name = tuple[str, str]


def _ranks(more_ns: Mapping[int, Mapping[Name, int]], flops: int = -1) -> list[Summary]:
    """Eight ranks of which the second one is 9 ms late in two steps.

    Args:
        more_ns: by rank what parts take longer in these steps.
    """
    result = []
    for rank, each in enumerate(ranks_of_job(8, 9e6, _LATE)):
        names = sorted({*_USUAL, *more_ns.get(rank, {})})
        times = np.array([[_USUAL.get(name, 0)] * STEPS for name in names])
        times[:, _LATE.start : _LATE.stop] += [[more_ns.get(rank, {}).get(n, 0)] for n in names]
        table = replace(each.collectives, step_flops=np.full(STEPS * EACH, flops))
        parts = StepParts(np.arange(STEPS), tuple(names), times)
        accounts = [replace(account, sort="GPU") for account in each.accounts]
        changed = {"accounts": tuple(accounts), "collectives": table, "step_parts": parts}
        result.append(replace(each, **changed))
    return result


def _reason(ranks: list[Summary]) -> str:
    job = job_of(ranks)
    assert job is not None
    (late,) = job.late
    assert (late.verdict, late.ranks) == (Verdict.PASSES, (1,))
    return late.reason


@pytest.mark.parametrize(
    ("name", "flops", "said"),
    [
        (("idle", "data-loading"), -1, "idles for 8.00 ms longer in others: loading data"),
        (("idle", "host-stall"), -1, "idles for 8.00 ms longer in others: host stalls"),
        (
            ("idle", "device-wait"),
            -1,
            "idles for 8.00 ms longer in others, and its host stands still in a call that waits for"
            " the GPU",
        ),
        (("copy", "fill"), -1, "copies for 8.00 ms longer in others"),
        (("compute", "elementwise"), -1, "computes for 8.00 ms longer in others"),
        (
            ("compute", "matmul"),
            10**9,
            "computes for 8.00 ms longer in others: the same products take 2.33 times as long",
        ),
        (("communication", "transfer"), -1, ""),
        (("idle", "unknown"), -1, ""),
    ],
)
def test_it_is_what_grew_in_the_steps_in_which_the_rank_is_late(
    name: Name, flops: int, said: str
) -> None:
    expected = said.replace("longer in", "longer than in")
    reason = _reason(_ranks({1: {name: 8 * _MS}}, flops))
    assert reason == (f"in these steps its GPU {expected}" if said else "")


def test_what_all_ranks_spend_longer_on_is_no_reason() -> None:
    """As where all evaluate in some steps, and one stands still in them."""
    evaluating = {("compute", "matmul"): 50 * _MS}
    more = dict.fromkeys(range(8), evaluating)
    assert _reason(_ranks(more)) == ""
    more[1] = {**evaluating, ("idle", "host-stall"): 8 * _MS}
    assert _reason(_ranks(more)).endswith(
        "its GPU idles for 8.00 ms longer than in others: host stalls"
    )


def test_ranks_may_number_their_steps_otherwise() -> None:
    ranks = _ranks({1: {("idle", "data-loading"): 8 * _MS}})
    expected = _reason(ranks)
    for rank in (0, 1):
        table, parts = ranks[rank].collectives, ranks[rank].step_parts
        assert parts is not None
        changed = {
            "collectives": replace(table, step=table.step + 5 + rank),
            "step_parts": replace(parts, steps=parts.steps + 5 + rank),
        }
        ranks[rank] = replace(ranks[rank], **changed)
    assert _reason(ranks) == expected != ""


def test_what_is_always_longer_is_no_reason() -> None:
    ranks = _ranks({1: {}})
    parts = ranks[1].step_parts
    assert parts is not None
    ranks[1] = replace(ranks[1], step_parts=replace(parts, time_ns=5 * parts.time_ns))
    assert _reason(ranks) == ""


def test_of_several_causes_none_is_named_if_none_makes_up_half() -> None:
    causes = {("idle", cause): 2 * _MS for cause in ("host-stall", "python", "data-loading")}
    assert (
        _reason(_ranks({1: causes}))
        == "in these steps its GPU idles for 6.00 ms longer than in others"
    )


def test_little_beside_what_it_is_late_by_is_no_reason() -> None:
    assert _reason(_ranks({1: {("idle", "host-stall"): 3 * _MS}})) == ""


def test_steps_of_which_the_operations_are_not_known_are_left_out() -> None:
    """One of the two late ones, then both."""
    for unknown, expected in ((1, ": the same products take 2.33 times as long"), (2, "")):
        ranks = _ranks({1: {("compute", "matmul"): 8 * _MS}}, 10**9)
        table = ranks[1].collectives
        is_unknown = np.isin(table.step, _LATE[:unknown])
        flops = np.where(is_unknown, -1, 10**9)
        ranks[1] = replace(ranks[1], collectives=replace(table, step_flops=flops))
        assert _reason(ranks).partition("than in others")[2] == expected


def test_one_step_is_said_to_be_one() -> None:
    ranks = ranks_of_job(8, 9e6, range(5, 6))
    times = np.full((1, STEPS), 2 * _MS)
    times[:, 5] += 8 * _MS
    parts = StepParts(np.arange(STEPS), (("idle", "host-stall"),), times)
    ranks[1] = replace(ranks[1], step_parts=parts)
    assert _reason(ranks).startswith("in this step its ")


def test_a_file_holds_what_the_reason_needs() -> None:
    ranks = _ranks({1: {("idle", "data-loading"): 8 * _MS}})
    kept = [decode(encode(each), "kept") for each in ranks]
    assert [each.step_parts for each in kept] == [each.step_parts for each in ranks]
    assert _reason(kept) == _reason(ranks) != ""
    assert _reason([replace(each, step_parts=None) for each in kept]) == ""
