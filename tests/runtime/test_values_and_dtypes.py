"""Numbers that a dtype does not reach, and dtypes that do not fit; as PyTorch 2.13 does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tidy.runtime as torch

TOO_LARGE = [
    "half.masked_fill(half > 0, -1e9)",
    "half.fill_(70000)",
    "torch.zeros(2).fill_(1e300)",
    "torch.full((2,), 1e9, dtype=torch.float16)",
    "byte.fill_(300)",
    "byte.fill_(-300)",
    "byte.masked_fill_(byte > 0, 300)",
    "byte.index_fill_(0, torch.tensor([0]), 300)",
    "torch.full_like(byte, 300)",
    "torch.zeros(2, dtype=torch.int32).fill_(2**40)",
    "torch.zeros(2, dtype=torch.int64).fill_(math.nan)",
    "byte.fill_(-3.7)",
    "byte.fill_(torch.tensor(300))",
    "byte.__setitem__(0, byte.numpy().astype(int)[0] + 300)",
    "byte.__setitem__(0, 2j)",
    "torch.zeros(2).fill_(1 + 2j)",
    "torch.zeros(2, dtype=torch.complex64).fill_(1e39j)",
    "torch.zeros(2).scatter_(0, torch.tensor([0]), 1e39)",
    "byte.__setitem__(0, 300)",
    "byte.__setitem__(byte > 0, 300)",
]
OTHER_DTYPE = [
    "half_matrix @ matrix",
    "matrix @ half_matrix",
    "half @ torch.ones(2)",
    "half_matrix @ torch.ones(2)",
    "F.linear(half_matrix, matrix, torch.ones(2))",
    "torch.bmm(half_matrix[None], matrix[None])",
    "F.conv1d(half_matrix[None], matrix[None])",
    "F.conv1d(half_matrix[None], half_matrix[None], torch.ones(1))",
    "F.scaled_dot_product_attention(half_matrix, matrix, matrix)",
    "torch.tensor([1, 2]).softmax(0)",
    "torch.tensor([1, 2]).log_softmax(0)",
    "F.gelu(torch.tensor([1, 2]))",
    "F.dropout(torch.tensor([1, 2]))",
    "F.binary_cross_entropy_with_logits(torch.ones(2), torch.ones(2).long())",
    "F.scaled_dot_product_attention(matrix, matrix, matrix, matrix.long())",
]


def _names() -> dict[str, object]:
    matrix = torch.ones(2, 2)
    return {
        "half": torch.ones(2).half(), "byte": torch.tensor([1, 2], dtype=torch.uint8),
        "matrix": matrix, "half_matrix": matrix.half(), "torch": torch, "math": math,
        "F": torch.nn.functional,
    }  # fmt: skip


@pytest.mark.parametrize("code", TOO_LARGE)
def test_a_number_that_the_dtype_does_not_reach_is_refused(code: str) -> None:
    """A mask filled with -1e9 in half precision is the usual one."""
    with pytest.raises(RuntimeError, match=r"cannot be converted to type .* without overflow"):
        eval(code, _names())  # noqa: S307


def test_other_numbers_are_filled_in() -> None:
    """Infinity, what wraps around from below zero, and fractions of integers."""
    half, byte = torch.zeros(2).half(), torch.zeros(2, dtype=torch.uint8)
    assert half.fill_(-math.inf).tolist() == [-math.inf] * 2
    assert half.fill_(65504).tolist() == [65504] * 2
    half[0] = 1e9
    assert half.tolist() == [math.inf, 65504]
    assert byte.fill_(-1).tolist() == [255] * 2
    assert byte.fill_(2 + 0j).tolist() == [2] * 2
    assert byte.fill_(1.5).tolist() == [1] * 2
    assert torch.zeros(2, dtype=torch.bool).fill_(2j).tolist() == [True] * 2
    with pytest.raises(OverflowError, match="int too big to convert"):
        torch.zeros(2).fill_(2**64)


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        ([np.float64(1), 2.0], torch.float64),
        ([[1, 2], (np.float32(1), np.float64(2))], torch.float64),
        ([np.arange(2.0), [1, 2]], torch.float64),
        ([np.float16(1), 2.0], torch.float32),
        ([torch.tensor(2.0), np.float64(3)], torch.float64),
        ([np.complex64(1), 2.0], torch.complex64),
        ([2.0, 1], torch.float32),
        (torch.ones(2).double(), torch.float64),
        (np.ones(2), torch.float64),
    ],
)
@pytest.mark.filterwarnings("ignore:Creating a tensor from a list")
def test_numbers_of_numpy_keep_their_dtype_in_lists(data: Any, dtype: Any) -> None:
    """Python's have the default one."""
    assert torch.tensor(data).dtype == dtype


@pytest.mark.parametrize("code", OTHER_DTYPE)
def test_operands_of_a_dtype_that_does_not_fit_are_refused(code: str) -> None:
    """A half-precision input of a float32 model, say, outside autocast."""
    with pytest.raises(RuntimeError):
        eval(code, _names())  # noqa: S307


def test_each_nan_is_unique() -> None:
    """They are not equal to one another."""
    values, counts = torch.tensor([math.nan, 1.0, math.nan]).unique(return_counts=True)
    assert str(values.tolist()) == "[1.0, nan, nan]"
    assert counts.tolist() == [1, 1, 1]


def test_a_clone_of_what_was_expanded_is_contiguous() -> None:
    """It can be viewed as one dimension."""
    x = torch.ones(1, 3).expand(4, 3)
    assert x.clone().view(-1).shape == (12,)
    assert x.double().is_contiguous()
