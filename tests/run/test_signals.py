"""Signals to `tidy run` reach the script once, whether tidy alone got them or the whole group."""

from __future__ import annotations

import os
import pty
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from ..environment import ROOT, SOAK, environment
from .running import start, tidy_run, write_script

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
        for name in (_NAMES if SOAK else _NAMES[:2])  # others go as these do
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


_INTERRUPTED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
left = [int(sys.argv[1])]
def interrupt(event, given):
    if event == "import":
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(interrupt)
import {framework}
for _ in range(1000):
    import time
    time.sleep(0.01)
"""
_MOMENTS = range(1, 400, 7) if SOAK else (2, 100, 300)
_FRAME = re.compile(r'File "([^"]*)", line')


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["torch", "tidy.runtime"])
@pytest.mark.parametrize("moment", _MOMENTS)
def test_an_interrupted_import_shows_no_frame_of_ours(
    framework: str, moment: int, tmp_path: Path
) -> None:
    """At each module that is loaded, those of the recorder too: the traceback is the script's."""
    script = write_script(tmp_path, _INTERRUPTED.format(framework=framework))
    given = ("--framework", "runtime", "--no-stack")  # stacks are recorded by what Python calls
    found = tidy_run(*given, script, str(moment), cwd=tmp_path)
    assert found.code == 130
    assert "\nKeyboardInterrupt\n" in found.err
    files = set(_FRAME.findall(found.err))
    assert str(script) in files
    of_framework = (f"{ROOT}/runtime/", f"{ROOT}/tidy/__init__.py")
    ours = [file for file in files if file.startswith(str(ROOT)) or "_tidy_child" in file]
    assert [file for file in ours if not file.startswith(of_framework)] == []
