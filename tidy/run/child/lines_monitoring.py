"""Line events by `sys.monitoring`, on Python 3.12 and later.

Two tools are used: one notices code when it first runs, the other has the events of the user's code
objects, and of the functions of libraries that are wanted. What is switched off, and when, is said
in resting.py.

Each callback swallows a RecursionError: the script may be so near to its limit that nothing can be
called any more. What was not logged then is another call of the function that recursed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import get_ident
from types import CodeType, FrameType
from typing import Any

from .kept import time
from .lines import UNSURE, Log, Logs
from .purity import Purity
from .resting import MANY, Code, Spot, Thread, short_below_ns

time_ns = time.time_ns
_CHECK_NS = 50_000_000


class MonitoringLines(Logs):
    """Events of the user's code objects alone; all others switch themselves off when first met."""

    def _install(self) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        self._monitoring = monitoring
        self.purity = Purity(self.user.__getitem__, many_lines=float("inf"))
        self._threads: dict[int, Thread] = {}
        self._states: dict[int, Code] = {}
        self._resting: dict[int, Code] = {}
        self._check_ns = self._refresh_ns = self._short_ns = 0
        free = [i for i in (3, 4, 1, 5, 2, 0) if monitoring.get_tool(i) is None]
        self._finder, self._tool = free[0], free[-1] if len(free) == 1 else free[1]
        self._may_rest = self._finder != self._tool
        for tool in {self._finder, self._tool}:
            monitoring.use_tool_id(tool, "tidy")
        events = monitoring.events
        self._of_library = events.PY_START | events.PY_RETURN
        handlers = {
            events.LINE: self._line,
            events.PY_START: self._enter,
            events.PY_RESUME: self._enter,
            events.PY_RETURN: self._leave,
            events.PY_YIELD: self._leave,
        }
        first = {
            events.PY_START: self._first,
            events.PY_RESUME: self._first,
            events.PY_THROW: self._enter,
            events.PY_UNWIND: self._leave,
        }
        for tool, callbacks in ((self._tool, handlers), (self._finder, first)):
            for event, callback in callbacks.items():
                monitoring.register_callback(tool, event, callback)
        self._local = sum(handlers)
        self._events = {*handlers, *first}
        monitoring.restart_events()  # what an earlier recording of this process switched off
        self._short_ns = self._try_lines()
        thread = self._thread(get_ident())
        for each in self.enter_open_frames(thread.log, sys._getframe(1)):
            self._follow(each.f_code, self._local)
            thread.open.append((self._states[id(each.f_code)], None, None))
        monitoring.set_events(self._finder, sum(first))

    def _remove(self) -> None:
        monitoring = self._monitoring
        for tool in {self._finder, self._tool}:
            if monitoring.get_tool(tool) != "tidy":
                continue
            monitoring.set_events(tool, 0)
            for event in self._events:
                monitoring.register_callback(tool, event, None)
            if tool == self._tool:
                for state in self._states.values():
                    monitoring.set_local_events(tool, state.code, 0)
            monitoring.free_tool_id(tool)
        self._resting.clear()

    def _try_lines(self) -> int:
        """From when on a line may have run an operator, by trying what an event takes."""
        code: Any = compile("\n".join(["x = 0"] * 200), "<tidy>", "exec")
        self._follow(code, self._local)
        thread, real = self._thread(get_ident()), self.on_time
        kept, thread.log = thread.log, []
        self.on_time = lambda now: None
        try:
            exec(code, {})  # noqa: S102 - 200 lines that do nothing
            return short_below_ns(thread.log[::3])
        finally:
            thread.log, self.on_time, thread.spot = kept, real, None
            self._monitoring.set_local_events(self._tool, code, 0)
            del self._states[id(code)]

    def learn(self, log: Log, starts_ns: Callable[[], list[int]]) -> None:
        super().learn(log, starts_ns)
        for number, state in list(self._states.items()):
            is_pure = number in self.purity.line_counts
            if is_pure != state.is_pure:
                state.learn(is_pure, self._short_ns)

    def refresh(self) -> None:
        """See again what was switched off: it may have come to start operators."""
        now = time_ns()
        if not self._resting or now < self._refresh_ns:
            return
        for state in list(self._resting.values()):
            state.doubt()
            self._wake(state)
        end = time_ns()
        self._refresh_ns = end + 50 * (end - now)

    # -- code and threads -------------------------------------------------------------------------

    def _thread(self, ident: int) -> Thread:
        thread = self._threads.get(ident)
        if thread is None:
            thread = self._threads[ident] = Thread(self.new_log())
        return thread

    def _follow(self, code: CodeType, events: int) -> None:
        state = Code(code, events, events == self._of_library, self._short_ns)
        self._states[id(code)] = state
        self._monitoring.set_local_events(self._tool, code, events)

    def _wake(self, state: Code) -> None:
        """Switch all events of a code object on."""
        self._resting.pop(id(state.code), None)
        state.has_resting_lines = state.rests = False
        self._monitoring.set_local_events(self._tool, state.code, 0)
        self._monitoring.set_local_events(self._tool, state.code, state.events)

    # -- events -----------------------------------------------------------------------------------

    def _first(self, code: CodeType, offset: int) -> Any:
        try:
            is_new = id(code) not in self._states
            if is_new and self.user[code.co_filename]:
                self._follow(code, self._local)
            elif is_new and self.library.wants(code):
                self._follow(code, self._of_library)
            elif is_new:
                return self._monitoring.DISABLE
            if is_new or not self._may_rest:
                self._begin(self._states[id(code)], sys._getframe(1))
            return self._monitoring.DISABLE if self._may_rest else None
        except RecursionError:
            return None

    def _enter(self, code: CodeType, offset: int, error: BaseException | None = None) -> None:
        try:
            state = self._states.get(id(code))
            if state is not None and not state.rests:
                self._begin(state, sys._getframe(1))
        except RecursionError:
            return

    def _begin(self, state: Code, frame: FrameType) -> None:
        now = time_ns()
        thread, code = self._thread(get_ident()), state.code
        if state.is_library:
            thread.log.extend((now, self.library.called(frame), -1))
            return
        spot = thread.spot
        if spot is not None and not spot.is_entry:
            spot.took(now - thread.since_ns)
        if not state.is_pure:
            self.purity.called(frame)
        caller = self._say_line_of_caller(now, thread, frame) if thread.unsure else None
        if state.thread is not thread and state.is_of_another(thread):
            self._wake(state)
        thread.log.extend((now, code, -(frame.f_lineno or code.co_firstlineno)))
        thread.open.append((state, spot, caller))
        thread.spot = state.entry
        thread.since_ns = now

    def _say_line_of_caller(self, now: int, thread: Thread, frame: FrameType) -> Code | None:
        """Its line is not known, but right now it can be asked for."""
        thread.unsure = False
        above = frame.f_back
        while above is not None:
            state = self._states.get(id(above.f_code))
            if state is not None and not state.is_library:
                thread.log.extend((now, state.code, above.f_lineno or state.code.co_firstlineno))
                return state
            above = above.f_back
        return None

    def _line(self, code: CodeType, line: int) -> Any:
        try:
            now = time_ns()
            thread, state = self._thread(get_ident()), self._states[id(code)]
            spot = thread.spot
            if spot is not None and not spot.is_entry:
                spot.took(now - thread.since_ns)
            spot = state.spots.get(line)
            if spot is None:
                spot = state.spots[line] = Spot(state.short_ns)
            if state.thread is not thread and state.is_of_another(thread):
                self._wake(state)
            if spot.short >= MANY and self._may_rest and state.may_rest():
                thread.log.extend((now, code, line | UNSURE))
                thread.spot, thread.unsure = None, True
                if not state.has_resting_lines:
                    state.has_resting_lines, state.since_ns = True, now
                    self._resting[id(code)] = state
                return self._monitoring.DISABLE
            thread.log.extend((now, code, line))
            thread.spot, thread.unsure, thread.since_ns = spot, False, now
            if state.has_resting_lines:
                # The line after this one has to be seen, or what it starts would be said of
                # this one.
                state.hold_if_short(now)
                self._wake(state)
                thread.since_ns = time_ns()
            if now > self._check_ns:
                self._check_ns = now + _CHECK_NS
                self.on_time(now)
            return None
        except RecursionError:
            return None

    def _leave(self, code: CodeType, offset: int, value_or_error: Any) -> None:
        try:
            state = self._states.get(id(code))
            if state is not None and not state.rests:
                self._end(state)
        except RecursionError:
            return

    def _end(self, state: Code) -> None:
        now = time_ns()
        thread, code = self._thread(get_ident()), state.code
        thread.log.extend((now, code, 0))
        if state.is_library:
            return
        spot = thread.spot
        if spot is not None:
            # Of a whole call only where no event came between its beginning and its end.
            spot.took(now - thread.since_ns)
        if state.is_pure:
            state.entry.took(0)
        caller_spot, caller = thread.close(state)
        thread.spot, thread.since_ns, thread.unsure = caller_spot, now, False
        if caller is not None:
            if caller.rests:
                thread.log.extend((now, caller.code, 0))
            elif caller.has_resting_lines:
                thread.log.extend((now, caller.code, caller.code.co_firstlineno | UNSURE))
            thread.spot, thread.unsure = None, True
        if state.entry.short >= MANY and self._may_rest and state.may_rest():
            if any(each is state for each, _, _ in thread.open):
                return
            state.rests = True
            self._resting[id(code)] = state
            self._monitoring.set_local_events(self._tool, code, 0)
