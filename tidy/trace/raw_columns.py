"""Raw columns: what a reader hands over, one row an event in any order.

A reader appends blocks of rows; columns that a block leaves out take their default. `concatenate`
gives each column as one array and frees its blocks on the way, so the peak is the table, or the
blocks, plus one column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .blocks import Blocks
from .memory import MEMORY_COLUMNS

Column = NDArray[Any]
Rows = NDArray[np.int64]

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
FLOW_COLUMNS: Mapping[str, tuple[type[np.generic], int]] = {
    "flow_id": (np.int64, 0),
    "category_id": (np.int32, 0),
    "is_end": (np.bool_, 0),
    "is_backward": (np.bool_, 0),
    "track_id": (np.int32, 0),
    "time_ns": (np.int64, 0),
}
_MEMORY = {name: (np.int64, default) for name, default in MEMORY_COLUMNS.items()}


class RawColumns:
    """Blocks of rows in the order in which a reader met them."""

    def __init__(self, strings: Strings | None = None) -> None:
        self.strings = Strings() if strings is None else strings
        self.clear()

    def clear(self) -> None:
        """Forget all rows; the texts stay."""
        self._rows, self._flows = Blocks(COLUMNS), Blocks(FLOW_COLUMNS)
        self._memory = Blocks(_MEMORY)

    @property
    def row_count(self) -> int:
        """How many rows there are; the next row to be appended has this number."""
        return self._rows.count

    def append(self, count: int, **columns: ArrayLike) -> None:
        """Add `count` rows; a scalar stands for all of them, a missing column for its default."""
        self._rows.append(count, columns)

    def fill(self, first: int, count: int, **columns: ArrayLike) -> None:
        """Set columns of the `count` rows from `first` on, which were appended without them."""
        self._rows.fill(first, count, columns)

    def append_flows(self, **columns: ArrayLike) -> None:
        """Add ends of arrows; every column of FLOW_COLUMNS, shape (n,)."""
        self._flows.append(np.size(columns["flow_id"]), columns)

    def append_memory(self, row: ArrayLike, **columns: ArrayLike) -> None:
        """Add what memory events say of the totals, each of a row here; see `MemoryTable`."""
        self._memory.append(np.size(row), {"row": row, **columns})

    def shift(self, by_ns: int) -> None:
        """Add `by_ns` to every start, and to the time of every arrow."""
        self._rows.shift("start_ns", by_ns)
        self._flows.shift("time_ns", by_ns)

    def map_kinds(self, kind_of: NDArray[np.uint8]) -> None:
        """Replace each row's kind by `kind_of[kind, name_id]`; shape (kinds, names)."""
        kinds, names = self._rows.whole("kind"), self._rows.whole("name_id")
        self._rows.replace("kind", kind_of[kinds, names])

    def rename(self, old: Iterable[str], new: str) -> None:
        """Give the rows that have one of the `old` names the `new` one."""
        names = self.strings.names
        old_ids, new_id = [names[name] for name in old], names[new]
        name_ids = self._rows.whole("name_id")
        renamed = np.where(np.isin(name_ids, old_ids), new_id, name_ids)
        self._rows.replace("name_id", renamed.astype(name_ids.dtype))

    def join(self) -> tuple[dict[str, Column], dict[str, Column]]:
        """Return every column of the rows and of the arrows as one array; what is changed there
        stays.
        """
        tables = []
        for blocks in (self._rows, self._flows):
            table = {name: blocks.whole(name) for name in blocks.names}
            for name, column in table.items():
                blocks.replace(name, column)
            tables.append(table)
        return tables[0], tables[1]

    def concatenate(self) -> dict[str, Column]:
        """Return every column as one array; the blocks are gone afterwards."""
        return {name: self._rows.take(name) for name in COLUMNS}

    def concatenate_given(self) -> dict[str, Column]:
        """Return those columns that do not have their default everywhere; the blocks are
        gone then.
        """
        return {name: self._rows.take(name) for name in self._rows.given()}

    def concatenate_flows(self) -> dict[str, Column]:
        """Return every column of the arrows as one array; the blocks are gone afterwards."""
        return {name: self._flows.take(name) for name in FLOW_COLUMNS}

    def concatenate_memory(self) -> dict[str, Column]:
        """Return every column of what memory events say; the blocks are gone afterwards."""
        return {name: self._memory.take(name) for name in _MEMORY}
