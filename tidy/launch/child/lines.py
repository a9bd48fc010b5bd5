"""Which line of the user's files runs when.

Kineto's frames know the first line of a function, not the line that runs. What is written here is
a log per thread, as flat int64 triples (time_ns, code, line):

    line > 0    the line of the frame on top is now this one
    line < 0    a frame was entered (or a generator resumed), at line -line
    line == 0   the frame of this code was left (or a generator suspended)

`code` is an index into a table of (file, function, first line). Only files under the script's
folder or the working directory count, without what is installed and Python's own.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from array import array
from collections.abc import Callable
from contextlib import suppress
from types import CodeType, FrameType
from typing import Any

_OURS = os.path.dirname(os.path.abspath(__file__))
UNKNOWN = -(1 << 40)  # as a line: from here on nothing is known of this thread


class UserFiles(dict[str, bool]):
    """Whether a file, named as in a code object, is the user's own."""

    def __init__(self, folders: list[str]) -> None:
        super().__init__()
        self._folders = tuple({_folder(f) for each in folders for f in _both(each)})
        libraries = {os.path.dirname(os.__file__), *(_both(os.path.dirname(os.__file__)))}
        self._not = (*(_folder(path) for path in libraries), _folder(_OURS))

    def __missing__(self, name: str) -> bool:
        path = _path(name)
        installed = f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}"
        self[name] = found = (
            not name.startswith("<")
            and path.startswith(self._folders)
            and not path.startswith(self._not)
            and not any(each in path for each in installed)
        )
        return found


def _both(path: str) -> tuple[str, str]:
    return os.path.abspath(path), os.path.realpath(path)


def _folder(path: str) -> str:
    return path.rstrip(os.sep) + os.sep


class Log:
    """What was logged since the last time, ready to be written.

    Attributes:
        codes: [file, function, first line] of the code objects, all since the beginning.
        threads: [native thread id, number of triples] for each of `parts`.
    """

    def __init__(self) -> None:
        self.codes: list[tuple[str, str, int]] = []
        self.threads: list[tuple[int, int]] = []
        self.parts: list[bytes] = []


class Logs:
    """The logs of all threads; subclasses fill them."""

    def __init__(self, settings: dict[str, Any], on_time: Callable[[int], None]) -> None:
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        script = os.path.abspath(main) if main and os.path.isabs(main) else ""
        folders = [os.path.dirname(script)] if script else []
        with suppress(OSError):  # it may have been removed
            folders.append(os.getcwd())
        self.user = UserFiles([f for f in folders if f != os.sep] or folders)
        self.recording = False
        self.on_time = on_time
        self._codes: dict[CodeType, int] = {}
        self._logs: list[tuple[int, list[Any]]] = []

    def start(self) -> None:
        """Log from now on; goes on where it is already."""
        if not self.recording:
            self.recording = True
            self._install()

    def stop(self, final: bool) -> Log:
        """Take what was logged; `final` means that nothing more is wanted."""
        if final:
            self.recording = False
            self._remove()
        return self._take()

    def forget(self) -> None:
        """In a forked child."""
        self.recording = False
        self._logs = []
        self._remove()

    def _install(self) -> None:
        raise NotImplementedError

    def _remove(self) -> None:
        raise NotImplementedError

    def new_log(self) -> list[Any]:
        """A log for this thread."""
        log: list[Any] = []
        self._logs.append((threading.get_native_id(), log))
        return log

    def enter_open_frames(self, log: list[Any], frame: FrameType | None) -> list[FrameType]:
        """Log the user's frames that are open already, outermost first."""
        frames = []
        while frame is not None:
            if self.user[frame.f_code.co_filename]:
                frames.append(frame)
            frame = frame.f_back
        now = time.time_ns()
        for each in reversed(frames):
            log.extend((now, each.f_code, -(each.f_lineno or each.f_code.co_firstlineno)))
        return frames

    def _take(self) -> Log:
        taken = Log()
        codes = self._codes
        for thread, log in self._logs:
            some = log[:]
            del log[: len(some)]
            if not some:
                continue
            for code in {id(each): each for each in some[1::3]}.values():
                codes.setdefault(code, len(codes))
            some[1::3] = [codes[code] for code in some[1::3]]
            taken.threads.append((thread, len(some) // 3))
            taken.parts.append(array("q", some).tobytes())
        taken.codes = [(_path(c.co_filename), c.co_name, c.co_firstlineno) for c in codes]
        return taken


def _path(name: str) -> str:
    try:
        return os.path.abspath(name)
    except OSError:  # relative to a folder that is gone
        return name


def make_lines(settings: dict[str, Any], on_time: Callable[[int], None]) -> Logs:
    """The way that this Python has."""
    if sys.version_info >= (3, 12):
        from .lines_monitoring import MonitoringLines

        return MonitoringLines(settings, on_time)
    from .lines_trace import TraceLines

    return TraceLines(settings, on_time)
