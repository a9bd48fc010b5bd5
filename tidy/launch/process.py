"""The child process: its environment, its streams, its signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .options import RunOptions

try:
    from ..runtime.cuda import VARIABLE
except ValueError as error:  # of that variable, which the runtime reads when it is imported
    raise UsageError(str(error)) from None

_HOOK = Path(__file__).with_name("child") / "hook"
# What a terminal sends to the whole foreground group: the child has it already.
_FROM_TERMINAL = ("SIGINT", "SIGQUIT", "SIGBREAK")
_FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")


def run_child(options: RunOptions, folder: Path) -> int:
    """Run the script, recorded into `folder`; its status as a shell counts it (128 + signal).

    Raises:
        UsageError: it cannot be started.
    """
    settings = folder / "settings.py"
    settings.write_text(repr(options.settings(str(folder))), "utf-8")
    with _signals() as child:
        try:
            process = subprocess.Popen(  # noqa: S603 - running it is what the user asked for
                options.arguments,
                env=_environment(settings, options.device),
                stdout=sys.stderr.fileno() if options.to_stderr else None,
            )
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise UsageError(f"{options.interpreter}: cannot be started: {reason}") from error
        child.append(process)
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
def _signals() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Outlive the signals that are meant for the child, and hand on those sent to us alone."""
    child: list[subprocess.Popen[bytes]] = []

    def leave_it(number: int, frame: Any) -> None:
        pass

    def hand_on(number: int, frame: Any) -> None:
        for process in child:
            process.send_signal(number)

    before = {}
    for names, handler in ((_FROM_TERMINAL, leave_it), (_FORWARDED, hand_on)):
        for number in (getattr(signal, name) for name in names if hasattr(signal, name)):
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, handler)
    try:
        yield child
    finally:
        for number, handler_before in before.items():
            signal.signal(number, handler_before)
