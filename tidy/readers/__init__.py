"""Readers: from a file to a `Trace`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO

from ..errors import UnreadableFile
from ..trace import Trace
from .chrome import read_chrome_trace
from .container import Progress


def read_trace(path: str | os.PathLike[str], progress: Progress | None = None) -> Trace:
    """Read a trace of PyTorch's profiler: JSON, plain or in gzip or zip; "-" is standard input.

    Args:
        path: the file.
        progress: called with the number of bytes read so far.

    Raises:
        TraceFormatError: there is no such file, or it is no trace.
    """
    name = os.fspath(path)
    try:
        if name == "-":
            if sys.stdin is None:
                raise UnreadableFile("<stdin>", "cannot be read: it is closed")
            return read_chrome_trace(sys.stdin.buffer, "<stdin>", progress)
        with _open(name) as file:
            return read_chrome_trace(file, name, progress)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UnreadableFile(name, f"cannot be read: {reason}") from error


def _open(name: str) -> IO[bytes]:
    try:
        return Path(name).open("rb")
    except ValueError as error:  # a NUL in the name
        raise OSError(str(error)) from error


__all__ = ["read_trace"]
