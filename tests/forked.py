"""`tidy ...` as a process of its own, started without importing all of it anew: see tidy_server."""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from .environment import ROOT, SOAK, environment

_LONGEST_S = 300
# What is asked of the environment by what a copy has behind it: Python's start, and imports.
_ASKED_BEFORE = ("PYTHON", "TIDY_")
_ASKED_AGAIN = {"PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONUTF8"}


def run_tidy(
    *given: str | Path, stdin: bytes = b"", cwd: Path, **changed: str
) -> subprocess.CompletedProcess[bytes]:
    """`python -m tidy ...`; what it is given, and leaves, are pipes."""
    arguments, env = list(map(str, given)), environment(**changed)
    if _may_be_a_copy(changed):
        return _server().run(arguments, stdin, cwd, env)
    return _run(arguments, cwd, env, input=stdin, capture_output=True)


def run_tidy_into(stdout: int, stderr: int, *given: str | Path, cwd: Path, **changed: str) -> int:
    """`python -m tidy ...`, which writes into these descriptors and has nothing to read.

    Returns:
        The exit code.
    """
    arguments, env = list(map(str, given)), environment(**changed)
    with Path(os.devnull).open("rb") as nothing:
        if _may_be_a_copy(changed):
            return _server().ask(arguments, cwd, env, (nothing.fileno(), stdout, stderr))
        return _run(arguments, cwd, env, stdin=nothing, stdout=stdout, stderr=stderr).returncode


def _run(
    arguments: Sequence[str], cwd: Path, env: Mapping[str, str], **streams: Any
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "tidy", *arguments]
    return subprocess.run(command, cwd=cwd, env=env, timeout=_LONGEST_S, check=False, **streams)


def _may_be_a_copy(changed: Mapping[str, str]) -> bool:
    is_too_late = any(key.startswith(_ASKED_BEFORE) for key in {*changed} - _ASKED_AGAIN)
    return not SOAK and not is_too_late and hasattr(os, "fork")


@cache
def _server() -> _Server:
    """The one of this process."""
    return _Server()


class _Server:
    """The program that forks itself, and the socket it is asked over."""

    def __init__(self) -> None:
        self._asks, theirs = socket.socketpair()
        self._asks.settimeout(_LONGEST_S)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.tidy_server", str(theirs.fileno())],
                cwd=ROOT,
                env=environment(PYTHONPATH=str(ROOT)),
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # so that `end` ends what it started too
            )
        atexit.register(self.end)

    def run(
        self, arguments: Sequence[str], stdin: bytes, cwd: Path, env: Mapping[str, str]
    ) -> subprocess.CompletedProcess[bytes]:
        (its_in, given), (out, its_out), (err, its_err) = [os.pipe() for _ in range(3)]
        theirs = its_in, its_out, its_err
        with ThreadPoolExecutor(3) as pool:
            pool.submit(_write, given, stdin)
            written = [pool.submit(_read, descriptor) for descriptor in (out, err)]
            try:
                code = self.ask(arguments, cwd, env, theirs)
            finally:
                for descriptor in theirs:
                    os.close(descriptor)
        return subprocess.CompletedProcess(
            ["tidy", *arguments], code, *(each.result() for each in written)
        )

    def ask(
        self,
        arguments: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        descriptors: Sequence[int],
    ) -> int:
        """Wait until a copy that has these descriptors is over; returns its exit code."""
        asked = {"arguments": arguments, "cwd": str(cwd.resolve()), "env": env}
        text = json.dumps(asked).encode() + b"\n"
        socket.send_fds(self._asks, [text[:1]], list(descriptors))
        self._asks.sendall(text[1:])
        try:
            return int(self._asks.recv(16))
        except TimeoutError:
            self.end()  # its pipes with it, which threads may wait for
            _server.cache_clear()
            raise

    def end(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._asks.close()


def _read(descriptor: int) -> bytes:
    with open(descriptor, "rb") as pipe:
        return pipe.read()


def _write(descriptor: int, text: bytes) -> None:
    with suppress(BrokenPipeError), open(descriptor, "wb") as pipe:
        pipe.write(text)
