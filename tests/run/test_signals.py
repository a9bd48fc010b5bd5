"""Signals to `tidy run` reach the script once, whether tidy alone got them or the whole group."""

from __future__ import annotations

import os
import pty
import signal
import sys
import time
from pathlib import Path

import pytest

from ..environment import environment
from .running import start, write_script

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")

_COUNTING = """
import os, signal, sys, time
came = []
for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"):
    signal.signal(getattr(signal, name), lambda number, frame: came.append(number))
print("ready", flush=True)
limit = time.monotonic() + 60
while not came and time.monotonic() < limit:
    time.sleep(0.01)
time.sleep(0.5)  # for another one
print(came, flush=True)
"""
_NAMES = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"]


@pytest.mark.parametrize(
    ("name", "to_group"),
    [
        pytest.param(name, to_group, marks=[] if name == "SIGINT" else [pytest.mark.slow])
        for name in _NAMES
        for to_group in (False, True)
    ],
)
def test_a_signal_comes_once(name: str, to_group: bool, tmp_path: Path) -> None:
    script = write_script(tmp_path, _COUNTING)
    command = start(script, cwd=tmp_path)
    assert command.stdout is not None
    assert command.stdout.readline() == "ready\n"
    number = getattr(signal, name)
    (os.killpg if to_group else os.kill)(command.pid, number)
    out, err = command.communicate(timeout=300)
    assert out == f"[{int(number)}]\n"
    assert err.endswith("used neither torch nor tidy.runtime: nothing to report\n")
    assert command.returncode == 2


@pytest.mark.slow
def test_ctrl_c_on_a_terminal_comes_once(tmp_path: Path) -> None:
    script = write_script(tmp_path, _COUNTING)
    command = [sys.executable, "-m", "tidy", "run", str(script)]
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(tmp_path)
        os.execve(sys.executable, command, environment())  # noqa: S606 - as a shell does
    said = b""
    while b"ready" not in said:
        said += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    limit = time.monotonic() + 100
    while b"]" not in said and time.monotonic() < limit:
        said += os.read(terminal, 1000)
    assert b"[2]" in said
    try:
        while os.read(terminal, 1000):
            pass
    except OSError:  # the terminal is gone with its process
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2


@pytest.mark.slow
def test_a_signal_that_kills_the_script_is_its_status(tmp_path: Path) -> None:
    script = write_script(tmp_path, "import time; print('ready', flush=True); time.sleep(60)")
    command = start(script, cwd=tmp_path)
    assert command.stdout is not None
    assert command.stdout.readline() == "ready\n"
    command.send_signal(signal.SIGUSR1)
    command.communicate(timeout=300)
    assert command.returncode == 128 + signal.SIGUSR1
