"""Replaying a line log: which of the user's frames are open on a thread at any moment.

A stack of frames is a number, an index into `FrameStacks`: its caller's stack, code and line. Calls
that end on the way are given as well, those of libraries among them, and lines that take long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..trace.links import innermost_open
from ..trace.tree import build_tree, order_by_start
from .child.library import MODULE, MODULE_CALL, USER
from .child.lines import AFRESH, OFF, ON, UNKNOWN, UNSURE

NONE = -1  # no frame of the user, or nothing known
NO_LINE = 0  # as the line of a frame: it is not known; below it, it is near that line
SHORTEST_NS = 20_000  # that a function or a line takes to be shown for itself
_BEFORE_NS = int(np.iinfo(np.int64).min)


class Call(NamedTuple):
    """A call of a function that was logged; `code` is an index into the log's table."""

    code: int
    start_ns: int
    end_ns: int


class FrameStacks(dict[tuple[int, int, int], int]):
    """All stacks met, each once; `nodes[i]` is (caller's stack or NONE, code, line)."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: list[tuple[int, int, int]] = []

    def __missing__(self, node: tuple[int, int, int]) -> int:
        self[node] = number = len(self.nodes)
        self.nodes.append(node)
        return number


@dataclass
class ThreadLines:
    """What was open on one thread, from each moment to the next.

    Attributes:
        times_ns: ascending, shape (n,); the first is before all others.
        stacks: the stack from that moment on.
        since_ns: when the line on top of it was reached.
        calls: those that ended, and those that were open in the end, which end there.
    """

    times_ns: NDArray[np.int64]
    stacks: NDArray[np.int64]
    since_ns: NDArray[np.int64]
    calls: list[Call] = field(default_factory=list)

    def at(self, times_ns: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(stack, since_ns) at each time."""
        at = np.searchsorted(self.times_ns, times_ns, side="right") - 1
        return self.stacks[at], self.since_ns[at]


class _Frame(NamedTuple):
    code: int
    stack: int
    since_ns: int
    start_ns: int


class Replay:
    """The frames of one thread; goes on from piece to piece."""

    def __init__(self, stacks: FrameStacks) -> None:
        self._stacks = stacks
        self._open: list[_Frame] = []
        self._left: list[_Frame] = []  # what was open where nothing was logged from then on
        self._left_at = -1  # the number of that entry in this part of the log
        self._library: list[tuple[int, int, int]] = []  # code, start, frames of the user's below
        self._calls: list[Call] = []
        self._kinds: Sequence[int] = ()

    def read(
        self,
        triples: NDArray[np.int64],
        kinds: Sequence[int] = (),
        start_ns: int = _BEFORE_NS,
        end_ns: int = 0,
    ) -> ThreadLines:
        """Return the next part of the log, shape (n, 3), and its table's kinds of code."""
        self._kinds, self._calls = kinds, []
        # What came from the part before was called when this one begins.
        self._open, self._left = (
            [each._replace(start_ns=max(each.start_ns, start_ns)) for each in frames]
            for frames in (self._open, self._left)
        )
        self._library = [(c, max(began, start_ns), n) for c, began, n in self._library]
        frames, number_of = self._open, self._stacks
        top = frames[-1] if frames else None
        stacks = [NONE if top is None else top.stack]
        since = [NONE if top is None else top.since_ns]
        self._left_at = -1
        for time, code, line in triples.tolist():
            if top is not None and code == top.code and 0 < line < UNSURE:
                # Most entries are the next line of the frame on top.
                caller = frames[-2].stack if len(frames) > 1 else NONE
                stack = number_of[caller, code, line]
                top = frames[-1] = _Frame(code, stack, time, top.start_ns)
                stacks.append(stack)
                since.append(time)
                continue
            if line == ON and self._left_at >= 0:
                stacks[self._left_at :] = [self._stack_left()] * (len(stacks) - self._left_at)
            self._take(time, code, line)
            if line == OFF:
                self._left_at = len(stacks)
            frames = self._open
            top = frames[-1] if frames else None
            stacks.append(NONE if top is None else top.stack)
            since.append(NONE if top is None else top.since_ns)
        times_ns = np.concatenate([[_BEFORE_NS], triples[:, 0]])
        still_open = [(each.code, each.start_ns) for each in self._left or self._open]
        still_open += [(code, began) for code, began, _ in self._library]
        calls = [*self._calls, *(Call(code, began, end_ns) for code, began in still_open)]
        return ThreadLines(times_ns, np.array(stacks, np.int64), np.array(since, np.int64), calls)

    def _take(self, time: int, code: int, line: int) -> None:
        kind = self._kinds[code] if self._kinds else USER
        if line <= OFF:
            self._mark(time, line)
        elif kind != USER:
            self._take_library(time, code, kind, line)
        elif line == 0:
            depth = self._depth_of(code)
            if depth >= 0:
                self._close(time, depth)
        elif line < 0:
            self._enter(code, -line, time, time)
        else:
            self._reach(time, code, UNSURE - line if line & UNSURE else line)

    def _stack_left(self) -> int:
        """The place of what ran meanwhile, now that it is known to have come back."""
        if not self._left:
            return NONE
        top = self._left[-1]
        return self._stacks[self._stacks.nodes[top.stack][0], top.code, NO_LINE]

    def _mark(self, time: int, marker: int) -> None:
        if marker == OFF:
            self._left = list(self._open)
        else:
            self._open, self._left, self._left_at = self._left or self._open, [], -1
        if marker in (UNKNOWN, AFRESH):
            self._close(time, marker == UNKNOWN)
        if marker in (UNKNOWN, OFF) and self._open:
            # The outermost frame is open as long as anything is; what is not followed is in it.
            outermost = self._open[0]
            stack = self._stacks[NONE, outermost.code, NO_LINE]
            self._open = [outermost._replace(stack=stack, since_ns=time)]

    def _take_library(self, time: int, code: int, kind: int, line: int) -> None:
        if line:
            self._library.append((code, time, len(self._open)))
            return
        for at in reversed(range(len(self._library))):
            open_code = self._library[at][0]
            if open_code == code or (kind == MODULE_CALL and self._kinds[open_code] == MODULE):
                self._close(time, self._library[at][2])
                self._calls += (Call(c, began, time) for c, began, _ in self._library[at:])
                del self._library[at:]
                return

    def _reach(self, time: int, code: int, line: int) -> None:
        start_ns, depth = time, self._depth_of(code)
        if depth >= 0:
            self._close(time, depth + 1)
            start_ns = self._open.pop().start_ns
        self._enter(code, line, time, start_ns)

    def _enter(self, code: int, line: int, time: int, start_ns: int) -> None:
        caller = self._open[-1].stack if self._open else NONE
        stack = self._stacks[caller, code, line]
        self._open.append(_Frame(code, stack, time, start_ns))

    def _depth_of(self, code: int) -> int:
        """The place of the innermost frame of a code that is open, -1 for none."""
        for depth in reversed(range(len(self._open))):
            if self._open[depth].code == code:
                return depth
        return -1

    def _close(self, time: int, depth: int) -> None:
        """End all frames of the user's but the first `depth`, and what is open above them."""
        for each in self._open[depth:]:
            self._calls.append(Call(each.code, each.start_ns, time))
        del self._open[depth:]
        while self._library and self._library[-1][2] > depth:
            code, began, _ = self._library.pop()
            self._calls.append(Call(code, began, time))


def long_lines(
    lines: ThreadLines, stacks: FrameStacks, began_ns: NDArray[np.int64], bounds_ns: Sequence[int]
) -> list[tuple[int, int, int]]:
    """Return the start, end and stack of stretches in which the user's lines themselves run.

    One frame runs from the start to the end of a stretch, and nothing that it began is open. The
    stack has the line that takes most of it; where that is in a loop, the loop's first line.

    Args:
        began_ns: starts and ends of ops, ranges and calls of libraries on the thread, shape (2, k).
        bounds_ns: no stretch goes across them; the first and the last are those of the piece.
    """
    (begun, ended), count = began_ns, began_ns.shape[1]
    ends = np.concatenate([ended, bounds_ns])
    turns = np.concatenate([lines.times_ns[1:], begun, ends])
    turns = np.unique(np.clip(turns, bounds_ns[0], bounds_ns[-1]))
    track = np.zeros(count, np.int32)
    tie = np.full(count, -1, np.int64)  # the longer one first
    by_start = order_by_start(begun, ended - begun, track, tie, np.arange(count))
    opened, closed = began_ns[:, by_start]
    tree = build_tree(opened, closed - opened, track, track - 1, coarse_clock=False)
    inside = innermost_open(turns[:-1] + 1, np.arange(count), opened, closed - opened, tree.parent)
    stack, since_ns = lines.at(turns[:-1])
    # What began after the line was reached was begun by it.
    is_own = (stack != NONE) & (np.append(opened, _BEFORE_NS)[inside] < since_ns)
    nodes = np.array([*stacks.nodes, (NONE, NONE, NONE)])
    frames = nodes[stack, :2]
    goes_on = is_own[1:] & is_own[:-1] & (frames[1:] == frames[:-1]).all(axis=1)
    goes_on &= ~np.isin(turns[1:-1], ends)
    stretch = np.cumsum(~np.append(False, goes_on)[: len(stack)]) - 1
    spent_ns = np.diff(turns)
    found = list[tuple[int, int, int]]()
    own_ns = np.bincount(stretch, spent_ns * is_own)
    ends_at = np.cumsum(np.bincount(stretch))
    for number in np.flatnonzero(own_ns >= SHORTEST_NS).tolist():
        first, last = int(ends_at[number - 1]) if number else 0, int(ends_at[number])
        caller, code, _ = nodes[stack[first]].tolist()
        line = _line_of(np.abs(nodes[stack[first:last], 2]), spent_ns[first:last])
        if line != NO_LINE:
            # What ends where another one begins would be around it.
            start_ns, end_ns = int(turns[first]) + 1, int(turns[last]) - 1
            found.append((start_ns, end_ns, stacks[caller, code, line]))
    return found


def _line_of(lines: NDArray[np.int64], spent_ns: NDArray[np.int64]) -> int:
    """Return the line that takes most of a stretch; of a loop that it is in the first line."""
    most = np.bincount(lines, spent_ns).argmax()
    first, last = np.flatnonzero(lines == most)[[0, -1]].tolist()
    within = lines[first : last + 1]
    return int(within[within > NO_LINE].min(initial=most))


NOT_FOLLOWED = Replay(FrameStacks()).read(np.empty((0, 3), np.int64))
