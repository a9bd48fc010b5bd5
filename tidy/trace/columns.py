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

Column = NDArray[Any]

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
    inputs, strides), because an op is called with few distinct signatures many times.
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
    """Blocks of rows as a reader met them."""

    def __init__(self) -> None:
        self.strings = Strings()
        self.count = 0
        self._blocks: dict[str, list[Column]] = {name: [] for name in COLUMNS}
        self._flow_blocks: dict[str, list[Column]] = {name: [] for name in FLOW_COLUMNS}

    def append(self, count: int, **columns: ArrayLike) -> None:
        """Add `count` rows; scalars are repeated, missing columns take their default."""
        for name, (dtype, default) in COLUMNS.items():
            value = np.asarray(columns.get(name, default), dtype=dtype)
            self._blocks[name].append(np.full(count, value) if value.ndim == 0 else value)
        self.count += count

    def append_flows(self, **columns: ArrayLike) -> None:
        """Add ends of arrows; every column of FLOW_COLUMNS, shape (n,)."""
        for name, dtype in FLOW_COLUMNS.items():
            self._flow_blocks[name].append(np.asarray(columns[name], dtype))

    def blocks(self, name: str) -> list[Column]:
        """The blocks of one column so far."""
        return self._blocks[name]

    def shift(self, name: str, by: np.int64) -> None:
        """Add `by` to every value of a column (for `start_ns` also to the times of flows)."""
        flows = self._flow_blocks["time_ns"] if name == "start_ns" else []
        for block in (*self._blocks[name], *flows):
            np.add(block, by, out=block)

    def map_kinds(self, kind_of: NDArray[np.uint8]) -> None:
        """Replace each row's kind by `kind_of[kind, name_id]`; shape (kinds, names)."""
        for kinds, names in zip(self._blocks["kind"], self._blocks["name_id"], strict=True):
            kinds[:] = kind_of[kinds, names]

    def concatenate(self) -> dict[str, Column]:
        """Every column as one array; the blocks are gone afterwards."""
        dtypes = {name: dtype for name, (dtype, _) in COLUMNS.items()}
        return _concatenate(self._blocks, dtypes)

    def concatenate_flows(self) -> dict[str, Column]:
        return _concatenate(self._flow_blocks, FLOW_COLUMNS)


def _concatenate(
    blocks: dict[str, list[Column]], dtypes: Mapping[str, type[np.generic]]
) -> dict[str, Column]:
    table: dict[str, Column] = {}
    for name, dtype in dtypes.items():
        parts = blocks.pop(name)
        table[name] = np.concatenate(parts) if parts else np.empty(0, dtype)
    return table
