"""The child process: its environment, its streams, its signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import UsageError, reason_of
from ..runtime.cuda import VARIABLE
from .folders import SETTINGS
from .options import RunOptions

_HOOK = Path(__file__).with_name("child") / "hook"
_FROM_TERMINAL = ("SIGINT", "SIGQUIT", "SIGBREAK")
_MEANT_FOR_IT = (*_FROM_TERMINAL, "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
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


def run_child(options: RunOptions, folder: Path) -> int:
    """Run the script, recorded into `folder`; its status as a shell counts it (128 + signal).

    Raises:
        UsageError: it cannot be started.
    """
    settings = folder / SETTINGS
    settings.write_text(repr(options.settings(str(folder))), "utf-8")
    with _signals(options.keep_running) as started:
        try:
            process = subprocess.Popen(  # noqa: S603 - running it is what the user asked for
                [options.interpreter, *(["-m"] if options.module else []), *options.command],
                env=_environment(settings, options.device),
                stdout=sys.stderr.fileno() if options.to_stderr else None,
                close_fds=False,  # it inherits what it would from a shell; ours are not inherited
            )
        except OSError as error:
            raise UsageError(
                f"{options.interpreter}: cannot be started: {reason_of(error)}"
            ) from error
        started(process)
        status = process.wait()
    return 128 - status if status < 0 else status


def _environment(settings: Path, device: str | None) -> Mapping[str, str]:
    """Ours, with what makes the child's Python load the recorder; there it is taken out again."""
    before = os.environ.get("PYTHONPATH")
    path = str(_HOOK) if before is None else f"{_HOOK}{os.pathsep}{before}"
    return {
        **os.environ,
        **({} if device is None else {VARIABLE: device}),
        "PYTHONPATH": path,
        "_TIDY_RUN_PYTHONPATH": "" if before is None else f"={before}",
        "_TIDY_RUN_SETTINGS": str(settings),
    }


@contextmanager
def _signals(keep_running: bool) -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """Outlive the signals that are meant for the child, and hand on those sent to us alone.

    Gives what takes the child once it runs; signals that came before reach it then. Where it is to
    `keep_running` it goes on if this process is killed.
    """
    child: list[subprocess.Popen[bytes]] = []
    early: list[int] = []
    named = {getattr(signal, name): name for name in _MEANT_FOR_IT if hasattr(signal, name)}
    numbers = [number for number in named if signal.getsignal(number) not in (signal.SIG_IGN, None)]
    witness = _Witness(numbers)

    def hand_on(number: int, frame: Any) -> None:
        if not child:
            early.append(number)
            return
        was_for_all = witness.saw(number)
        if was_for_all is None:
            was_for_all = named[number] in _FROM_TERMINAL
        if not was_for_all:
            child[0].send_signal(number)

    def started(process: subprocess.Popen[bytes]) -> None:
        child.append(process)
        if not keep_running:
            witness.end_with_us(process.pid)
        for number in early:
            process.send_signal(number)

    before = {number: signal.signal(number, hand_on) for number in numbers}
    try:
        yield started
    finally:
        for number, handler_before in before.items():
            signal.signal(number, handler_before)
        witness.close()


class _Witness:
    """A small process beside us, in the same group, that outlives us.

    It tells whether a signal was sent to this process alone, or to its whole group: a terminal,
    `timeout` and `kill -- -GROUP` send a signal to all processes of a group, so that the script has
    it already, and to pass it on would be to send it twice. How it was sent cannot be learnt from
    the signal, so the witness is asked whether it got it, too.

    And it ends the script if this process is killed: its input ends then without a farewell. It
    sends SIGTERM, as a supervisor does, and SIGKILL to a script that is there ten seconds later.
    The signals that it may be asked about do not end it.
    """

    def __init__(self, numbers: list[int]) -> None:
        program = _PROGRAM % ", ".join(map(str, map(int, numbers)))
        self._process: Any = None  # it has pipes, which its type does not tell
        with suppress(OSError):
            self._process = subprocess.Popen(  # noqa: S603 - this Python, with the program above
                [sys.executable, "-I", "-S", "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
            )
        self._is_ready = False

    def saw(self, number: int) -> bool | None:
        """Return whether the group got the signal since this was asked last; None if unknown."""
        process = self._process
        if process is None or os.name == "nt":
            return None
        try:
            if not self._is_ready:
                self._is_ready = True
                if not process.stdout.read(1):  # it ended before it could hold the signal back
                    return True if process.wait() == -number else None
            time.sleep(_ON_THE_WAY_S)
            self._tell("s", number)
            return {b"Y": True, b"N": False}.get(process.stdout.read(1))
        except OSError:
            return None

    def end_with_us(self, pid: int) -> None:
        """Have a child of ours ended if this process ends before `close` is called."""
        with suppress(OSError):
            self._tell("c", pid)

    def close(self) -> None:
        if self._process is None:
            return
        with suppress(OSError):
            self._tell("c", 0)
        self._process.communicate()  # its input ends, and then it does

    def _tell(self, what: str, number: int) -> None:
        if self._process is not None:
            self._process.stdin.write(f"{what} {int(number)}\n".encode())
