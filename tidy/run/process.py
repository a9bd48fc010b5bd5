"""The child process: its environment, its streams, its signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import UsageError, reason_of
from ..runtime.cuda import VARIABLE
from .folders import SETTINGS
from .options import RunOptions
from .witness import Witness

_HOOK = Path(__file__).with_name("child") / "hook"
_FROM_TERMINAL = ("SIGINT", "SIGQUIT", "SIGBREAK")
_MEANT_FOR_IT = (*_FROM_TERMINAL, "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")


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

    Gives what takes the child once it runs; signals that came before reach it then.

    Args:
        keep_running: whether the child goes on if this process is killed.
    """
    child: list[subprocess.Popen[bytes]] = []
    early: list[int] = []
    named = {getattr(signal, name): name for name in _MEANT_FOR_IT if hasattr(signal, name)}
    numbers = [number for number in named if signal.getsignal(number) not in (signal.SIG_IGN, None)]
    witness = Witness(numbers)

    def hand_on(number: int, frame: Any) -> None:
        if not child:
            early.append(number)
            return
        was_for_all = witness.saw(number)
        if was_for_all is None:
            was_for_all = named[number] in _FROM_TERMINAL
        if was_for_all:
            return
        for process in child:
            process.send_signal(number)

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
