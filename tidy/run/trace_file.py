"""The file that `--trace` asks for, written while the trace is put together."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

from ..profiler.kineto import open_packed

_BLOCK_NBYTES = 1 << 20  # is written at once: events are small


class TraceFile:
    """A file that takes its name when it is whole; what cannot be written does not end the work.

    Attributes:
        error: why it cannot be written, None as long as it can.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self.error: OSError | None = None
        self._file: IO[bytes] | None = None
        # A device or a pipe is written to as it is, and so is the file that a link names.
        path = Path(os.path.realpath(target))
        is_special = path.exists() and not path.is_file()
        self._path = path
        self._part = path if is_special else path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            opened = open_packed(self._part, target.name.endswith(".gz"), 5)
            self._file = io.BufferedWriter(cast("Any", opened), _BLOCK_NBYTES)
        except OSError as error:
            self._fail(error)

    def write(self, data: bytes) -> None:
        """Write on; nothing where that failed before."""
        try:
            if self._file is not None:
                self._file.write(data)
        except OSError as error:
            self._fail(error)

    def close(self, is_whole: bool = True) -> None:
        """End the file, and give it its name if it is whole."""
        file, self._file = self._file, None
        if file is None:
            return
        try:
            file.close()
            if is_whole and self._part != self._path:
                self._part.replace(self._path)
        except OSError as error:
            self._fail(error)
        if not is_whole:
            self._remove()

    def _fail(self, error: OSError) -> None:
        file, self._file = self._file, None
        self.error = self.error or error
        if file is not None:
            with suppress(OSError):
                file.close()
        self._remove()

    def _remove(self) -> None:
        if self._part != self._path:
            with suppress(OSError):
                self._part.unlink()
