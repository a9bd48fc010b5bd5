"""A command on a terminal of a given width; POSIX only."""

from __future__ import annotations

import os
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..environment import ROOT
from ..forked import run_tidy_into
from .command import Result


def on_terminal(
    *given: str | Path,
    columns: int = 80,
    stdout: int | None = None,
    stderr: int | None = None,
    **changed: str,
) -> Result:
    """Return how a command ends and what it shows: all that goes to no descriptor that is given."""
    import fcntl
    import pty
    import termios

    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    into = (its if each is None else each for each in (stdout, stderr))
    with ThreadPoolExecutor(1) as pool:
        shown = pool.submit(_read_all, ours)
        try:
            code = run_tidy_into(*into, *given, cwd=ROOT, **changed)
        finally:
            os.close(its)
    os.close(ours)
    return Result(code, shown.result().decode().replace("\r\n", "\n"), "")


def _read_all(terminal: int) -> bytes:
    return b"".join(iter(lambda: _read(terminal), b""))


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux says so that nobody has the other end any more
        return b""
