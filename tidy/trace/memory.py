"""What `[memory]` events say beyond their bytes, in a table of its own.

Most traces have no such events, and where they do they are a small part of the rows: columns of the
trace would cost every event memory for what few have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# name -> its default, where an event does not say. `row` is given for each.
MEMORY_COLUMNS: Mapping[str, int] = {
    "row": 0,
    "address": 0,
    "allocated_nbytes": -1,
    "reserved_nbytes": -1,
}


@dataclass(frozen=True, slots=True)
class MemoryTable:
    """One entry for each allocation, free and failed allocation that says more than its bytes.

    Attributes:
        row: the row of the event in the trace, which has its time, its bytes and its device.
        address: where the memory is, 0 where the file does not say.
        allocated_nbytes: what tensors hold on that device after the event (`Total Allocated`),
            -1 where the file does not say.
        reserved_nbytes: what the caching allocator holds of that device's memory then, in use or
            not (`Total Reserved`), -1 where the file does not say. It is always 0 for the CPU.
    """

    row: NDArray[np.int64]
    address: NDArray[np.int64]
    allocated_nbytes: NDArray[np.int64]
    reserved_nbytes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.row)

    def of(self, rows: Iterable[int]) -> MemoryTable:
        """Return the entries of these rows of the trace."""
        wanted = np.isin(self.row, np.fromiter(rows, np.int64))
        return MemoryTable(*(getattr(self, name)[wanted] for name in MEMORY_COLUMNS))


def memory_table(columns: Mapping[str, NDArray[np.int64]], order: NDArray[np.int32]) -> MemoryTable:
    """Return the table of a trace, by row; `order` has for each row the one that a reader gave."""
    rows = columns["row"]
    if len(rows):
        new_row = np.empty(len(order), np.int32)
        new_row[order] = np.arange(len(order), dtype=np.int32)
        rows = new_row[rows].astype(np.int64)
    by_row = np.argsort(rows, kind="stable")
    parts = [rows[by_row], *(columns[name][by_row] for name in list(MEMORY_COLUMNS)[1:])]
    for part in parts:
        part.setflags(write=False)
    return MemoryTable(*parts)
