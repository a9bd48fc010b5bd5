"""A small process beside us that tells what we cannot know of ourselves.

It does two things. It tells whether a signal was sent to this process alone, or to its whole group:
a terminal, `timeout` and `kill -- -GROUP` send a signal to all processes of a group, so that the
script has it already, and to pass it on would be to send it twice. How it was sent cannot be learnt
from the signal, so the witness, which is in the same group, is asked whether it got it, too.

And it ends the script if this process is killed: its input ends then without a farewell. It sends
SIGTERM, as a supervisor does, and SIGKILL to a script that is there ten seconds later.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress

# It reads pairs of a letter and a number: `s 15` asks whether that signal came, and is answered
# with Y or N; `c 1234` names the child that ends when its input does; `c 0` takes that back.
_PROGRAM = """
import os, signal, sys, time
numbers = {%s}
if hasattr(signal, "pthread_sigmask"):
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
else:
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)
os.write(1, b"Y")
child = 0
for line in iter(sys.stdin.readline, ""):
    what, number = line.split()
    if what == "c":
        child = int(number)
        continue
    came = int(number) in signal.sigpending()
    if came:
        signal.sigwait({int(number)})
    os.write(1, b"Y" if came else b"N")
try:
    if child:
        os.kill(child, signal.SIGTERM)
    if child and os.name != "nt":  # where SIGTERM ends it at once
        for _ in range(100):
            time.sleep(0.1)
            os.kill(child, 0)
        os.kill(child, signal.SIGKILL)
except OSError:
    pass  # it has ended
"""
_ON_THE_WAY_S = 0.01  # a signal reaches the processes of a group one after another


class Witness:
    """A process that gets the signals that are sent to our group, and outlives us.

    Args:
        numbers: the signals that it may be asked about, which do not end it.
    """

    def __init__(self, numbers: list[int]) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        with suppress(OSError):
            self._process = subprocess.Popen(  # noqa: S603 - this Python, with the program above
                [
                    sys.executable,
                    "-I",
                    "-S",
                    "-c",
                    _PROGRAM % ", ".join(map(str, map(int, numbers))),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
            )
        self._is_ready = False

    def saw(self, number: int) -> bool | None:
        """Return whether the group got the signal since this was asked last; None if unknown."""
        process = self._process
        if process is None or process.stdout is None or os.name == "nt":
            return None
        try:
            if not self._is_ready:
                self._is_ready = True
                if not process.stdout.read(1):  # it ended before it could hold the signal back
                    return process.wait() == -number or None
            time.sleep(_ON_THE_WAY_S)
            self._tell("s", number)
            return {b"Y": True, b"N": False}.get(process.stdout.read(1) or b"")
        except OSError:
            return None

    def end_with_us(self, pid: int) -> None:
        """Have a child of ours ended if this process ends before `close` is called."""
        with suppress(OSError):
            self._tell("c", pid)

    def close(self) -> None:
        """Let it end."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return
        with suppress(OSError):
            self._tell("c", 0)
        with suppress(OSError):
            process.stdin.close()
            process.stdout.close()
        process.wait()

    def _tell(self, what: str, number: int) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(f"{what} {int(number)}\n".encode())
