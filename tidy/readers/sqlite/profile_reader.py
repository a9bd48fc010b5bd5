"""What the readers of both tools share: device work, strings, and how a trace is made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from ...errors import TraceFormatError
from ...trace import Capability, Trace, TraceInfo, build_trace
from ...trace.kinds import EventKind
from ...trace.raw_columns import Column
from ..refine import refine
from .activities import Activities
from .cupti_names import memcpy_name
from .database import Columns, Database
from .ranges import Ranges

_DEVICE = {"start": 0, "end": 0, "deviceId": 0, "streamId": -1, "correlationId": 0}
_PROPERTIES = (
    "id", "name", "totalGlobalMem", "computeMajor", "computeMinor", "numSms", "warpSize",
)  # fmt: skip
_NO_TYPES = (
    "NVTX ranges carry shapes but no dtypes, so rules that look at the inputs of operators are not "
    "checked; torch.profiler records both"
)


class ProfileReader:
    """Reads the tables of one profile; a subclass knows those of one tool.

    Attributes:
        strings: the table of strings, and its columns with their numbers and their texts.
        process: the column that tells the process of a device row, and its default.
        how_to_record: what an error message advises.
        options: what to give the tool so that its next recording has a capability.
        memory: kinds of memory by the numbers of the tool.
    """

    strings: ClassVar[tuple[str, str, str]]
    process: ClassVar[Mapping[str, int]] = {}
    how_to_record: ClassVar[str]
    options: ClassVar[Mapping[Capability, str]]
    memory: Mapping[int, str]

    def __init__(self, database: Database) -> None:
        self.database = database
        self.activities = Activities()
        self.ranges = Ranges(self.activities)

    def read_tables(self) -> None:
        """Add everything to `activities` and `ranges`."""
        raise NotImplementedError

    def notes(self) -> Iterable[str]:
        """Sentences of the tool itself about its recording."""
        return ()

    def header(self) -> dict[str, Any]:
        """Return the header of the trace, with Kineto's keys."""
        raise NotImplementedError

    def read(self) -> Trace:
        """Return the trace in the database.

        Raises:
            TraceFormatError: the database holds no events.
        """
        self.read_tables()
        header, path = self.header(), self.database.path
        self.ranges.write()
        notes = list(self.notes())
        warnings = [*self.database.warnings, *self.activities.warnings(), *notes]
        if not self.activities.row_count:
            problem = "this profile holds no NVTX ranges, CUDA calls or device work"
            raise TraceFormatError(path, "; ".join([problem, *warnings, self.how_to_record]))
        if not self.ranges.op_count:
            warnings.append(f"no operators in this profile; {self.how_to_record}")
        elif self.activities.raw.strings.signatures:
            warnings.append(_NO_TYPES)
        refine(self.activities.raw)
        # Rules that need shapes read dtypes, too, and without any would call every run clean.
        lacks = frozenset({Capability.SHAPES})
        return build_trace(
            self.activities.raw, TraceInfo(path, header, warnings, lacks, tool_options=self.options)
        )

    def texts(self, ids: Iterable[int] | Column) -> dict[int, str]:
        """Return the strings with these numbers; numbers below 0 stand for no string."""
        numbers = np.unique(np.fromiter(ids, np.int64))
        return self.database.texts(*self.strings, numbers[numbers >= 0].tolist())

    def device_rows(self, *tables: str, **more: int) -> Iterator[Columns]:
        """Return the rows of tables of device work in chunks, with `more` columns and their
        defaults.
        """
        for table in tables:
            for columns, _ in self.database.chunks(table, {**_DEVICE, **self.process, **more}):
                yield columns

    def add_copies(self, columns: Columns) -> None:
        """Add copies; columns copyKind, srcKind and dstKind have CUPTI's numbers."""
        kinds = (np.clip(columns[name], 0, 255) for name in ("copyKind", "srcKind", "dstKind"))
        copy, source, target = kinds
        numbers = (copy << 16) + (source << 8) + target
        self.activities.add_device_work(
            EventKind.Memcpy,
            columns,
            numbers,
            lambda n: memcpy_name(n >> 16, self._memory((n >> 8) & 255), self._memory(n & 255)),
        )

    def add_fills(self, columns: Columns, kinds: Column) -> None:
        """Add fills of memory of these kinds."""
        self.activities.add_device_work(
            EventKind.Memset, columns, kinds, lambda kind: f"Memset ({self._memory(kind)})"
        )

    def _memory(self, kind: int) -> str:
        return self.memory.get(kind, "Unknown")


def device_properties(devices: Iterable[Iterable[Any]]) -> dict[str, Any]:
    """Return a header with `deviceProperties`, if there are devices; of each what `_PROPERTIES`
    names.
    """
    entries = [dict(zip(_PROPERTIES, values, strict=True)) for values in devices]
    return {"deviceProperties": entries} if entries else {}
