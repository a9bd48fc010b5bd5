"""Columns that come in many blocks are those that one array would give, and take no more memory."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tidy.trace import RawColumns
from tidy.trace.raw_columns import COLUMNS

_ROWS_EACH, _BLOCKS = 3000, 200  # more rows than are put together


def _expected(name: str, rows: int) -> np.ndarray:
    dtype, default = COLUMNS[name]
    return np.full(rows, default, dtype)


def test_rows_have_what_their_blocks_say() -> None:
    raw, rows = RawColumns(), _ROWS_EACH * _BLOCKS
    start, device, nbytes, tie = (
        _expected(name, rows) for name in ("start_ns", "device", "nbytes", "tie")
    )
    for at in range(_BLOCKS):
        first = at * _ROWS_EACH
        own = slice(first, first + _ROWS_EACH)
        start[own] = np.arange(first, first + _ROWS_EACH)
        raw.append(_ROWS_EACH, start_ns=start[own].copy(), tie=at)
        tie[own] = at
        if at % 3:  # only some rows, and some of them twice
            raw.fill(first + 10, 100, device=1, nbytes=np.arange(100))
            raw.fill(first + 50, 20, device=[2] * 20)
            device[first + 10 : first + 110] = 1
            device[first + 50 : first + 70] = 2
            nbytes[first + 10 : first + 110] = np.arange(100)
        if at == _BLOCKS - 2:  # of rows that came long before
            raw.fill(5, 3, nbytes=7)
            nbytes[5:8] = 7
    raw.shift(1000)
    table = raw.concatenate()
    expected = {"start_ns": start + 1000, "device": device, "nbytes": nbytes, "tie": tie}
    for name, column in table.items():
        assert column.dtype == COLUMNS[name][0]
        assert (column == expected.get(name, _expected(name, rows))).all(), name


def test_ends_of_arrows_and_totals_keep_their_order() -> None:
    raw, count = RawColumns(), _ROWS_EACH * _BLOCKS
    for first in range(0, count, _ROWS_EACH):
        rows = np.arange(first, first + _ROWS_EACH)
        raw.append_memory(rows, address=rows * 2)
        raw.append_flows(
            flow_id=rows, category_id=rows % 5, is_end=rows % 2, is_backward=rows % 3,
            track_id=rows % 7, time_ns=rows * 3,
        )  # fmt: skip
    rows = np.arange(count)
    memory, flows = raw.concatenate_memory(), raw.concatenate_flows()
    assert (memory["row"] == rows).all()
    assert (memory["address"] == rows * 2).all()
    assert (memory["allocated_nbytes"] == -1).all()
    assert (flows["time_ns"] == rows * 3).all()
    assert (flows["is_end"] == (rows % 2 == 1)).all()
    assert flows["is_end"].dtype == bool


_PEAK = """
import sys
import numpy as np
from tidy.trace import RawColumns
from tidy.trace.raw_columns import COLUMNS

def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))

raw, before = RawColumns(), peak()
for at in range(400):
    raw.append(4000, **{name: np.full(4000, at % 100, kind) for name, (kind, _) in COLUMNS.items()})
table = raw.concatenate()
print((peak() - before) / sum(column.nbytes for column in table.values()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
def test_blocks_are_freed_while_columns_are_made() -> None:
    said = subprocess.run([sys.executable, "-c", _PEAK], capture_output=True, text=True, check=True)
    assert float(said.stdout) < 1.5
