"""How the command ends when its reader, its user or the disk has had enough."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ..environment import ROOT, environment
from .command import EXAMPLES, arguments
from .traces import clean, text

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")

# A shell that starts us in the background has interrupts ignored; a terminal has not.
_INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from tidy.cli import main
main()
"""
_WRITERS = [
    ["report", str(EXAMPLES[0])],
    *(["report", str(path), "--format", "json"] for path in EXAMPLES[:2]),  # long and short
    ["rules"],
    ["explain", "TDY404"],
]


def _into(out: int, given: list[str]) -> tuple[int, str]:
    """Exit code and stderr of the command with its output going to `out`."""
    done = subprocess.run(
        arguments(*given), stdout=out, stderr=subprocess.PIPE, env=environment(), check=False
    )
    return done.returncode, done.stderr.decode()


@pytest.mark.parametrize("given", _WRITERS)
def test_a_reader_that_left_is_no_error(given: list[str]) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    code, problem = _into(writes, given)
    os.close(writes)
    assert (code, problem) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("given", [_WRITERS[0], _WRITERS[2], ["--version"]])
def test_a_full_disk_is_one_line(given: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        code, problem = _into(full.fileno(), given)
    assert code == 2
    assert problem.startswith("tidy: standard output: no space left")
    assert len(problem.splitlines()) == 1


@pytest.mark.parametrize("form", ["text", "json"])
def test_without_any_output_the_verdict_is_left(form: str) -> None:
    command = arguments("report", EXAMPLES[0], "--format", form)
    shell = ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *command]
    done = subprocess.run(shell, stderr=subprocess.PIPE, env=environment(), check=False)
    assert (done.returncode, done.stderr) == (1, b"")


def test_an_interrupt_is_one_line() -> None:
    """The command has read most of the 4 MB when all fit into the pipe, and waits for more."""
    events = text(clean()).split(b"]")[0] + b", " + b" " * (4 << 20)
    with subprocess.Popen(
        [sys.executable, "-c", _INTERRUPTIBLE, "report", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=environment(),
    ) as process:
        assert process.stdin is not None
        process.stdin.write(events)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        out, problem = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, b"")
    assert problem.decode().split("\n") == ["", "tidy: interrupted", ""]
