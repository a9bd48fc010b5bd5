"""What `sys.settrace` calls on one thread, before Python 3.12.

Each code object has a function for its lines. A line that was so short, many times in a row, that
no operator can have run in it is logged no more (resting.py has the numbers): its event then ends
at once. What runs in such a line after all has the place of its function.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import gettrace, settrace  # as they were before a script replaced them
from types import CodeType, FrameType
from typing import Any

from .kept import time
from .lines import UNSURE
from .resting import AGAIN, MANY, SHORT_NS

time_ns = time.time_ns
_CHECK_NS = 50_000_000  # how often the clock of the recording is asked
_FEWEST_LINES = 4  # that a function runs for which it is worth to take the trace function away
_IMPORTER = "<frozen importlib._bootstrap>"
Trace = Callable[[FrameType, str, Any], Any]


class _Lines:
    """The lines of a code object: how often each was short in a row, and those that rest."""

    __slots__ = ("resting", "short", "trace")

    def __init__(self) -> None:
        self.short: dict[int, int] = {}
        self.resting: set[int] = set()
        self.trace: Trace


class TraceFunctions:
    """Those of one thread, which close over its log; the `TraceLines` has what all threads share.

    Attributes:
        call: what traces calls.
        foreign: filled while another function traces, when open frames still come here.
    """

    def __init__(self, owner: Any, log: list[Any]) -> None:
        self.log, self.foreign = log, list[str]()
        self._owner = owner
        self._lines: dict[int, _Lines] = {}
        self._have_resting: list[_Lines] = []
        # The line that runs: of which code, and its number; nothing where more than it runs.
        self._on: _Lines | None = None
        self._number = self._since_ns = 0
        self._resting_in: _Lines | None = None  # whose line on top is not known
        self._check_ns = 0
        self.call = self._make_call()
        # From when on a line may have run an operator, and what a call adds that is left alone.
        self._short_ns = self._call_ns = 0
        if owner.tried_ns is None and gettrace() is None:
            owner.tried_ns = self._try_events()
        if owner.tried_ns is not None:
            self._short_ns, self._call_ns = owner.tried_ns

    def line_of(self, code: CodeType) -> Trace:
        """Return the function that traces the lines of this code."""
        lines = self._lines.get(id(code))
        if lines is None:
            # The function holds the code, so that no other one gets its identity.
            lines = self._lines[id(code)] = _Lines()
            lines.trace = self._make_line(code, lines)
        return lines.trace

    def doubt(self) -> None:
        """Have all lines that rest show a few times more that they are short."""
        while self._have_resting:
            lines = self._have_resting.pop()
            for number in list(lines.resting):
                lines.short[number] = MANY - AGAIN
            lines.resting.clear()

    def begin_afresh(self) -> None:
        """Log the lines that run anew."""
        self._on = self._resting_in = None

    def _try_events(self) -> tuple[int, int]:
        """Find out what tracing adds to a line, and to a call of a function that is left alone."""
        line_counts = self._owner.purity.line_counts
        line_counts[id(_add_one.__code__)] = 0
        line_ns, both_ns = (_median_gap_ns(each, self.call) for each in ("x = 0", "add_one(1)"))
        del line_counts[id(_add_one.__code__)]
        return line_ns + SHORT_NS, max(both_ns - line_ns, 0)

    def _make_line(self, code: CodeType, mine: _Lines) -> Trace:
        add, foreign, resting = self.log.extend, self.foreign, mine.resting

        def line(frame: FrameType, event: str, arg: Any) -> Any:
            try:
                if foreign:
                    if gettrace() is not self.call:
                        return line
                    foreign.clear()
                if event == "line":
                    number = frame.f_lineno
                    if number not in resting:
                        return line if self._reached(mine, code, number) else None
                    if self._resting_in is not mine:
                        now = time_ns()
                        self._judge(now)
                        add((now, code, number | UNSURE))
                        self._on, self._resting_in = None, mine
                elif event == "return":
                    add((time_ns(), code, 0))
                    self._on = self._resting_in = None
            except RecursionError:
                return line
            return line

        return line

    def _reached(self, mine: _Lines, code: CodeType, number: int) -> bool:
        """Log that a line was reached; whether there is more to log."""
        now = time_ns()
        self._judge(now)
        number = number or code.co_firstlineno
        self.log.extend((now, code, number))
        if now > self._check_ns:
            self._check_ns = now + _CHECK_NS
            if not self._owner.recording:
                return False
            self._owner.on_time(now)
        self._on, self._number, self._resting_in = mine, number, None
        self._since_ns = time_ns()
        return True

    def _judge(self, now: int) -> None:
        """The line that ran until now was short or not."""
        lines = self._on
        if lines is None:
            return
        short = lines.short.get(self._number, 0)
        if now - self._since_ns < self._short_ns:
            lines.short[self._number] = short + 1
            if short + 1 >= MANY:
                if not lines.resting:
                    self._have_resting.append(lines)
                lines.resting.add(self._number)
        elif short:
            lines.short[self._number] = short >> 1

    def _begin_call(self, frame: FrameType) -> None:
        """Something else runs; a line of the caller's that is not known can be asked for here."""
        above = frame.f_back if self._resting_in is not None else None
        self._on = self._resting_in = None
        while above is not None:
            if self._owner.user[above.f_code.co_filename]:
                self.log.extend((time_ns(), above.f_code, above.f_lineno))
                return
            above = above.f_back

    def _make_call(self) -> Trace:
        owner, add = self._owner, self.log.extend
        user, library, purity = owner.user, owner.library, owner.purity
        line_counts, called = purity.line_counts, purity.called

        def call(frame: FrameType, event: str, arg: Any) -> Any:
            try:
                code = frame.f_code
                count = line_counts.get(id(code))
                if count is not None and count < _FEWEST_LINES:
                    self._since_ns += self._call_ns
                    return None
                if not owner.recording:
                    owner.trace_with(None)
                    return None
                file = code.co_filename
                if not user[file]:
                    return call_library(frame, code) if library[file] or file == _IMPORTER else None
                self._begin_call(frame)
                if count is None:
                    called(frame)
                    add((time_ns(), code, -frame.f_lineno))
                    return self.line_of(code)
                add((time_ns(), code, -frame.f_lineno))
                return owner.go_away(frame, code)
            except RecursionError:
                return None

        def call_library(frame: FrameType, code: CodeType) -> Any:
            if code.co_filename == _IMPORTER:
                is_import = code.co_name == "_find_and_load"
                is_users = is_import and owner.is_users(frame.f_locals.get("name"))
                return owner.go_away(frame, None) if is_import and not is_users else None
            if not library.wants(code):
                return None
            self._begin_call(frame)
            add((time_ns(), library.called(frame), -1))
            frame.f_trace_lines = False
            return self.line_of(code)

        return call


def _add_one(number: int) -> int:
    return number + 1


def _median_gap_ns(line: str, call: Trace) -> int:
    """How long this line takes, from the end of its event to the beginning of the next."""
    gaps: list[int] = []
    since = 0
    code: Any = compile(f"for _ in range(100):\n    {line}\n    {line}", "<tidy>", "exec")

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal since
        if event == "call" and gaps:
            return call(frame, event, arg)
        gaps.append(time_ns() - since)
        since = time_ns()
        return trace

    settrace(trace)
    try:
        exec(code, {"add_one": _add_one})  # noqa: S102 - lines that do next to nothing
    finally:
        settrace(None)
    return sorted(gaps)[len(gaps) // 2]
