"""How a command may end whose worker processes must not outlive it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from .cli.command import ROOT
from .environment import environment

# What ends it, written in Python; its exit code, and what it says on stderr.
ENDINGS: list[tuple[str, int, str]] = []
if sys.platform != "win32":
    ENDINGS += [
        ("os.killpg(0, signal.SIGINT)", 130, "tidy: interrupted"),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM, ""),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, ""),
    ]
needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


def run_alone(*command: object) -> tuple[int, str, str]:
    """Run a script in a group of processes of its own; give its code and both outputs."""
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
        start_new_session=True,
        env=environment() | {"PYTHONPATH": str(ROOT)},
    )
    return done.returncode, done.stdout, done.stderr.strip()


def wait_until_over(pids: Iterable[str]) -> None:
    """Wait until none of the processes is alive; the suite's own limit ends this if they stay."""
    while not all(map(_is_over, pids)):
        time.sleep(0.01)


def _is_over(pid: str) -> bool:
    try:
        state = Path("/proc", pid, "stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in "ZX"
