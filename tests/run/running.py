"""Scripts under `python` and under `tidy run`, in processes of their own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import tidy
from tidy import Trace

from ..environment import ROOT, environment
from ..forked import run_tidy


@dataclass(frozen=True)
class Ended:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Recorded(Ended):
    """The same of `tidy run --trace`, with the trace it kept."""

    path: Path

    @property
    def trace(self) -> Trace:
        trace = tidy.load(self.path)
        trace.self_check()
        return trace

    @property
    def header(self) -> dict[str, Any]:
        return dict(json.loads(self.path.read_text("utf-8")))


def write_script(folder: Path, text: str, name: str = "train.py") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text), "utf-8")
    return path


def python(*given: str | Path, cwd: Path, stdin: str = "", **changed: str) -> Ended:
    """`python ...`."""
    done = subprocess.run(
        [sys.executable, *map(str, given)],
        input=stdin.encode(),
        cwd=cwd,
        env=environment(**changed),
        capture_output=True,
        timeout=300,
        check=False,
    )
    return _ended(done)


def tidy_run(*given: str | Path, cwd: Path, stdin: str = "", **changed: str) -> Ended:
    """`tidy run ...`."""
    return _ended(run_tidy("run", *given, stdin=stdin.encode(), cwd=cwd, **changed))


def tidy_report(*given: str | Path, cwd: Path, **changed: str) -> Ended:
    """`tidy report ...`."""
    return _ended(run_tidy("report", *given, cwd=cwd, **changed))


def record(*given: str | Path, cwd: Path, stdin: str = "", **changed: str) -> Recorded:
    """`tidy run --trace FILE ...`; its exit code does not depend on findings, unless asked for."""
    path = cwd / "kept.json"
    ended = tidy_run("--trace", path, "--fail-on", "never", *given, cwd=cwd, stdin=stdin, **changed)
    return Recorded(ended.code, ended.out, ended.err, path)


_STARTED: list[subprocess.Popen[str]] = []


def start(*given: str | Path, cwd: Path, **changed: str) -> subprocess.Popen[str]:
    """`tidy run ...`, in a process group of its own, as a shell starts it: see `end_started`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tidy", "run", *map(str, given)],
        cwd=cwd,
        env=environment(**changed),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    _STARTED.append(process)
    return process


def end_started() -> None:
    """Kill what `start` started and a test left, with all of its group, and close the pipes."""
    while _STARTED:
        process = _STARTED.pop()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()


def without_runtime(text: str) -> str:
    """Without frames of tidy.runtime: operators that are recorded are run by its profiler."""
    frame = r' +File "(?:<[^"]*>|%s/(?:tidy|runtime)/[^"]*)", line .*\n(?:    .*\n)*'
    return re.sub(frame % re.escape(str(ROOT)), "", text)


def _ended(done: subprocess.CompletedProcess[bytes]) -> Ended:
    code = 128 - done.returncode if done.returncode < 0 else done.returncode
    out, err = (text.decode().replace("\r\n", "\n") for text in (done.stdout, done.stderr))
    return Ended(code, out, err)
