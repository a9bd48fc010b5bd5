"""Raw columns: what a reader hands over, one row an event in any order.

A reader appends blocks of rows; columns that a block leaves out take their default. `concatenate`
gives each column as one array and frees its blocks on the way, so the peak is the table plus one
column.
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
# The first row and the number of rows, with their values, or the one value that all of them have.
Block = tuple[int, int, Column]
Blocks = dict[str, list[Block]]

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
        self.clear()

    def clear(self) -> None:
        """Forget all rows; the texts stay."""
        self._count = self._flow_count = self._memory_count = 0
        self._blocks: Blocks = {name: [] for name in COLUMNS}
        self._flow_blocks: Blocks = {name: [] for name in FLOW_COLUMNS}
        self._memory_blocks: Blocks = {name: [] for name in MEMORY_COLUMNS}

    @property
    def row_count(self) -> int:
        """How many rows there are; the next row to be appended has this number."""
        return self._count

    def append(self, count: int, **columns: ArrayLike) -> None:
        """Add `count` rows; a scalar stands for all of them, a missing column for its default."""
        self._count += count
        self.fill(self._count - count, count, **columns)

    def fill(self, first: int, count: int, **columns: ArrayLike) -> None:
        """Set columns of the `count` rows from `first` on, which were appended without them."""
        for name, column in columns.items():
            self._blocks[name].append((first, count, np.asarray(column, COLUMNS[name][0])))

    def append_flows(self, **columns: ArrayLike) -> None:
        """Add ends of arrows; every column of FLOW_COLUMNS, shape (n,)."""
        count = np.size(columns["flow_id"])
        for name, dtype in FLOW_COLUMNS.items():
            block = np.asarray(columns[name], dtype)
            self._flow_blocks[name].append((self._flow_count, count, block))
        self._flow_count += count

    def append_memory(self, row: ArrayLike, **columns: ArrayLike) -> None:
        """Add what memory events say of the totals, each of a row here; see `MemoryTable`."""
        count = np.size(row)
        for name, default in MEMORY_COLUMNS.items():
            block = np.asarray(row if name == "row" else columns.get(name, default), np.int64)
            self._memory_blocks[name].append((self._memory_count, count, block))
        self._memory_count += count

    def shift(self, by_ns: int) -> None:
        """Add `by_ns` to every start, and to the time of every arrow."""
        for _, _, block in (*self._blocks["start_ns"], *self._flow_blocks["time_ns"]):
            np.add(block, np.int64(by_ns), out=block)

    def map_kinds(self, kind_of: NDArray[np.uint8]) -> None:
        """Replace each row's kind by `kind_of[kind, name_id]`; shape (kinds, names)."""
        kinds, names = self._whole("kind"), self._whole("name_id")
        self._blocks["kind"] = [(0, self._count, kind_of[kinds, names])]

    def join(self) -> tuple[dict[str, Column], dict[str, Column]]:
        """Return every column of the rows and of the arrows as one array; what is changed there
        stays.
        """
        table, flows = self.concatenate(), self.concatenate_flows()
        self._blocks = {name: [(0, self._count, column)] for name, column in table.items()}
        self._flow_blocks = {name: [(0, self._flow_count, each)] for name, each in flows.items()}
        return table, flows

    def concatenate(self) -> dict[str, Column]:
        """Return every column as one array; the blocks are gone afterwards."""
        return {name: self._whole(name, is_last=True) for name in COLUMNS}

    def concatenate_given(self) -> dict[str, Column]:
        """Return those columns that do not have their default everywhere; the blocks are
        gone then.
        """
        return {name: self._whole(name, is_last=True) for name in COLUMNS if self._blocks[name]}

    def concatenate_flows(self) -> dict[str, Column]:
        """Return every column of the arrows as one array; the blocks are gone afterwards."""
        return {
            name: _joined(self._flow_blocks.pop(name), self._flow_count, dtype)
            for name, dtype in FLOW_COLUMNS.items()
        }

    def concatenate_memory(self) -> dict[str, Column]:
        """Return every column of what memory events say; the blocks are gone afterwards."""
        return {
            name: _joined(self._memory_blocks.pop(name), self._memory_count, np.int64)
            for name in MEMORY_COLUMNS
        }

    def _whole(self, name: str, is_last: bool = False) -> Column:
        blocks = self._blocks.pop(name) if is_last else self._blocks[name]
        return _joined(blocks, self._count, *COLUMNS[name])


def _joined(blocks: list[Block], count: int, dtype: type[np.generic], default: int = 0) -> Column:
    column: Column = np.full(count, default, dtype)
    for first, size, block in blocks:
        column[first : first + size] = block
    return column
