"""What both readers do at their start and at their end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors import TraceFormatError, UnreadableFile
from ...trace import Capability, Trace, TraceInfo, build_trace
from ..container import Progress
from ..refine import refine
from .activities import Activities
from .database import Database
from .ranges import Ranges

_NO_TYPES = (
    "NVTX ranges carry shapes but no dtypes, so rules that look at the inputs of operators are not "
    "checked; torch.profiler records both"
)


def open_database(path: str, progress: Progress | None = None) -> Database:
    """The database at `path`.

    Raises:
        TraceFormatError: it cannot be read, or is none.
    """
    try:
        with Path(path).open("rb") as file:
            head = file.read(16)
        if head != b"SQLite format 3\0":
            raise TraceFormatError(path, "this is no SQLite database")
        return Database(path, path, progress)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UnreadableFile(path, f"cannot be read: {reason}") from error


def refuse(database: Database, what: str) -> TraceFormatError:
    """An error that says what the database is not, and what was found out on the way."""
    return TraceFormatError(database.path, "; ".join([f"this is {what}", *database.warnings]))


def finish(
    database: Database,
    activities: Activities,
    ranges: Ranges,
    header: dict[str, Any],
    how_to_record: str,
) -> Trace:
    """The trace of all that was added.

    Raises:
        TraceFormatError: nothing was.
    """
    info = TraceInfo(database.path, header)
    ranges.write()
    info.warnings += [*database.warnings, *activities.warnings()]
    if not activities.row_count:
        problem = "this profile holds no NVTX ranges, CUDA calls or device work"
        raise TraceFormatError(database.path, "; ".join([problem, *info.warnings, how_to_record]))
    if not ranges.op_count:
        info.warnings.append(f"no operators in this profile; {how_to_record}")
    elif ranges.has_shapes:
        info.warnings.append(_NO_TYPES)
    refine(activities.raw)
    trace = build_trace(activities.raw, info)
    # Rules that need shapes read dtypes, too, and without any would call every run clean.
    trace.capabilities = trace.capabilities - {Capability.SHAPES}
    return trace
