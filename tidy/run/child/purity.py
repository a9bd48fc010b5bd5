"""Which functions of the user's start hardly any operators, as the pieces recorded so far show.

It goes by the log of lines and by when operators began: a function that was called often, and below
which operators began in few lines of very many, or in none, is left alone from then on.
Where many begin in it later, the next pieces show that too.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from .lines import AFRESH, OFF, ON, UNKNOWN

_FEWEST_CALLS = 16
_FEWEST_EVENTS = 20_000  # of a piece: with less there is nothing to gain
MANY_LINES = 200  # for each operator that begins: worth more than to know the operator's line
_GENERATOR = 0x20 | 0x80 | 0x200  # flags of code whose frame may be left and come back


class Purity:
    """Learns from piece to piece; one line of `many_lines` may start an operator.

    Attributes:
        line_counts: by identity of the code, how many lines a call of a function runs that is to
            be left alone.
    """

    def __init__(self, is_users: Callable[[str], bool], many_lines: float) -> None:
        self.line_counts: dict[int, int] = {}
        self._is_users, self._many_lines = is_users, many_lines
        self._callers: dict[int, set[int]] = {}  # by identity of the code
        self._calls: Counter[int] = Counter()  # by number of the code, as are the next two
        self._lines: Counter[int] = Counter()
        self._started: Counter[int] = Counter()

    def called(self, frame: FrameType) -> None:
        """Note which function of the user's called this one."""
        callers = self._callers.setdefault(id(frame.f_code), set())
        above = frame.f_back
        while above is not None:
            if id(above.f_code) in callers:
                return
            if self._is_users(above.f_code.co_filename):
                callers.add(id(above.f_code))
                return
            above = above.f_back

    def learn(
        self, parts: list[bytes], codes: list[Any], starts_ns: Callable[[], list[int]]
    ) -> None:
        """Take the log of a piece.

        Its numbers stand for `codes`, which are code objects but for modules. When operators began,
        ascending, `starts_ns` tells; that takes a while.
        """
        logs = [array("q", part) for part in parts]
        if not self.line_counts and max(map(len, logs), default=0) < 3 * _FEWEST_EVENTS:
            return
        users = {
            number
            for number, code in enumerate(codes)
            if isinstance(code, CodeType) and self._is_users(code.co_filename)
        }
        times_ns = starts_ns()
        for numbers in logs:
            self._started.update(_on_top(numbers, times_ns, users))
            pairs = zip(numbers[1::3], numbers[2::3])  # noqa: B905 - `strict` is of Python 3.10
            self._lines.update(numbers[1::3])
            self._calls.update(code for code, line in pairs if OFF < line < 0)
        self._conclude(codes, users)

    def _conclude(self, codes: list[Any], users: set[int]) -> None:
        starters = {
            id(codes[number])
            for number, count in self._started.items()
            if self._lines[number] < self._many_lines * count
        }
        todo = list(starters)
        while todo:
            new = self._callers.get(todo.pop(), set()) - starters
            starters |= new
            todo += new
        for number in users:
            code, count = codes[number], self._calls[number]
            if id(code) in starters:
                self.line_counts.pop(id(code), None)
            elif count >= _FEWEST_CALLS:
                # To wait until the frame of a generator is gone would be too long.
                lines = 0 if code.co_flags & _GENERATOR else self._lines[number] // count
                self.line_counts.setdefault(id(code), lines)


def _on_top(numbers: array[int], starts_ns: list[int], users: set[int]) -> list[int]:
    """The user's code on top when operators began, or left alone then, once for each line."""
    times, found, last = numbers[0::3], list[int](), -1
    for start in starts_ns:
        at = bisect_right(times, start) - 1
        if at < 0 or at == last:
            continue
        last, left = at, list[int]()  # functions left since then, the outermost first
        while at >= 0:
            code, line = numbers[3 * at + 1], numbers[3 * at + 2]
            at -= 1
            if line in (AFRESH, UNKNOWN):
                break
            if line == 0:
                left.append(code)
                continue
            if OFF < line < 0 and left:
                # What was left since then is over, too; where it is none of them, it is open.
                is_over = code in left
                while left and left.pop() != code:
                    pass
                if is_over:
                    continue
            if not left and code in users and line != ON:
                found.append(code)
                break
    return found
