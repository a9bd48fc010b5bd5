"""An SQLite file, read table by table in chunks of columns.

Which tables and columns there are differs by the version of the tool that wrote them, so both are
looked up before anything is selected. Values of a wrong type are read as SQLite casts them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from ...errors import TraceFormatError, UnreadableFile
from ..container import Progress

CHUNK_ROWS = 1 << 16
LATEST_NS = 1 << 61  # what lies beyond it is no time
_WAIT_SECONDS = 1.0
_MOST_KEYS = 500  # SQLite allows 999 parameters in a statement

Columns = dict[str, NDArray[np.int64]]


class Database:
    """The file at `file`, opened for reading only; messages call it `path`.

    Attributes:
        tables: the columns of each table, by its name.
        warnings: sentences about what could not be read.

    Raises:
        TraceFormatError: the file cannot be opened, or is not a database.
    """

    def __init__(self, file: str, path: str, progress: Progress | None = None) -> None:
        self.path = path
        self.warnings: list[str] = []
        self._progress = progress
        self._nbytes = Path(file).stat().st_size
        self._rows_read = self._rows_in_all = 0
        self._connection, self.tables = self._open(file)

    def close(self) -> None:
        self._connection.close()

    def _open(self, file: str) -> tuple[sqlite3.Connection, dict[str, frozenset[str]]]:
        """Open the file, without its journal where that keeps it from being read."""
        try:
            return self._connect(file, "mode=ro")
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                what = "locked by another program; wait until it has finished writing"
                raise UnreadableFile(self.path, what) from error
        except sqlite3.DatabaseError as error:
            raise self.damaged(error) from error
        try:
            found = self._connect(file, "mode=ro&immutable=1")
        except sqlite3.Error as error:
            raise self.damaged(error) from error
        self.warnings.append("read without its journal: the last changes may be missing")
        return found

    def _connect(
        self, file: str, options: str
    ) -> tuple[sqlite3.Connection, dict[str, frozenset[str]]]:
        posix = Path(file).absolute().as_posix()
        slash = "" if posix.startswith("/") else "/"  # before a drive of Windows
        uri = f"file://{slash}{quote(posix)}?{options}"
        connection = sqlite3.connect(uri, uri=True, timeout=_WAIT_SECONDS)
        connection.text_factory = _text
        try:
            connection.execute("PRAGMA trusted_schema = OFF")  # the file may be anybody's
            return connection, _tables(connection)
        except sqlite3.Error:
            connection.close()
            raise
        except UnicodeDecodeError as error:  # Python reads what SQLite complains of as UTF-8
            connection.close()
            raise sqlite3.DatabaseError("its names are not text") from error

    def damaged(self, error: sqlite3.Error) -> TraceFormatError:
        reason = str(error).replace("\n", " ")
        what = f"an SQLite database that is damaged, cut off or encrypted ({reason})"
        return TraceFormatError(self.path, f"this is {what}; copy or export it again")

    def has(self, table: str, *columns: str) -> bool:
        return table in self.tables and self.tables[table].issuperset(columns)

    def expect(self, tables: Iterable[str]) -> None:
        """Count the rows to come, for the progress that is shown."""
        for table in self.tables.keys() & tables:
            with suppress(sqlite3.Error):
                query = f'SELECT max(rowid) FROM "{table}"'  # noqa: S608
                ((last,),) = self._connection.execute(query)
                if isinstance(last, int) and 0 < last < 1 << 40:
                    self._rows_in_all += last

    def durations(self, table: str, column: str, condition: str = "1") -> dict[int, float]:
        """Return the nanoseconds that rows take in all, by the value of a column.

        A row without usable times takes 0. There are no values if the table cannot be read.

        Args:
            condition: SQL that is true for the rows that count.
        """
        if not self.has(table, "start", "end", column):
            return {}
        start, end = (self._integer(table, name, 0) for name in ("start", "end"))
        usable = f"{start} >= 0 AND {end} > {start} AND {end} < {LATEST_NS}"
        query = (
            f"SELECT {self._integer(table, column, 0)}, "  # noqa: S608
            f"total(CASE WHEN {usable} THEN {end} - {start} END) "
            f'FROM "{table}" WHERE {condition} GROUP BY 1'
        )
        with suppress(sqlite3.Error):
            return dict(self._connection.execute(query))
        return {}

    def chunks(
        self, table: str, columns: Mapping[str, int], raw: Iterable[str] = ()
    ) -> Iterator[tuple[Columns, dict[str, list[Any]]]]:
        """Return the rows of a table in the order they were written.

        Of a damaged table the rows before the damage are given, and a warning is added.

        Args:
            table: the table; there are no chunks where the file does not have it.
            columns: columns of integers, each with its default for rows and tables without it.
            raw: further columns, as Python objects; None where they are missing.

        Yields:
            (columns as arrays, further columns as lists), all of one length.
        """
        if table not in self.tables:
            return
        raw = tuple(raw)
        integers = [self._integer(table, name, default) for name, default in columns.items()]
        others = [f'"{name}"' if self.has(table, name) else "NULL" for name in raw]
        query = f'SELECT {", ".join([*integers, *others])} FROM "{table}"'  # noqa: S608
        for rows in self._fetch(query, table):
            lists = list(zip(*rows, strict=True))
            arrays = {
                name: np.array(values, np.int64)
                for name, values in zip(columns, lists[: len(columns)], strict=True)
            }
            rest = map(list, lists[len(columns) :])
            yield arrays, dict(zip(raw, rest, strict=True))
            self._rows_read += len(rows)
            if self._progress is not None and self._rows_in_all:
                share = min(self._rows_read / self._rows_in_all, 1.0)
                self._progress(int(self._nbytes * share))

    def _integer(self, table: str, name: str, default: int) -> str:
        if not self.has(table, name):
            return str(default)
        return f'CAST(ifnull("{name}", {default}) AS INTEGER)'

    def _fetch(self, query: str, table: str) -> Iterator[list[tuple[Any, ...]]]:
        total = 0
        problem: sqlite3.Error | None = None
        cursor: Iterator[tuple[Any, ...]] = iter(())
        try:
            cursor = self._connection.execute(query)
        except sqlite3.Error as error:
            problem = error
        while True:
            rows: list[tuple[Any, ...]] = []
            try:
                rows.extend(islice(cursor, CHUNK_ROWS))  # keeps the rows before an error
            except sqlite3.Error as error:
                problem = error
            if rows:
                yield rows
            total += len(rows)
            if problem is not None:
                self.warnings.append(f"{table} is damaged after {total:,} rows ({problem})")
            if problem is not None or not rows:
                return

    def select(self, table: str, columns: Iterable[str]) -> list[dict[str, Any]]:
        """Return all rows of a small table, each by column; None for columns that it does
        not have.
        """
        return [
            dict(zip(raw, values, strict=True))
            for _, raw in self.chunks(table, {}, columns)
            for values in zip(*raw.values(), strict=True)
        ]

    def texts(self, table: str, key: str, value: str, wanted: Iterable[int]) -> dict[int, str]:
        """Return the strings with the given keys, from a table of strings."""
        keys = sorted(wanted)
        found: dict[int, str] = {}
        if not self.has(table, key, value):
            return found
        for first in range(0, len(keys), _MOST_KEYS):
            some = keys[first : first + _MOST_KEYS]
            marks = ",".join("?" * len(some))
            query = f'SELECT "{key}", "{value}" FROM "{table}" WHERE "{key}" IN ({marks})'  # noqa: S608
            try:
                found.update((k, str(v)) for k, v in self._connection.execute(query, some))
            except sqlite3.Error as error:
                self.warnings.append(f"the table {table} is damaged: {error}")
        return found


def _tables(connection: sqlite3.Connection) -> dict[str, frozenset[str]]:
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return {name: _columns(connection, name) for (name,) in names}


def _columns(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    try:
        rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
    except sqlite3.OperationalError:  # a virtual table whose module is not there
        rows = []
    return frozenset(name for (name,) in rows)


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
