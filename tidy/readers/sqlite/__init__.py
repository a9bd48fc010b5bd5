"""Profiles kept in SQLite databases: those of nvprof, and exports of Nsight Systems.

What is read of them becomes a `Trace` like that of a file of PyTorch's own profiler: ranges that
`torch.autograd.profiler.emit_nvtx` pushed are operators, other NVTX ranges are annotations.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from ...errors import TraceFormatError, UnreadableFile
from ...trace import Trace
from ..container import Progress
from .database import Database
from .nsys import NsysReader
from .nvprof import NvprofReader
from .profile_reader import ProfileReader

__all__ = ["read_nsys", "read_nvprof", "read_sqlite"]


def read_sqlite(file: str, path: str, progress: Progress | None = None) -> Trace:
    """Read a profile of nvprof or Nsight Systems.

    Args:
        file: where the database is.
        path: its name in messages.
        progress: called with the number of bytes read so far, as far as that can be told.

    Raises:
        TraceFormatError: it is not a profile of either, or it is damaged beyond use.
    """
    with closing(Database(file, path, progress)) as database:
        for reader in (NsysReader, NvprofReader):
            if reader.accepts(database):
                return reader(database).read()
        tables = ", ".join(sorted(database.tables)[:3])
        holds = f"its tables are {tables}, ..." if tables else "it has no tables"
        what = f"an SQLite database, but no profile of Nsight Systems or nvprof ({holds})"
        raise TraceFormatError(path, f"this is {what}")


def read_nsys(path: str, progress: Progress | None = None) -> Trace:
    """Read an SQLite export of Nsight Systems.

    Raises:
        TraceFormatError: the file is not such an export, or holds no events.
    """
    return _read(path, NsysReader, "no export of Nsight Systems", progress)


def read_nvprof(path: str, progress: Progress | None = None) -> Trace:
    """Read an SQLite file of nvprof.

    Raises:
        TraceFormatError: the file is not such a profile, or holds no events.
    """
    return _read(path, NvprofReader, "no profile of nvprof", progress)


def _read(path: str, reader: type[ProfileReader], refusal: str, progress: Progress | None) -> Trace:
    try:
        with Path(path).open("rb") as file:
            head = file.read(16)
        if head != b"SQLite format 3\0":
            raise TraceFormatError(path, "this is no SQLite database")
        with closing(Database(path, path, progress)) as database:
            if not reader.accepts(database):
                problem = "; ".join([f"this is {refusal}", *database.warnings])
                raise TraceFormatError(path, problem)
            return reader(database).read()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UnreadableFile(path, f"cannot be read: {reason}") from error
