"""TDY406 and TDY408, by the rounds and the shapes of loops that are drawn at random."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidy
from tidy.finding import Checked
from tidy.trace.outline import parse_outline

_SLICE = "aten::slice | float[{n}, 3, 8, 8], =0, ={at}, ={after}, =1"
_BODIES = st.lists(
    st.sampled_from(["aten::conv2d", "aten::relu", "aten::mul", "aten::view"]),
    min_size=1,
    max_size=5,
)


def _found(lines: list[str], code: str) -> list[tidy.Finding]:
    outcome = tidy.check(parse_outline("\n".join(lines)), select=[code]).outcomes[code]
    assert isinstance(outcome, Checked)
    return list(outcome.findings)


def test_rows_that_are_batches_are_called_so() -> None:
    batch = "aten::conv2d | float[4, 3, 8, 8], float[6, 3, 3, 3]"
    (found,) = _found(["aten::unbind | float[16, 4, 3, 8, 8], =0", *[batch] * 16], "TDY406")
    assert found.message.startswith("16 batches are taken from a tensor and worked on one by one")


@given(rounds=st.integers(2, 20), body=_BODIES, before=st.integers(0, 3))
def test_samples_that_follow_each_other(rounds: int, body: list[str], before: int) -> None:
    """Eight rounds or more in which something is computed, wherever the loop begins."""
    lines = ["aten::add | float[4], float[4]"] * before
    for at in range(rounds):
        lines += [_SLICE.format(n=rounds, at=at, after=at + 1), *body]
    computes = any(name != "aten::view" for name in body)
    found = _found(lines, "TDY406")
    assert bool(found) is (rounds >= 8 and computes)
    for each in found:
        assert each.message.startswith(f"{rounds} samples")


@given(st.permutations(range(12)))
def test_samples_in_another_order(order: list[int]) -> None:
    """Eight that count up make a loop; samples that are picked do not."""
    lines = [
        line for at in order for line in (_SLICE.format(n=12, at=at, after=at + 1), "aten::conv2d")
    ]
    longest = here = 1
    for before, after in pairwise(order):
        here = here + 1 if after == before + 1 else 1
        longest = max(longest, here)
    assert bool(_found(lines, "TDY406")) is (longest >= 8)


def _cats(sizes: list[int], by: int, reads: set[int]) -> list[str]:
    """`torch.cat([out, row])` for each size of `out`; in some rounds what has grown is read."""
    lines = []
    for number, size in enumerate(sizes):
        lines.append(f"aten::cat | TensorList[{size}, 8; {by}, 8], =0")
        if number in reads:
            lines.append(f"aten::mm | float[{size + by}, 8], float[8, 8]")
    return lines


@given(
    rounds=st.integers(2, 20),
    by=st.integers(1, 4),
    begin=st.integers(1, 9),
    reads=st.sets(st.integers(0, 18)),
)
def test_tensors_that_grow(rounds: int, by: int, begin: int, reads: set[int]) -> None:
    """Ten in a row, read in a fifth of the rounds at most."""
    sizes = [begin + by * number for number in range(rounds)]
    read = len({number for number in reads if number < rounds - 1})
    found = _found(_cats(sizes, by, reads), "TDY408")
    assert bool(found) is (rounds >= 10 and read <= 0.2 * rounds)
    assert sum(each.count for each in found) == rounds * bool(found)


@pytest.mark.parametrize(
    "lines",
    [
        _cats([4] * 20, 1, set()),  # each begins anew
        ["aten::cat | TensorList[4, 8; 1, 8], =0", "aten::cat | TensorList[9, 8; 1, 8], =0"] * 10,
        [f"aten::cat | TensorList[{n}, 8; 1, 8], =1" for n in range(1, 20)],  # no tensors fit
        ["aten::cat | TensorList[1, 8; 1, 8], =0"] * 20,
    ],
    ids=["one-row-more", "two-of-them", "another-dimension", "pairs"],
)
def test_tensors_that_do_not(lines: list[str]) -> None:
    assert _found(lines, "TDY408") == []
