"""Line events by `sys.settrace`, for Python before 3.12.

With a trace function set, all of Python takes several times longer, also where nothing is traced.
So it is taken away while a function runs in which nothing happens (purity.py), and while a library
is imported. It is put back when the frame of that function is freed, which is when it returns.
Elsewhere the lines that start nothing are logged no more (trace_functions.py).

At the limit of recursion Python itself takes it away, where it cannot even be called. The next step
puts it back; a RecursionError in it is swallowed, and what was not logged then is another call of
the function that recursed.

A script that traces itself (a debugger, coverage) goes first: from its `sys.settrace` on nothing
is known of that thread.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from sys import _getframe, gettrace, settrace  # as they were before a script replaced them
from threading import get_ident
from types import CodeType, FrameType
from typing import Any

from .kept import time
from .lines import OFF, ON, UNKNOWN, Logs
from .purity import MANY_LINES, Purity
from .trace_functions import Trace, TraceFunctions

time_ns = time.time_ns

_listening: list[Callable[..., None]] = []


@cache
def _hang_hook() -> None:
    """Once a process: it stays."""
    sys.addaudithook(_hook)


def _hook(event: str, args: Any) -> None:
    """Called very often: each time that anything reads the code of a frame is an event, too."""
    if event == "sys.settrace" and _listening:
        _listening[0]()


class TraceLines(Logs):
    """Each thread has functions of its own, which close over its log."""

    def __init__(self, on_time: Callable[[int], object], ours: str = "", made: Any = None) -> None:
        super().__init__(on_time, ours, made)
        # Other threads may still have their functions when a recording begins again.
        self._mine: list[Any] = []
        self._of_thread = threading.local()
        self._is_ours = False

    def _install(self) -> None:
        self.purity = Purity(self.user.__getitem__, MANY_LINES)
        self.tried_ns: tuple[int, int] | None = None  # for the functions of all threads
        # Wrapping sys.settrace would show in what the script's own function sees.
        _listening[:] = [self._on_settrace]
        _hang_hook()
        if gettrace() is None or gettrace() in self._mine:
            self._trace_this_thread(_getframe(1))
        if getattr(threading, "_trace_hook", None) is None:
            threading.settrace(self._first_call)

    def _remove(self) -> None:
        _listening.clear()
        if gettrace() in self._mine:
            self.trace_with(None)
        if getattr(threading, "_trace_hook", None) == self._first_call:
            threading.settrace(None)

    def refresh(self) -> None:
        """Put the trace function back where a frame outlives its function, as by a traceback, or
        where Python took it away.
        """
        thread, frame = self._of_thread, _getframe(1)
        functions: TraceFunctions | None = getattr(thread, "functions", None)
        if functions is None:
            return
        functions.doubt()
        away = thread.away
        if away is None:
            if gettrace() is None and not functions.foreign:
                self._go_on(frame)
        elif not away.is_open(frame):
            self.back(away, frame)

    def trace_with(self, function: Any) -> None:
        self._is_ours = True
        settrace(function)
        self._is_ours = False

    def _on_settrace(self) -> None:
        if self.recording and not self._is_ours:
            functions = getattr(self._of_thread, "functions", None)
            if functions is not None:
                functions.log.extend((time_ns(), self.no_code, UNKNOWN))
                self._of_thread.away = None
                functions.foreign.append("sys.settrace")

    def _first_call(self, frame: FrameType, event: str, arg: Any) -> Any:
        """The first call on a new thread."""
        if not self.recording:
            self.trace_with(None)
            return None
        call = self._trace_this_thread(None)
        return call(frame, event, arg)

    def _trace_this_thread(self, frame: FrameType | None) -> Trace:
        functions = TraceFunctions(self, self.new_log())
        self._of_thread.functions, self._of_thread.away = functions, None
        self._mine.append(functions.call)
        self._go_on(frame)
        return functions.call

    def is_users(self, module: Any) -> bool:
        """Tell whether a module is one of the script's own."""
        top = str(module).partition(".")[0]
        folders = self.user.folders
        return any(os.path.exists(f"{f}{top}{end}") for f in folders for end in ("", ".py"))

    def go_away(self, frame: FrameType, code: CodeType | None) -> Trace:
        """Trace nothing on this thread until the frame is gone; gives its trace function."""
        thread = self._of_thread
        thread.functions.log.extend((time_ns(), code or self.no_code, OFF))
        thread.away = away = Away(self, frame, code)
        self.trace_with(None)
        return _FreedWithFrame(away)

    def back(self, away: Away, frame: FrameType | None) -> None:
        """Trace again, in this frame."""
        thread = self._of_thread
        if not self.recording or thread.away is not away:
            return
        thread.away = None
        if gettrace() is not None:
            return
        functions: TraceFunctions = thread.functions
        if self.place_of(frame) == away.came_from:
            functions.log.extend((time_ns(), away.code or self.no_code, ON))
            if away.code is not None:
                functions.log.extend((time_ns(), away.code, 0))
            self.trace_with(functions.call)
        else:
            self._go_on(frame)

    def _go_on(self, frame: FrameType | None) -> None:
        """Trace what is open on this thread, and all that is called from now on."""
        functions: TraceFunctions = self._of_thread.functions
        functions.begin_afresh()
        for each in self.enter_open_frames(functions.log, frame):
            each.f_trace = functions.line_of(each.f_code)
        self.trace_with(functions.call)

    def place_of(self, frame: FrameType | None) -> tuple[int, int]:
        """Find the nearest frame of the user's, and its line."""
        while frame is not None and not self.user[frame.f_code.co_filename]:
            frame = frame.f_back
        return (0, 0) if frame is None else (id(frame), frame.f_lineno or 0)


class Away:
    """That the trace function of a thread is taken away while a frame is open.

    Attributes:
        came_from: the frame of the user's that it was called from, and the line there.
    """

    __slots__ = ("_frame", "came_from", "code", "lines", "thread")

    def __init__(self, lines: TraceLines, frame: FrameType, code: CodeType | None) -> None:
        self.lines, self.code = lines, code
        self._frame, self.thread = id(frame), get_ident()
        self.came_from = lines.place_of(frame.f_back)

    def is_open(self, frame: FrameType | None) -> bool:
        """Tell whether the frame is still open, seen from an inner one."""
        while frame is not None:
            if id(frame) == self._frame:
                return True
            frame = frame.f_back
        return False


class _FreedWithFrame:
    """Stands as the trace function of a frame, which nothing else holds."""

    __slots__ = ("_away",)

    def __init__(self, away: Away) -> None:
        self._away = away

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        return self

    def __del__(self) -> None:
        with suppress(Exception):  # Python would print it; the next step puts the rest right
            if get_ident() == self._away.thread:
                self._away.lines.back(self._away, _getframe(1))
