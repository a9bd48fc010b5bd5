"""A progress bar for long reads, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from .readers.container import Progress as OnProgress

# What takes less than about a second needs no bar.
_LARGE_NBYTES = 64 << 20


class ReadProgress:
    """A bar over the bytes of all files, if there are many and a person is watching stderr."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._sizes = {path: _size(path) for path in paths}
        self._done_before = 0
        self._current = ""
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> ReadProgress:
        total = sum(self._sizes.values())
        if total >= _LARGE_NBYTES and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                DownloadColumn,
                Progress,
                TextColumn,
                TimeRemainingColumn,
            )

            columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
            console = Console(file=sys.stderr)
            self._progress = Progress(*columns, console=console, transient=True)
            self._progress.start()
            self._task = self._progress.add_task("reading", total=total)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def start(self, path: str) -> OnProgress | None:
        """What a reader should call with the bytes of `path` read so far."""
        self._done_before += self._sizes.get(self._current, 0)
        self._current = path
        return None if self._progress is None else self._advance

    def _advance(self, nbytes: int) -> None:
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=self._done_before + nbytes)


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0
