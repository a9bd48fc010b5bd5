"""The lines of the user's files, and when each runs.

Kineto's frames know the first line of a function, not the line that runs. What is written here is
a log per thread, as flat int64 triples (time_ns, code, line):

    line > 0    the line of the frame on top is now this one
    line < 0    a frame was entered (or a generator resumed), at line -line
    line == 0   the frame of this code was left (or a generator suspended)

or, in place of a line, one of the markers below.

`code` is an index into a table of (file, function, first line, kind). Only files under the script's
folder or the working directory count, without what is installed and Python's own. Of libraries
those functions are logged that the rules look for (library.py), when they begin and when they end.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import threading
from array import array
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import FrameType
from typing import Any, NamedTuple

from .kept import thread, time
from .library import LIBRARY, MODULE, MODULE_CALL, USER, LibraryFunctions, in_package
from .patches import Patches

# What stands in place of a line.
UNSURE = 1 << 30  # added to a line: from here on it may be another line of the same frame
OFF = -(1 << 40)  # nothing is logged from here on: the script is in a function of pure Python,
ON = -(1 << 41)  # and here it has come back to where it was before
AFRESH = -(1 << 42)  # what is open is logged anew
UNKNOWN = -(1 << 43)  # from here on nothing is known of this thread
# What a person typed: a cell of IPython or of a notebook's kernel, and lines of Python's own REPL.
_TYPED = re.compile(r"^<(ipython-input|python-input|stdin)\b|[/\\]ipykernel_\d+[/\\]")
_OURS = os.path.dirname(os.path.abspath(__file__))


class UserFiles(dict[str, bool]):
    """By the name of a file, as in a code object, whether it is the user's own."""

    def __init__(self, folders: Iterable[str], ours: str) -> None:
        super().__init__()
        self.folders = _beginnings(folders)
        self._not = _beginnings([os.path.dirname(os.__file__), ours or _OURS])

    def __missing__(self, name: str) -> bool:
        path = full_path(name)
        installed = f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}"
        self[name] = found = _TYPED.search(name) is not None or (
            not name.startswith("<")
            and path.startswith(self.folders)
            and not path.startswith(self._not)
            and not any(each in path for each in installed)
        )
        return found


def user_files(ours: str = "") -> UserFiles:
    """Return those under the script's folder or the working directory, but for the folder
    `ours`.
    """
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    script = os.path.abspath(main) if main and os.path.isabs(main) else ""
    folders = [os.path.dirname(script)] if script else []
    with suppress(OSError):  # it may have been removed
        folders.append(os.getcwd())
    return UserFiles([f for f in folders if f != os.sep] or folders, ours)


def _beginnings(folders: Iterable[str]) -> tuple[str, ...]:
    """Of the paths of all files in these folders, as they are named and as links resolve."""
    paths = {path(each) for each in folders for path in (os.path.abspath, os.path.realpath)}
    return tuple(path.rstrip(os.sep) + os.sep for path in paths)


class ManualCollections:
    """Notes calls of `gc.collect()` from `start` to `stop`, of all threads.

    They are what PyTorch's profiler shows with Python stacks alone. What Python collects by itself
    is left out: it begins when more objects were made than a threshold says, and recording makes
    some. Nothing of ours is called in it either. It may come anywhere, also at the limit of
    recursion, and Python would print that ours cannot be called there.
    """

    def __init__(self) -> None:
        self._found: list[tuple[int, int, int]] = []
        self._patches = Patches()
        self._begun_ns, self._is_on = 0, False  # there is one at a time

    def start(self) -> None:
        self._is_on = True
        self._patches.call_first(gc, "collect", self._expect)

    def stop(self) -> None:
        self._is_on = False  # somebody may have kept what stood for it
        self._patches.undo()
        self._end()  # it may be in one

    def taken(self) -> list[tuple[int, int, int]]:
        """Return those since the last time: the system's number of the thread, start and end."""
        found, self._found = self._found, []
        return found

    def _expect(self, _: object) -> None:
        self._end()
        if self._is_on:
            gc.callbacks.append(self._passes)

    def _passes(self, phase: str, _: dict[str, Any]) -> None:
        if phase == "start":
            self._begun_ns = time.time_ns()
        else:
            self._end()

    def _end(self) -> None:
        """The callback that goes is the last one: no other one is left out for it."""
        if self._begun_ns:
            self._found.append((thread.get_native_id(), self._begun_ns, time.time_ns()))
        self._begun_ns = 0
        if self._passes in gc.callbacks:
            gc.callbacks.remove(self._passes)


class Log(NamedTuple):
    """The log since the last time, ready to be written.

    Attributes:
        codes: [file, function, first line, kind] of what was logged, all since the beginning; of a
            module that is called ["nn.Module", its class, its identity, kind].
        threads: [native thread id, number of triples] for each of `parts`.
        collections: [native thread id, start, end] of each `gc.collect()`.
    """

    codes: list[tuple[str, str, int, int]]
    threads: list[tuple[int, int]]
    parts: list[bytes]
    collections: list[tuple[int, int, int]]


class Logs:
    """The logs of all threads; subclasses fill them."""

    no_code = (lambda: None).__code__  # stands where a log needs no code
    purity: Any  # see purity.py; is made where something is installed

    def __init__(self, on_time: Callable[[int], object], ours: str = "", made: Any = None) -> None:
        self.user = user_files(ours)
        self.recording = False
        self.on_time = on_time
        self.library, self._garbage = LibraryFunctions(made), ManualCollections()
        # By identity, since constants of code that torch.compile makes may be no keys; modules are
        # tuples that are made anew. With the number, and what it stands for.
        self._codes: dict[Any, tuple[int, Any]] = {}
        self._logs: list[tuple[int, list[Any]]] = []

    def start(self) -> None:
        """Log from now on; goes on where it is already."""
        if not self.recording:
            self.recording = True
            self._garbage.start()
            self._install()

    def stop(self, final: bool) -> Log:
        """Take what was logged; `final` means that nothing more is wanted."""
        if final:
            self.recording = False
            self._remove()
            self._garbage.stop()
        return self._take()

    def learn(self, log: Log, starts_ns: Callable[[], list[int]]) -> None:
        """Take what a piece shows of where operators begin; `starts_ns` tells when they did."""
        self.purity.learn(log.parts, [code for _, code in self._codes.values()], starts_ns)

    def refresh(self) -> None:
        """At a step: what is not logged because it starts no operators has to show it again."""

    def forget(self) -> None:
        """In a forked child."""
        self.recording = False
        self._logs = []
        self._remove()
        self._garbage.stop()

    def _install(self) -> None:
        raise NotImplementedError

    def _remove(self) -> None:
        raise NotImplementedError

    def new_log(self) -> list[Any]:
        """Return a log for this thread."""
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
        log.extend((now, self.no_code, AFRESH))
        for each in reversed(frames):
            log.extend((now, each.f_code, -(each.f_lineno or each.f_code.co_firstlineno)))
        return frames

    def _take(self) -> Log:
        threads, parts, codes = list[tuple[int, int]](), list[bytes](), self._codes
        for ident, log in self._logs:
            some = log[:]
            del log[: len(some)]
            if not some:
                continue
            for code in {id(each): each for each in some[1::3]}.values():
                codes.setdefault(_key(code), (len(codes), code))
            some[1::3] = [codes[_key(code)][0] for code in some[1::3]]
            threads.append((ident, len(some) // 3))
            parts.append(array("q", some).tobytes())
        named = [self._named(code) for _, code in codes.values()]
        return Log(named, threads, parts, self._garbage.taken())

    def _named(self, code: Any) -> tuple[str, str, int, int]:
        if isinstance(code, tuple):
            return "nn.Module", *code, MODULE
        file, kind = full_path(code.co_filename), USER
        if not self.user[code.co_filename]:
            file, kind = in_package(code.co_filename), LIBRARY
            if code is self.library.module_call:
                kind = MODULE_CALL
        return file, code.co_name, code.co_firstlineno, kind


def _key(code: Any) -> Any:
    return code if isinstance(code, tuple) else id(code)


def full_path(name: str) -> str:
    """Return the path of a file, as a code object names it."""
    if name.startswith("<"):
        return name
    try:
        return os.path.abspath(name)
    except OSError:  # relative to a folder that is gone
        return name
