"""Raw columns: what a reader hands over, one row an event in any order.

A reader appends blocks of rows that share a kind; columns that a block leaves out take their
default. `concatenate` gives each column as one array and frees its blocks on the way, so the peak
is the table plus one column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .memory import MEMORY_COLUMNS

Column = NDArray[Any]
Rows = NDArray[np.int64]
Blocks = dict[str, list[Column]]

# name -> (dtype, default). Units stand in names; identifiers have none.
COLUMNS: Mapping[str, tuple[type[np.generic], int]] = {
    "name_id": (np.int32, 0),
    "kind": (np.uint8, 0),
    "start_ns": (np.int64, 0),
    "duration_ns": (np.int64, 0),
    "track_id": (np.int32, 0),
    "tie": (np.int64, -1),  # `Ev Idx`: the order among equal starts
    "external_id": (np.int64, 0),
    "correlation": (np.int64, 0),
    "sequence_nr": (np.int64, -1),
    "forward_thread": (np.int32, 0),  # PyTorch's small thread id, 0 for none
    "inputs_id": (np.int32, -1),  # index into Strings.signatures
    "stack_id": (np.int32, -1),  # index into Strings.stacks: `Call stack` of 2021 files
    "device": (np.int32, -1),
    "stream": (np.int64, -1),
    "nbytes": (np.int64, 0),
}


class Track(NamedTuple):
    """Where events happen: (process id, thread id) on the host, (device, stream) on a device."""

    pid: int | str
    tid: int | str


class Interner(dict[Any, int]):
    """A dict that numbers its keys in order of first use; look-ups of known keys stay in C."""

    def __missing__(self, key: Any) -> int:
        self[key] = number = len(self)
        return number


@dataclass(slots=True)
class Strings:
    """The string tables that the id columns point into.

    `texts` holds raw JSON of inputs; a signature is four indexes into it (dims, types, concrete
    inputs, strides), because an op is called with few distinct signatures many times. That of a
    collective has a fifth one, see `Inputs.collective`.
    """

    names: Interner = field(default_factory=Interner)
    tracks: Interner = field(default_factory=Interner)
    texts: Interner = field(default_factory=Interner)
    signatures: Interner = field(default_factory=Interner)
    stacks: Interner = field(default_factory=Interner)


# Ends of arrows (`ph` s or f), needed where device rows carry no correlation, and where several
# threads count sequence numbers.
FLOW_COLUMNS: Mapping[str, type[np.generic]] = {
    "flow_id": np.int64,
    "category_id": np.int32,
    "is_end": np.bool_,
    "is_backward": np.bool_,
    "track_id": np.int32,
    "time_ns": np.int64,
}


class RawColumns:
    """Blocks of rows in the order in which a reader met them."""

    def __init__(self, strings: Strings | None = None) -> None:
        self.strings = Strings() if strings is None else strings
        self._counts: list[int] = []
        self._flow_counts: list[int] = []
        # A block is an array, or the one value that all its rows have.
        self._blocks: Blocks = {name: [] for name in COLUMNS}
        self._flow_blocks: Blocks = {name: [] for name in FLOW_COLUMNS}
        self._memory_blocks: Blocks = {name: [] for name in MEMORY_COLUMNS}

    @property
    def row_count(self) -> int:
        """How many rows there are; the next row to be appended has this number."""
        return sum(self._counts)

    def append(self, count: int, **columns: ArrayLike) -> None:
        """Add `count` rows; a scalar stands for all of them, a missing column for its default."""
        for name, (dtype, default) in COLUMNS.items():
            self._blocks[name].append(np.asarray(columns.get(name, default), dtype))
        self._counts.append(count)

    def append_flows(self, **columns: ArrayLike) -> None:
        """Add ends of arrows; every column of FLOW_COLUMNS, shape (n,)."""
        for name, dtype in FLOW_COLUMNS.items():
            self._flow_blocks[name].append(np.asarray(columns[name], dtype))
        self._flow_counts.append(len(self._flow_blocks["flow_id"][-1]))

    def append_memory(self, row: ArrayLike, **columns: ArrayLike) -> None:
        """Add what memory events say of the totals, each of a row here; see `MemoryTable`."""
        rows = np.asarray(row, np.int64)
        for name, default in MEMORY_COLUMNS.items():
            column = rows if name == "row" else np.asarray(columns.get(name, default), np.int64)
            self._memory_blocks[name].append(np.broadcast_to(column, rows.shape))

    def clear(self) -> None:
        """Forget all rows; the texts stay."""
        self._counts, self._flow_counts = [], []
        tables = self._blocks, self._flow_blocks, self._memory_blocks
        for blocks in (blocks for table in tables for blocks in table.values()):
            blocks.clear()

    def shift(self, by_ns: int) -> None:
        """Add `by_ns` to every start, and to the time of every arrow."""
        for block in (*self._blocks["start_ns"], *self._flow_blocks["time_ns"]):
            np.add(block, np.int64(by_ns), out=block)

    def map_kinds(self, kind_of: NDArray[np.uint8]) -> None:
        """Replace each row's kind by `kind_of[kind, name_id]`; shape (kinds, names)."""
        names = self._blocks["name_id"]
        kinds = self._blocks["kind"]
        self._blocks["kind"] = [kind_of[k, n] for k, n in zip(kinds, names, strict=True)]

    def join(self) -> tuple[dict[str, Column], dict[str, Column]]:
        """Every column of the rows and of the arrows as one array; what is changed there stays."""
        counts, flow_counts = sum(self._counts), sum(self._flow_counts)
        table, flows = self.concatenate(), self.concatenate_flows()
        self._blocks = {name: [column] for name, column in table.items()}
        self._flow_blocks = {name: [column] for name, column in flows.items()}
        self._counts, self._flow_counts = [counts], [flow_counts]
        return table, flows

    def concatenate(self) -> dict[str, Column]:
        """Every column as one array; the blocks are gone afterwards."""
        dtypes = {name: dtype for name, (dtype, _) in COLUMNS.items()}
        return _concatenate(self._blocks, self._counts, dtypes)

    def concatenate_flows(self) -> dict[str, Column]:
        """Every column of the arrows as one array; the blocks are gone afterwards."""
        return _concatenate(self._flow_blocks, self._flow_counts, FLOW_COLUMNS)

    def concatenate_memory(self) -> dict[str, Column]:
        """Every column of what memory events say; the blocks are gone afterwards."""
        dtypes = dict.fromkeys(MEMORY_COLUMNS, np.int64)
        counts = [len(block) for block in self._memory_blocks["row"]]
        return _concatenate(self._memory_blocks, counts, dtypes)


def _concatenate(
    blocks: Blocks, counts: list[int], dtypes: Mapping[str, type[np.generic]]
) -> dict[str, Column]:
    table: dict[str, Column] = {}
    for name, dtype in dtypes.items():
        column: Column = np.empty(sum(counts), dtype)
        first = 0
        for count, block in zip(counts, blocks.pop(name), strict=True):
            column[first : first + count] = block
            first += count
        table[name] = column
    return table
