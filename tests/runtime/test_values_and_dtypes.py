"""Dtypes of what is made of numpy's numbers; samples_exact_memory.py has what a dtype reaches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tidy.runtime as torch


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
