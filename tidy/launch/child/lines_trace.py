"""Line events by `sys.settrace`, for Python before 3.12.

A script that traces itself (a debugger, coverage) goes first: from its `sys.settrace` on nothing
is known of that thread.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from time import time_ns
from types import FrameType
from typing import Any

from .lines import UNKNOWN, Logs

_CHECK_NS = 50_000_000  # how often the clock of the recording is asked


class TraceLines(Logs):
    """Each thread has a pair of functions of its own, which close over its log."""

    _no_code = (lambda: None).__code__

    def _install(self) -> None:
        self._mine: list[Any] = []
        self._of_thread = threading.local()
        self._is_ours = False
        # Wrapping sys.settrace would show in what the script's own function sees.
        sys.addaudithook(self._on_audit)
        if sys.gettrace() is None:
            self._trace_this_thread(sys._getframe(1))
        if getattr(threading, "_trace_hook", None) is None:
            threading.settrace(self._first_call)

    def _remove(self) -> None:
        if sys.gettrace() in self._mine:
            self._settrace(None)
        if getattr(threading, "_trace_hook", None) == self._first_call:
            threading.settrace(None)

    def _settrace(self, function: Any) -> None:
        self._is_ours = True
        sys.settrace(function)
        self._is_ours = False

    def _on_audit(self, event: str, args: Any) -> None:
        if event == "sys.settrace" and self.recording and not self._is_ours:
            foreign = getattr(self._of_thread, "foreign", None)
            if foreign is not None:
                self._of_thread.log.extend((time_ns(), self._no_code, UNKNOWN))
                foreign.append(event)

    def _first_call(self, frame: FrameType, event: str, arg: Any) -> Any:
        """The first call on a new thread."""
        if not self.recording:
            self._settrace(None)
            return None
        call = self._trace_this_thread(None)
        return call(frame, event, arg)

    def _trace_this_thread(self, frame: FrameType | None) -> Callable[..., Any]:
        log = self.new_log()
        foreign: list[str] = []
        self._of_thread.log, self._of_thread.foreign = log, foreign
        call, line = self._functions(log, foreign)
        for each in self.enter_open_frames(log, frame):
            each.f_trace = line
        self._mine.append(call)
        self._settrace(call)
        return call

    def _functions(
        self, log: list[Any], foreign: list[str]
    ) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """What traces a call, and what a line; `foreign` is filled while another function traces,
        when open frames still come here.
        """
        user, add, on_time = self.user, log.extend, self.on_time
        check_ns = 0

        def line(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal check_ns
            if foreign:
                if sys.gettrace() is not call:
                    return line
                foreign.clear()
            if event == "line":
                now = time_ns()
                add((now, frame.f_code, frame.f_lineno))
                if now > check_ns:
                    check_ns = now + _CHECK_NS
                    if not self.recording:
                        return None
                    on_time(now)
            elif event == "return":
                add((time_ns(), frame.f_code, 0))
            return line

        def call(frame: FrameType, event: str, arg: Any) -> Any:
            code = frame.f_code
            if not user[code.co_filename]:
                return None
            if not self.recording:
                self._settrace(None)
                return None
            add((time_ns(), code, -frame.f_lineno))
            return line

        return call, line
