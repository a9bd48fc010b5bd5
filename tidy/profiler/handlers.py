"""What to do with a trace when it is ready: for `profile(on_trace_ready=...)`."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError, reason_of

if TYPE_CHECKING:
    from .profile import profile


class ProfilerActivity(Enum):
    """What can be recorded: the CPU, and CUDA where there are modelled devices."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


def supported_activities() -> set[ProfilerActivity]:
    """What can be recorded of tidy.runtime: CUDA where modelled devices are configured."""
    from ..runtime.cuda import is_available

    return {ProfilerActivity.CPU} | ({ProfilerActivity.CUDA} if is_available() else set())


def tensorboard_trace_handler(
    dir_name: str | os.PathLike[str], worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """Write each trace to a file of its own in a folder, under TensorBoard's name for it.

    Args:
        worker_name: of this process, different from all others'; by default host and process.

    Raises:
        UsageError: when a trace is ready and the folder cannot be made.
    """
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
    suffix = ".pt.trace.json.gz" if use_gzip else ".pt.trace.json"

    def write(prof: profile) -> None:
        folder = Path(dir_name)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{folder}: the folder cannot be made: {reason_of(error)}") from error
        prof.export_chrome_trace(folder / f"{worker}.{time.time_ns()}{suffix}")

    return write
