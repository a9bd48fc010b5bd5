"""Readers: from a file to a `Trace`."""

from __future__ import annotations

import os
import sys
import zlib
from io import BufferedReader
from pathlib import Path
from typing import IO

from ..errors import TraceFormatError, UnreadableFile
from ..trace import Trace
from .chrome import read_chrome_trace
from .container import Progress
from .urls import is_url, open_url

_SQLITE = b"SQLite format 3\0"
_NSIGHT = (".nsys-rep", ".qdrep", ".qdstrm")
_DATABASES = (".sqlite", ".sqlite3", ".nvprof", ".nvvp")
_TEXT_OR_PACKED = (b"{", b"[", b"\x1f\x8b", b"PK", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def read_trace(
    path: str | os.PathLike[str],
    progress: Progress | None = None,
    jobs: int = 1,
    method: str | None = None,
    name: str | None = None,
) -> Trace:
    """Read a trace of PyTorch's profiler: JSON, also in gzip, zip or tar; "-" is standard input.

    An SQLite file is read as a profile of nvprof or Nsight Systems.

    Args:
        path: the file, or where fsspec finds it: `s3://bucket/trace.json.gz`.
        progress: called with the number of bytes read so far.
        jobs: how many worker processes read a file with much text; 1 for none. The trace is the
            same.
        method: how they are started, "fork" or "spawn"; None for what is quick and safe.
        name: what messages and reports call it; None for its path.

    Raises:
        TraceFormatError: there is no such file, or it is not a trace.
    """
    place = os.fspath(path)
    name = place if name is None else name
    try:
        if place == "-":
            if sys.stdin is None:
                raise UnreadableFile("<stdin>", "cannot be read: it is closed")
            return _read(sys.stdin.buffer, "<stdin>", progress, jobs, method)
        with open_file(place) as file:
            return _read(file, name, progress, jobs, method)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UnreadableFile(name, f"cannot be read: {reason}") from error


def _read(
    file: IO[bytes], name: str, progress: Progress | None, jobs: int, method: str | None
) -> Trace:
    head = file.peek(len(_SQLITE)) if isinstance(file, BufferedReader) else b""
    if head.startswith(_SQLITE):
        return _read_database(file, name, progress)
    if head.startswith(b"\x1f\x8b") and _unpacked(head) == _SQLITE:
        raise TraceFormatError(name, "this is an SQLite database in gzip; unpack it first")
    if head and not head.lstrip().startswith(_TEXT_OR_PACKED):
        if name.lower().endswith(_NSIGHT):
            what = "a report of Nsight Systems, which only its own tools read"
            raise TraceFormatError(name, f"this is {what}; run: nsys export --type sqlite {name}")
        if name.lower().endswith(_DATABASES):
            what = "no SQLite database, whatever its name says (encrypted, or damaged?)"
            raise TraceFormatError(name, f"this is {what}")
    return read_chrome_trace(file, name, progress, jobs, method)


def _unpacked(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(31).decompress(head, len(_SQLITE))
    except zlib.error:
        return b""


def _read_database(file: IO[bytes], name: str, progress: Progress | None) -> Trace:
    """Read a database; one from a pipe is copied to a file first, since SQLite has to seek."""
    import shutil
    import tempfile

    try:
        from .sqlite import read_sqlite
    except ImportError as error:
        what = "this is an SQLite database, and this Python was built without the module sqlite3"
        raise UnreadableFile(name, what) from error
    if Path(name).is_file():
        return read_sqlite(name, name, progress)
    with tempfile.TemporaryDirectory(prefix="tidy-") as folder:
        copy = Path(folder, "profile.sqlite")
        with copy.open("wb") as target:
            shutil.copyfileobj(file, target)
        return read_sqlite(str(copy), name, progress)


def open_file(path: str) -> IO[bytes]:
    """Open a file, also one that fsspec finds.

    Raises:
        OSError: the system refuses it.
    """
    if is_url(path):
        return open_url(path)
    try:
        return Path(path).open("rb")
    except ValueError as error:  # a NUL in the name
        raise OSError(str(error)) from error
