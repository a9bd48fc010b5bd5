"""What `tidy run` was asked to do."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import UsageError

# Programs that start the ranks of a distributed job as processes of their own.
_LAUNCHERS = {
    "torchrun", "torch.distributed.run", "torch.distributed.launch", "accelerate",
    "accelerate.commands.launch", "deepspeed",
}  # fmt: skip


@dataclass(frozen=True)
class RunOptions:
    """The options of `tidy run` that are not those of `tidy report`.

    Attributes:
        command: the script or module, then its arguments.
        after: optimizer steps to leave out before the recording begins.
        every: from one recording to the beginning of the next, in optimizer steps; 0 for one.
        steps, warmup: optimizer steps to record, and before them those that are not counted.
        seconds, max_size: the longest time to record, and about the most bytes.
        keep_running: whether the script goes on if this process is killed.
        quickest: whether each part of a step is to be as long as in the quickest steps.
        to_stderr: whether the script's output goes to standard error.
        corrections: codes of rules whose correction is switched on while steps are timed and
            nothing is recorded; None where the script is recorded.
    """

    command: Sequence[str]
    module: bool = False
    python: str | None = None
    framework: str = "auto"
    after: int = 0
    every: int = 0
    steps: int = 10
    warmup: int = 1
    seconds: float = 60.0
    max_size: int = 400_000_000
    stop_after: bool = False
    trace: str | None = None
    stack: bool = True
    shapes: bool = True
    memory: bool = True
    all_threads: bool = False
    device: str | None = None
    quickest: bool = False
    keep_running: bool = False
    to_stderr: bool = field(default=False, kw_only=True)
    corrections: Sequence[str] | None = field(default=None, kw_only=True)

    @property
    def script(self) -> str:
        """The script as given, or the name of the module."""
        return self.command[0]

    @property
    def shown(self) -> str:
        """Its name in messages."""
        return f"-m {self.script}" if self.module else self.script

    @property
    def is_launcher(self) -> bool:
        """Whether the script starts ranks, which are then what is recorded."""
        name = self.script if self.module else Path(self.script).name.removesuffix(".py")
        return name in _LAUNCHERS

    @property
    def interpreter(self) -> str:
        """The Python to run with.

        Raises:
            UsageError: there is none.
        """
        if self.python is None:
            return sys.executable
        path = Path(self.python)
        if path.is_dir():  # a virtual environment
            inside = [path / "bin" / "python", path / "Scripts" / "python.exe"]
            path = next((each for each in inside if each.exists()), path)
        found = shutil.which(path)
        if found is None:
            raise UsageError(f"--python {self.python}: no such program")
        # Not resolved: a virtual environment is told by the path of its link.
        return os.path.abspath(found)  # noqa: PTH100

    def settings(self, folder: str) -> dict[str, Any]:
        """Return what the recorder in the child is told."""
        return {
            **vars(self),
            "folder": folder,
            "is_launcher": self.is_launcher,
            "script": self.shown,
            "tidy_path": str(Path(__file__).resolve().parents[2]),
            "same_python": self.python is None,
            "corrections": None if self.corrections is None else list(self.corrections),
        }
