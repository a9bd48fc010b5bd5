"""TDY101: a loader of rows of tensors needs no workers, one of items that take work does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tidy
import tidy.runtime as rt
from tidy.finding import Finding
from tidy.profiler import ProfilerAction, profile
from tidy.runtime.utils.data import DataLoader, Dataset, TensorDataset


class _Computed(Dataset):
    """Rows of a tensor too, but something is done with each."""

    def __len__(self) -> int:
        return 96

    def __getitem__(self, index: int) -> Any:
        return rt.randn(96, 8)[index].exp().sum() + 1


def _recorded(loader: Any, longest_row_us: float = 1e9) -> tuple[Finding, ...]:
    """What TDY101 says of a run with this loader; how long a row took is this machine's."""
    with profile(schedule=lambda _: ProfilerAction.RECORD, with_stack=True) as prof:
        for _ in _batches(loader):
            prof.step()
    options = {"TDY101": {"longest_row_us": longest_row_us}}
    return tidy.check(prof.trace, select=["TDY101"], options=options).findings


def _batches(loader: Any) -> Iterator[Any]:
    weight = rt.ones(8, requires_grad=True)
    for batch in loader:
        (weight * 2).sum().backward()
        yield batch


@pytest.mark.parametrize("size", [8, 32])
def test_rows_of_tensors_are_to_be_indexed(size: int) -> None:
    data = TensorDataset(rt.randn(96, 8), rt.arange(96))
    findings = _recorded(DataLoader(data, batch_size=size, shuffle=True))
    assert findings
    for found in findings:
        assert f", {size} rows of tensors" in found.message
        assert "randperm" in found.fix


@pytest.mark.parametrize(
    "loader",
    [
        DataLoader(_Computed(), batch_size=32),
        DataLoader(TensorDataset(rt.randn(96, 8)), batch_size=4),  # too few to gain anything
    ],
    ids=["computed", "few"],
)
def test_other_items_are_for_workers(loader: Any) -> None:
    findings = _recorded(loader)
    assert findings
    for found in findings:
        assert "rows of tensors" not in found.message
        assert "num_workers" in found.fix


def test_rows_that_take_long_are_for_workers() -> None:
    data = TensorDataset(rt.randn(96, 8))
    findings = _recorded(DataLoader(data, batch_size=32), longest_row_us=0.001)
    assert findings
    assert all("num_workers" in found.fix for found in findings)
