"""The real command, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "traces").glob("*.json.gz"))
_COMMAND = [sys.executable, "-m", "tidy"]
_HOW_TO_PRINT = {
    "CLICOLOR", "COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR", "PYTHONIOENCODING",
    "PYTHONUNBUFFERED",
}  # fmt: skip


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


def environment(**changed: str) -> dict[str, str]:
    """Ours, without what says how to print, so that tests print alike everywhere."""
    kept = {key: value for key, value in os.environ.items() if key not in _HOW_TO_PRINT}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "TERM": "xterm", **changed}


def arguments(*given: str | Path) -> list[str]:
    return [*_COMMAND, *map(str, given)]


def tidy(*given: str | Path, stdin: bytes = b"", cwd: Path | None = None, **changed: str) -> Result:
    """Run the command. It never shows a traceback, whatever it is given.

    Args:
        given: the arguments.
        cwd: the working directory, the repository's root by default.
        changed: further variables of the environment.
    """
    done = subprocess.run(
        arguments(*given),
        input=stdin,
        cwd=cwd or ROOT,
        env=environment(**changed),
        capture_output=True,
        timeout=120,
        check=False,
    )
    out, err = (text.decode().replace("\r\n", "\n") for text in (done.stdout, done.stderr))
    assert "Traceback" not in out + err, err
    return Result(done.returncode, out, err)
