"""Tells whether a signal was sent to this process alone, or to its whole group.

A terminal, `timeout` and `kill -- -GROUP` send a signal to all processes of a group: the script has
it already then, and to pass it on would be to send it twice. How it was sent cannot be learnt from
the signal. So a small process in the same group, which does nothing else, is asked whether it got
that signal, too.
"""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress

# It reads numbers of signals and answers each with Y or N; it ends when this process does, since
# its input then ends.
_PROGRAM = """
import os, signal, sys
numbers = {%s}
signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
os.write(1, b"Y")
while True:
    asked = os.read(0, 1)
    if not asked:
        break
    came = asked[0] in signal.sigpending()
    if came:
        signal.sigwait({asked[0]})
    os.write(1, b"Y" if came else b"N")
"""
_ON_THE_WAY_S = 0.01  # a signal reaches the processes of a group one after another


class Witness:
    """A process that gets the signals that are sent to our group."""

    def __init__(self, numbers: list[int]) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        with suppress(OSError):
            self._process = subprocess.Popen(  # noqa: S603 - this Python, with the program above
                [sys.executable, "-I", "-S", "-c", _PROGRAM % ", ".join(map(str, numbers))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
            )
        self._is_ready = False

    def saw(self, number: int) -> bool | None:
        """Whether the group got the signal since this was asked last; None if it is not known."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return None
        try:
            if not self._is_ready:
                self._is_ready = True
                if not process.stdout.read(1):  # it ended before it could hold the signal back
                    return process.wait() == -number or None
            time.sleep(_ON_THE_WAY_S)
            process.stdin.write(bytes([number]))
            return {b"Y": True, b"N": False}.get(process.stdout.read(1) or b"")
        except OSError:
            return None

    def close(self) -> None:
        """Let it end."""
        process = self._process
        if process is not None and process.stdin is not None and process.stdout is not None:
            with suppress(OSError):
                process.stdin.close()
                process.stdout.close()
            process.wait()
