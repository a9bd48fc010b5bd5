"""Line events by `sys.monitoring`, on Python 3.12 and later."""

from __future__ import annotations

import sys
from threading import get_ident
from time import time_ns
from types import CodeType
from typing import Any

from .lines import Logs

_CHECK_NS = 50_000_000


class MonitoringLines(Logs):
    """Events of the user's code objects alone; all others switch themselves off when first met."""

    def _install(self) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        self._monitoring = monitoring
        self._by_thread: dict[int, list[Any]] = {}
        self._check_ns = 0
        self._tool = next(i for i in (3, 4, 1, 5, 2, 0) if monitoring.get_tool(i) is None)
        monitoring.use_tool_id(self._tool, "tidy")
        events = monitoring.events
        self._local = (
            events.LINE | events.PY_START | events.PY_RESUME | events.PY_RETURN | events.PY_YIELD
        )
        handlers = {
            events.PY_START: self._enter,
            events.PY_RESUME: self._enter,
            events.PY_THROW: self._throw,
            events.LINE: self._line,
            events.PY_RETURN: self._leave,
            events.PY_YIELD: self._leave,
            events.PY_UNWIND: self._unwind,
        }
        for event, handler in handlers.items():
            monitoring.register_callback(self._tool, event, handler)
        self._events = tuple(handlers)
        frame = sys._getframe(1)
        frames = sys._current_frames()
        frames[get_ident()] = frame
        for thread, top in frames.items():
            log = self._log(thread) if thread == get_ident() else None
            if log is not None:
                for each in self.enter_open_frames(log, top):
                    monitoring.set_local_events(self._tool, each.f_code, self._local)
        monitoring.set_events(
            self._tool,
            events.PY_START | events.PY_RESUME | events.PY_THROW | events.PY_UNWIND,
        )

    def _remove(self) -> None:
        monitoring = self._monitoring
        if monitoring.get_tool(self._tool) != "tidy":
            return
        monitoring.set_events(self._tool, 0)
        for event in self._events:
            monitoring.register_callback(self._tool, event, None)
        for code in {*self._codes, *(c for _, log in self._logs for c in log[1::3])}:
            monitoring.set_local_events(self._tool, code, 0)
        monitoring.free_tool_id(self._tool)

    def _log(self, thread: int) -> list[Any]:
        log = self._by_thread.get(thread)
        if log is None:
            log = self._by_thread[thread] = self.new_log()
        return log

    def _enter(self, code: CodeType, offset: int) -> Any:
        if not self.user[code.co_filename]:
            return self._monitoring.DISABLE
        if code not in self._codes:
            self._codes[code] = len(self._codes)
            self._monitoring.set_local_events(self._tool, code, self._local)
        frame = sys._getframe(1)
        self._log(get_ident()).extend((time_ns(), code, -(frame.f_lineno or code.co_firstlineno)))
        return None

    def _throw(self, code: CodeType, offset: int, error: BaseException) -> None:
        if self.user[code.co_filename]:
            self._enter(code, offset)

    def _line(self, code: CodeType, line: int) -> None:
        now = time_ns()
        self._log(get_ident()).extend((now, code, line))
        if now > self._check_ns:
            self._check_ns = now + _CHECK_NS
            self.on_time(now)

    def _leave(self, code: CodeType, offset: int, value: Any) -> Any:
        self._log(get_ident()).extend((time_ns(), code, 0))
        return None

    def _unwind(self, code: CodeType, offset: int, error: BaseException) -> None:
        if self.user[code.co_filename]:
            self._log(get_ident()).extend((time_ns(), code, 0))
