"""Measures the lines of functions while a worker fetches one batch: how often each runs, how long.

Samples tell no lines of one batch apart that is quick, and come late where an operator of numpy
(`x * y`) takes long: Python calls the handler of a signal after a call, or when a loop goes on.
"""

from __future__ import annotations

import sys

from .kept import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any

_MOST_ROUNDS = 5000  # lines of a function
_MOST_CALLS = 20_000  # of all functions, which are looked at until Python 3.11


def measure_rounds(hot: list[tuple[CodeType, int]]) -> WorkerRounds | None:
    """Begin to measure functions; None where that cannot be.

    Args:
        hot: each with its costliest line, as far as is known.
    """
    rounds = (_Monitored if sys.version_info >= (3, 12) else _Traced)(hot)
    return rounds if hot and rounds.start() else None


class WorkerRounds:
    """Measures functions.

    A loop that is an expression (`[f(x) for x in xs]`) may have code of its own; what runs there
    counts for the function that it stands in.
    """

    def __init__(self, hot: list[tuple[CodeType, int]]) -> None:
        self._hot = hot
        self._calls, self._left = [0] * len(hot), [_MOST_ROUNDS] * len(hot)
        # By function and line: how often it ran, and how long.
        self._lines: list[dict[int, list[int]]] = [{} for _ in hot]
        self._open: list[Any] = [None] * len(hot)  # the line that runs, and since when
        # By identity: what torch.compile makes may have constants that cannot be hashed.
        self._codes = [
            (code, number)
            for number, (function, _) in enumerate(hot)
            for code in _with_loops(function)
        ]
        self._number = {id(code): number for code, number in self._codes}

    def start(self) -> bool:
        """Begin, unless others have need of what that takes."""
        raise NotImplementedError

    def stop(self) -> list[tuple[CodeType, int, int, int, float]]:
        """End; for each function that was called its code, the calls, its costliest line, how often
        that ran, and its part of the function's time (0 where that was not measured to the end).
        """
        found = []
        for number, (code, known) in enumerate(self._hot):
            lines, is_whole = self._lines[number], self._left[number] > 0
            line = max(lines, key=lambda line: lines[line][1]) if lines and is_whole else known
            runs, ns = lines.get(line, (0, 0))
            part = ns / max(sum(each[1] for each in lines.values()), 1) if is_whole else 0.0
            if runs:
                found.append((code, self._calls[number], line, runs, round(part, 3)))
        return found

    def _enter(self, number: int) -> None:
        self._calls[number] += 1
        self._open[number] = None

    def _at(self, number: int, line: int) -> bool:
        """A line begins; whether that is enough of the function."""
        self._leave(number)
        entry = self._lines[number].setdefault(line, [0, 0])
        entry[0] += 1
        self._open[number] = entry, time.thread_time_ns()
        self._left[number] -= 1
        return self._left[number] <= 0

    def _leave(self, number: int) -> None:
        if self._open[number] is not None:
            entry, since_ns = self._open[number]
            entry[1] += time.thread_time_ns() - since_ns
            self._open[number] = None


def _with_loops(code: CodeType) -> list[CodeType]:
    inner = [each for each in code.co_consts if type(each) is type(code)]
    loops = [each for each in inner if each.co_name.endswith(("comp>", "<genexpr>"))]
    return [code, *(deeper for each in loops for deeper in _with_loops(each))]


class _Traced(WorkerRounds):
    """By the function that debuggers use; until Python 3.11."""

    def start(self) -> bool:
        if sys.gettrace() is not None:
            return False
        self._calls_left = _MOST_CALLS
        sys.settrace(self._called)
        return True

    def stop(self) -> list[tuple[CodeType, int, int, int, float]]:
        if sys.gettrace() == self._called:
            sys.settrace(None)
        return super().stop()

    def _called(self, frame: FrameType, _: str, __: Any) -> Any:
        number = self._number.get(id(frame.f_code))
        self._calls_left -= 1
        if self._calls_left < 0:
            self._left = [0] * len(self._left)
            sys.settrace(None)
        elif number is not None:
            is_function = frame.f_code is self._hot[number][0]
            if is_function:
                self._enter(number)

            def look(frame: FrameType, event: str, _: Any) -> Any:
                if event == "line":
                    if self._at(number, frame.f_lineno):
                        sys.settrace(None)
                elif event == "return" and is_function:
                    self._leave(number)
                return look

            return look
        return None


class _Monitored(WorkerRounds):
    """By what Python has for it since 3.12, in these functions alone."""

    def start(self) -> bool:
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        monitoring = self._monitoring
        free = [tool for tool in (3, 4, 1, 5, 2, 0) if monitoring.get_tool(tool) is None]
        if not free:
            return False
        self._tool, self._disable, events = free[0], monitoring.DISABLE, monitoring.events
        monitoring.use_tool_id(self._tool, "tidy")
        self._callbacks = {
            events.PY_START: self._called,
            events.PY_RESUME: self._called,
            events.PY_RETURN: self._returned,
            events.PY_YIELD: self._returned,
            events.LINE: self._line,
            events.JUMP: self._jump,
        }
        for event, callback in self._callbacks.items():
            monitoring.register_callback(self._tool, event, callback)
        self._line_of = {
            id(code): {
                offset: line
                for first, end, line in code.co_lines()
                for offset in range(first, end, 2)
            }
            for code, _ in self._codes
        }
        for code, _ in self._codes:
            monitoring.set_local_events(self._tool, code, sum(self._callbacks))
        return True

    def stop(self) -> list[tuple[CodeType, int, int, int, float]]:
        monitoring = self._monitoring
        for code, _ in self._codes:
            monitoring.set_local_events(self._tool, code, 0)
        for event in self._callbacks:
            monitoring.register_callback(self._tool, event, None)
        monitoring.free_tool_id(self._tool)
        return super().stop()

    def _called(self, code: CodeType, _: int) -> Any:
        number = self._number[id(code)]
        if code is not self._hot[number][0] or self._calls[number] >= _MOST_CALLS:
            return self._disable
        self._enter(number)
        return None

    def _returned(self, code: CodeType, _: int, __: object) -> Any:
        number = self._number[id(code)]
        if code is not self._hot[number][0]:
            return self._disable
        self._leave(number)
        return None

    def _line(self, code: CodeType, line: int) -> Any:
        return self._disable if self._at(self._number[id(code)], line) else None

    def _jump(self, code: CodeType, offset: int, to: int) -> Any:
        # A loop that is written in one line goes on in it, with no event of the line.
        line, number = self._line_of[id(code)].get(offset), self._number[id(code)]
        if to >= offset or line != self._line_of[id(code)].get(to) or self._left[number] <= 0:
            return self._disable
        if line in self._lines[number]:
            self._lines[number][line][0] += 1
            self._left[number] -= 1
        return None
