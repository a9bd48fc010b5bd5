"""Profiles kept in SQLite databases: those of nvprof, and exports of Nsight Systems.

What is read of them becomes the same `Trace` as a file of PyTorch's own profiler: ranges that
`torch.autograd.profiler.emit_nvtx` pushed are operators, other NVTX ranges are annotations.
"""

from __future__ import annotations

from ...errors import TraceFormatError
from ...trace import Trace
from ..container import Progress
from .database import Database
from .nsys import is_nsys, load_nsys, read_nsys
from .nvprof import is_nvprof, load_nvprof, read_nvprof


def read_sqlite(file: str, path: str, progress: Progress | None = None) -> Trace:
    """Read a profile of nvprof or Nsight Systems.

    Args:
        file: where the database is.
        path: for messages.
        progress: called with the number of bytes read so far, as far as that can be told.

    Raises:
        TraceFormatError: it is neither, or damaged beyond use.
    """
    with Database(file, path, progress) as database:
        if is_nsys(database):
            return load_nsys(database)
        if is_nvprof(database):
            return load_nvprof(database)
        tables = ", ".join(sorted(database.tables)[:3])
        holds = f"its tables are {tables}, ..." if tables else "it has no tables"
        what = f"an SQLite database, but no profile of Nsight Systems or nvprof ({holds})"
        raise TraceFormatError(path, f"this is {what}")


__all__ = ["read_nsys", "read_nvprof", "read_sqlite"]
