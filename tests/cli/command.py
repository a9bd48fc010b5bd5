"""The command: called in this process, or as a process of its own where that is what matters."""

from __future__ import annotations

import io
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from tidy.cli import main

from ..environment import ROOT, environment
from ..forked import run_tidy

EXAMPLES = sorted((ROOT / "examples" / "traces").glob("*.json.gz"))
_COMMAND = [sys.executable, "-m", "tidy"]
_START_SCRIPTS = ("run", "verify")


@dataclass(frozen=True)
class Result:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    def json(self) -> Any:
        return json.loads(self.out)


def arguments(*given: str | Path) -> list[str]:
    return [*_COMMAND, *map(str, given)]


def tidy(*given: str | Path, cwd: Path | None = None, **changed: str) -> Result:
    """Call what the console script calls. It never shows a traceback, whatever it is given.

    Commands that start a script are run as a process: the script writes where its parent does.

    Args:
        given: the arguments.
        cwd: the working directory, the repository's root by default.
        changed: further variables of the environment.
    """
    if given and given[0] in _START_SCRIPTS:
        return tidy_process(*given, cwd=cwd, **changed)
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(3)]
    before = Path.cwd()
    os.chdir(cwd or ROOT)
    try:
        with (
            mock.patch.dict(os.environ, environment(**changed), clear=True),
            mock.patch.multiple(
                sys,
                argv=["tidy", *map(str, given)],
                **dict(zip(("stdin", "stdout", "stderr"), streams, strict=True)),
            ),
        ):
            main()
    except SystemExit as end:
        code = end.code
    finally:
        os.chdir(before)
    assert isinstance(code, int)
    return _result(code, *(_written(stream) for stream in streams[1:]))


def _written(stream: io.TextIOWrapper) -> bytes:
    stream.flush()
    return stream.buffer.getvalue()  # type: ignore[attr-defined]


def tidy_process(
    *given: str | Path, stdin: bytes = b"", cwd: Path | None = None, **changed: str
) -> Result:
    """The same as a process: what it is given through a pipe, and how Python itself is set."""
    done = run_tidy(*given, stdin=stdin, cwd=cwd or ROOT, **changed)
    return _result(done.returncode, done.stdout, done.stderr)


def _result(code: int, *written: bytes) -> Result:
    out, err = (text.decode().replace("\r\n", "\n") for text in written)
    assert "Traceback" not in out + err, err
    return Result(code, out, err)
