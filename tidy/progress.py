"""What is said on stderr while a command works: single lines, and a bar for what takes long."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .trace import printable

OnProgress = Callable[[int], None]  # is called with the bytes of a file read so far

# What takes less than about a second needs no bar.
_LARGE_NBYTES = 64 << 20


def say(message: str) -> None:
    """Write one line to stderr."""
    sys.stderr.write(f"tidy: {printable(message)}\n")


@contextmanager
def reading(
    paths: Sequence[str], what: str = "reading"
) -> Iterator[Callable[[str], OnProgress | None]]:
    """Show a bar over the bytes of all files, if there are many and a person watches stderr.

    Yields a function to call with a path before it is read. It gives what the reader should call
    meanwhile, or None where no bar is shown.
    """
    sizes = {path: _size(path) for path in paths}
    total = sum(sizes.values())
    if total < _LARGE_NBYTES or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task(what, total=total)
        started: list[str] = []

        def start(path: str) -> OnProgress:
            done_before = sum(sizes[each] for each in started)
            started.append(path)
            return lambda nbytes: bar.update(task, completed=done_before + nbytes)

        yield start


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0
