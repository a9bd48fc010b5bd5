"""Columns that come in blocks of rows.

Some thousand blocks a column would leave holes in the memory of the process, of which nothing goes
back to the system. So blocks of many rows are put together as they come, on pages of their own.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values: TypeAlias = NDArray[Any]
# The first row, the number of rows, and their values, or the one value that all of them have.
Block: TypeAlias = tuple[int, int, Values]

_ROWS_TOGETHER = 1 << 18
# What is smaller is not worth a call of the system.
_LEAST_NBYTES = 1 << 18
_HAS_PRIVATE, _HAS_HUGE = hasattr(mmap, "MAP_PRIVATE"), hasattr(mmap, "MADV_HUGEPAGE")


def empty_pages(count: int, dtype: np.dtype[Any] | type[np.generic]) -> Values:
    """Return an array of shape (count,) without content, whose memory the system gets back at once
    when the array is freed.

    What `malloc` gives may lie between other arrays, if it has less than 32 MB, and then stays with
    the process.
    """
    nbytes = count * np.dtype(dtype).itemsize
    if nbytes < _LEAST_NBYTES:
        return np.empty(count, dtype)
    # Windows has no such flags.
    flags = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if _HAS_PRIVATE else {}
    try:
        pages = mmap.mmap(-1, nbytes, **flags)
    except OSError:  # too many such arrays, or too little memory, which numpy says in its own way
        return np.empty(count, dtype)
    if _HAS_HUGE:
        with suppress(OSError):
            pages.madvise(mmap.MADV_HUGEPAGE)  # as numpy does: few page faults
    return np.frombuffer(pages, dtype)


def reordered(column: Values, order: NDArray[np.integer[Any]]) -> Values:
    """Return `column[order]`, on pages of its own; no index is negative."""
    target = empty_pages(len(order), column.dtype)
    np.take(column, order, out=target, mode="clip")  # without clipping numpy takes a copy, too
    return target


class Blocks:
    """The blocks of some columns of one table.

    Args:
        columns: the type of each column, and what it has where no block says.
    """

    def __init__(self, columns: Mapping[str, tuple[type[np.generic], int]]) -> None:
        self._columns = columns
        self.count = 0  # of rows
        self._of: dict[str, list[Block]] = {name: [] for name in columns}
        # How many rows, and of each column how many blocks, need not be put together any more.
        self._settled_rows = 0
        self._settled = dict.fromkeys(columns, 0)

    def append(self, count: int, columns: Mapping[str, ArrayLike]) -> None:
        """Add `count` rows; a scalar stands for all of them."""
        if self.count - self._settled_rows >= _ROWS_TOGETHER:
            self._put_together()
        self.count += count
        self.fill(self.count - count, count, columns)

    def fill(self, first: int, count: int, columns: Mapping[str, ArrayLike]) -> None:
        """Set columns of the `count` rows from `first` on."""
        for name, column in columns.items():
            self._of[name].append((first, count, np.asarray(column, self._columns[name][0])))

    @property
    def names(self) -> Iterable[str]:
        """The names of all columns."""
        return self._columns.keys()

    def given(self) -> Iterable[str]:
        """Return the names of the columns that any block has."""
        return [name for name, blocks in self._of.items() if blocks]

    def shift(self, name: str, by: int) -> None:
        """Add `by` to a column, where blocks have it."""
        for _, _, block in self._of[name]:
            np.add(block, np.int64(by), out=block)

    def replace(self, name: str, column: Values) -> None:
        """Give all rows the values of `column`, shape (rows,)."""
        self._of[name], self._settled[name] = [(0, self.count, column)], 1

    def whole(self, name: str) -> Values:
        """Return a column as one array."""
        return self._joined(name, self._of[name], 0, self.count)

    def take(self, name: str) -> Values:
        """Return a column as one array; its blocks are gone afterwards."""
        return self._joined(name, self._of.pop(name), 0, self.count)

    def _put_together(self) -> None:
        first, count = self._settled_rows, self.count - self._settled_rows
        for name, blocks in self._of.items():
            late = blocks[self._settled[name] :]
            if len(late) > 1 and all(start >= first for start, _, _ in late):
                joined = self._joined(name, late, first, count)
                blocks[self._settled[name] :] = [(first, count, joined)]
            self._settled[name] = len(blocks)
        self._settled_rows = self.count

    def _joined(self, name: str, blocks: list[Block], begin: int, count: int) -> Values:
        """Return the rows from `begin` on; where blocks overlap the later one counts."""
        dtype, default = self._columns[name]
        column = empty_pages(count, dtype)
        given = begin  # all rows before have a value
        for first, size, _ in blocks:
            if first <= given:
                given = max(given, first + size)
        if given < begin + count:
            column.fill(default)
        for first, size, block in blocks:
            column[first - begin : first - begin + size] = block
        return column
