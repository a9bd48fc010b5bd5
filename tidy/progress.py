"""What is said on stderr while a command works: single lines, and a bar for what takes long."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from .trace import printable

OnProgress = Callable[[int], None]  # is called with the bytes of a file read so far

# What takes less than about a second needs no bar.
_LARGE_NBYTES = 64 << 20
_DRAWN_EACH_S = 0.1
_LONG_S = 10.0  # a file that takes longer is named


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
    console = Console(file=sys.stderr)
    # A thread that draws the bar would keep this process from being forked.
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task(what, total=total)
        started_nbytes, drawn_s = 0, monotonic()

        def show(nbytes: int) -> None:
            nonlocal drawn_s
            bar.update(task, completed=nbytes)
            if monotonic() - drawn_s >= _DRAWN_EACH_S or nbytes >= total:
                bar.refresh()
                drawn_s = monotonic()

        def start(path: str) -> OnProgress:
            nonlocal started_nbytes
            done_before = started_nbytes
            started_nbytes += sizes[path]
            return lambda nbytes: show(done_before + nbytes)

        yield start


@contextmanager
def ranks_read(
    paths: Sequence[str],
) -> Iterator[Callable[[Sequence[str], Sequence[str]], None]]:
    """Show how many of many files are read, how much of all, and which takes long.

    Yields a function to call now and then with the files that are done, in the order in which they
    were, and those under way.
    """
    sizes = {path: _size(path) for path in paths}
    total = sum(sizes.values())
    if total < _LARGE_NBYTES or not sys.stderr.isatty():
        yield lambda _done, _under_way: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    what = TextColumn("{task.description}", markup=False)
    columns = (what, BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task("reading", total=total)
        since: dict[str, float] = {}
        done_count, done_nbytes = 0, 0

        def show(done: Sequence[str], under_way: Sequence[str]) -> None:
            nonlocal done_count, done_nbytes
            now = monotonic()
            for path in under_way:
                since.setdefault(path, now)
            slowest = max(under_way, key=lambda path: now - since[path], default=None)
            said = f"{len(done):,} of {len(paths):,} ranks"
            if slowest is not None and now - since[slowest] >= _LONG_S:
                took_s = int(now - since[slowest])
                said += f", {printable(Path(slowest).name)} for {took_s} s"
            done_nbytes += sum(sizes[done[number]] for number in range(done_count, len(done)))
            done_count = len(done)
            bar.update(task, description=said, completed=done_nbytes)

        yield show


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except (OSError, ValueError):  # the second of a NUL in the name
        return 0
