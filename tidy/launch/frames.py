"""Replaying a line log: which of the user's frames are open on a thread at any moment.

A stack of frames is a number, an index into `Stacks`: its caller's stack, code and line.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

NONE = -1  # no frame of the user, or nothing known
_UNKNOWN = -(1 << 40)  # as in child/lines.py


@dataclass
class Stacks:
    """All stacks met, each once; `nodes[i]` is (caller's stack or NONE, code, line)."""

    nodes: list[tuple[int, int, int]] = field(default_factory=list)
    _index: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def index(self, caller: int, code: int, line: int) -> int:
        key = caller, code, line
        found = self._index.get(key)
        if found is None:
            found = self._index[key] = len(self.nodes)
            self.nodes.append(key)
        return found


@dataclass
class ThreadLines:
    """What was open on one thread, from each moment to the next.

    Attributes:
        times_ns: ascending, shape (n,).
        stacks: the stack from that moment on.
        since_ns: when the line on top of it was reached.
    """

    times_ns: NDArray[np.int64]
    stacks: NDArray[np.int64]
    since_ns: NDArray[np.int64]

    @classmethod
    def nothing(cls) -> ThreadLines:
        """Of a thread that was not followed."""
        none = np.empty(0, np.int64)
        return cls(none, none, none)

    def at(self, times_ns: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(stack, since_ns) at each time."""
        if not len(self.times_ns):
            none = np.full(len(times_ns), NONE, np.int64)
            return none, none
        at = np.searchsorted(self.times_ns, times_ns, side="right") - 1
        known = at >= 0
        at = np.maximum(at, 0)
        return np.where(known, self.stacks[at], NONE), np.where(known, self.since_ns[at], NONE)


class Replay:
    """The frames of one thread; goes on from piece to piece."""

    def __init__(self, stacks: Stacks) -> None:
        self._stacks = stacks
        self._open: list[tuple[int, int, int]] = []  # (code, stack, since_ns)

    def read(self, triples: NDArray[np.int64]) -> ThreadLines:
        """The next part of the log, shape (n, 3)."""
        stacks, since = list[int](), list[int]()
        for time, code, line in triples.tolist():
            self._take(time, code, line)
            _, stack, reached = self._open[-1] if self._open else (0, NONE, NONE)
            stacks.append(stack)
            since.append(reached)
        return ThreadLines(triples[:, 0], np.array(stacks, np.int64), np.array(since, np.int64))

    def _take(self, time: int, code: int, line: int) -> None:
        frames = self._open
        if line == _UNKNOWN:
            frames.clear()
        elif line == 0:
            self._leave(code)
        elif line < 0:
            self._enter(code, -line, time)
        else:
            if frames and frames[-1][0] != code and any(each[0] == code for each in frames):
                while frames[-1][0] != code:
                    frames.pop()
            if frames and frames[-1][0] == code:
                frames.pop()
            self._enter(code, line, time)

    def _enter(self, code: int, line: int, time: int) -> None:
        caller = self._open[-1][1] if self._open else NONE
        self._open.append((code, self._stacks.index(caller, code, line), time))

    def _leave(self, code: int) -> None:
        if any(each[0] == code for each in self._open):
            while self._open.pop()[0] != code:
                pass
