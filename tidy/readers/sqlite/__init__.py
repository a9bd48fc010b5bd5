"""Profiles kept in SQLite databases: those of nvprof, and exports of Nsight Systems.

What is read of them becomes a `Trace` like that of a file of PyTorch's own profiler: ranges that
`torch.autograd.profiler.emit_nvtx` pushed are operators, other NVTX ranges are annotations.
"""

from __future__ import annotations

from contextlib import closing

from ...errors import TraceFormatError
from ...trace import Trace
from ..container import Progress
from .database import Database
from .nsys import NsysReader
from .nvprof import NvprofReader


def read_sqlite(file: str, path: str, progress: Progress | None = None) -> Trace:
    """Read a profile of nvprof or Nsight Systems from `file`, which messages call `path`.

    Raises:
        TraceFormatError: it is not a profile of either, or it is damaged beyond use.
    """
    with closing(Database(file, path, progress)) as database:
        if NsysReader.accepts(database):
            return NsysReader(database).read()
        if NvprofReader.accepts(database):
            return NvprofReader(database).read()
        tables = ", ".join(sorted(database.tables)[:3])
        holds = f"its tables are {tables}, ..." if tables else "it has no tables"
        what = f"an SQLite database, but no profile of Nsight Systems or nvprof ({holds})"
        raise TraceFormatError(path, f"this is {what}")
