"""What happens in a child process before its script."""

from __future__ import annotations

import os
import sys

from . import kept as _kept  # noqa: F401 - it keeps what is there before the script

TYPE_CHECKING = False  # `typing` is left to the script to import
if TYPE_CHECKING:
    from typing import Any


def begin(path: str, environment: dict[str, str]) -> None:
    """Watch for the import of a framework, as the file with `RunOptions.settings` says.

    The variables that made this process begin to record are `environment`; a launcher of ranks
    keeps them for the processes it starts.
    """
    # Read without `json`: a script may have a json.py of its own.
    with open(path, encoding="utf-8") as file:
        settings: Any = eval(file.read(), {"__builtins__": {}})  # noqa: S307 - tidy wrote it
    if settings["is_launcher"]:
        if not _is_rank():
            os.environ.update(environment)
            return
        settings["rank"] = {
            "rank": int(os.environ["RANK"]),
            "world_size": int(os.environ["WORLD_SIZE"]),
        }
        settings["folder"] = os.path.join(settings["folder"], f"rank{os.environ['RANK']}")
    from .watch import Watcher

    watcher: Any = Watcher(settings)
    sys.meta_path.insert(0, watcher)


def _is_rank() -> bool:
    """Whether torchrun, or what is like it, started this process as a rank."""
    return all(os.environ.get(name, "").isdecimal() for name in ("RANK", "WORLD_SIZE")) and any(
        name in os.environ for name in ("TORCHELASTIC_RUN_ID", "LOCAL_RANK")
    )
