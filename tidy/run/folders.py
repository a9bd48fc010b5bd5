"""The folders that runs are recorded into, and those that a run left behind.

A run removes its folder, unless the trace could not be put where it was wanted. One that was killed
leaves it. It is told by its lock, which the system takes away with the process.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from ast import literal_eval
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..progress import say

_PREFIX = "tidy-run-"
SETTINGS = "settings.py"
_LOCK, _KEPT, _SAID = "running", "kept", "said"
_DAY_S = 86_400


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Return the folder that one run is recorded into."""
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    with (folder / _LOCK).open("w") as lock:
        _lock(lock.fileno())
        try:
            yield folder
        finally:
            if not (folder / _KEPT).exists():
                shutil.rmtree(folder, ignore_errors=True)


def keep(folder: Path) -> None:
    """Let the folder stay when its run is over; after a day another run removes it."""
    _mark(folder, _KEPT)


def _mark(folder: Path, name: str) -> None:
    with suppress(OSError):
        (folder / name).touch()


@dataclass(frozen=True)
class Leftover:
    """A folder that a run left behind.

    Attributes:
        settings: what its recorder was told; see `RunOptions.settings`.
        age_s: how long nothing was written in it.
        was_said: whether the user knows of it already.
    """

    folder: Path
    settings: dict[str, Any]
    age_s: float
    was_said: bool

    @property
    def shown(self) -> str:
        """`/tmp/tidy-run-7-abc, of train.py, 3 min ago`."""
        minutes = round(self.age_s / 60)
        age = f"{minutes} min ago" if minutes < 120 else f"{round(minutes / 60)} h ago"
        return f"{self.folder}, of {self.settings.get('script', 'a script')}, {age}"


def leftovers() -> list[Leftover]:
    """Folders of this user's runs that are over, the latest first; those of yesterday are removed.

    Where the script of a run that was killed still runs, its folder is left alone.
    """
    found = []
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            one = leftover(folder)
            if one is not None and one.age_s > _DAY_S:
                shutil.rmtree(folder, ignore_errors=True)
            elif one is not None:
                found.append(one)
    return sorted(found, key=lambda each: each.age_s)


def offer() -> None:
    """Say once that a run was killed before it could report."""
    new = [one for one in leftovers() if not one.was_said]
    if new:
        more = f" ({len(new) - 1} more beside it)" if len(new) > 1 else ""
        say(
            f"a run was killed and left {new[0].shown}{more}: tidy report --recover reports it;"
            " it is removed after a day"
        )
    for one in new:
        _mark(one.folder, _SAID)


def leftover(folder: Path) -> Leftover | None:
    """Return what a folder is, None for one that is in use, or that no run made.

    Raises:
        OSError: it is not there, or may not be read.
    """
    if not folder.is_dir() or (hasattr(os, "getuid") and folder.stat().st_uid != os.getuid()):
        return None
    times = [path.lstat().st_mtime for path in folder.iterdir() if path.name not in (_KEPT, _SAID)]
    age_s = time.time() - max(times, default=folder.stat().st_mtime)
    if _is_locked(folder / _LOCK) or (age_s < _DAY_S and _is_recorded(folder)):
        return None
    try:
        settings = literal_eval((folder / SETTINGS).read_text("utf-8"))
    except (OSError, ValueError, SyntaxError):
        settings = None
    if settings is None or not (folder / _LOCK).exists():  # not whole, or of another version
        return Leftover(folder, {}, age_s, was_said=True) if age_s > _DAY_S else None
    return Leftover(folder, settings, age_s, any((folder / n).exists() for n in (_KEPT, _SAID)))


def _is_recorded(folder: Path) -> bool:
    """Whether a process that is recorded into the folder still runs."""
    for path in [folder / "state.json", *folder.glob("rank*/state.json")]:
        with suppress(OSError, ValueError, KeyError, TypeError):
            pid = int(json.loads(path.read_text("utf-8"))["pid"])
            os.kill(pid, 0)
            if not _has_ended(pid):
                return True
    return False


def _has_ended(pid: int) -> bool:
    """Whether a process is over, and only waits for somebody to ask for its status."""
    with suppress(OSError):
        status = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        return status.rpartition(")")[2].split()[:1] == ["Z"]
    return False


def _lock(descriptor: int) -> None:
    """Lock a file for as long as this process has it open."""
    with suppress(ImportError, OSError):
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_locked(path: Path) -> bool:
    try:
        import fcntl
    except ImportError:  # on Windows a file that is open cannot be removed
        with suppress(OSError):
            path.unlink(missing_ok=True)
            return False
        return True
    try:
        with path.open() as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
