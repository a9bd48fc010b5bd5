"""A command on a terminal of a given width; POSIX only."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

from ..cli.command import arguments
from ..environment import environment


def on_terminal(*given: str | Path, columns: int, **changed: str) -> list[str]:
    """The lines that a successful command shows."""
    import fcntl
    import pty
    import termios

    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(
        arguments(*given),
        stdin=subprocess.DEVNULL,
        stdout=its,
        stderr=its,
        env=environment(**changed),
    ) as process:
        os.close(its)
        shown = b"".join(iter(lambda: _read(ours), b""))
        os.close(ours)
    assert process.returncode == 0
    return shown.decode().replace("\r\n", "\n").splitlines()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux says so that nobody has the other end any more
        return b""
