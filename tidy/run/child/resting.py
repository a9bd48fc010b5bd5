"""Which locations of pure Python may switch themselves off, and what is known of a line meanwhile.

An operator that PyTorch's profiler records takes at least half a microsecond. A line that was
shorter than that many times over, without the event's own cost, starts none: its events are
switched off. So are those of a function whose calls are that short. In a function below which no
operator began so far (purity.py) all lines and calls count as short.

A line that is logged as it is was reached while all lines of its code object were on, so the next
line would have been seen. From a line on that switches itself off the log says that the line is not
sure, until another one is seen; what runs there has the place of the function. Where a line that
is on is reached while others are off they are all switched on, for the same reason. What runs in a
function that is off altogether has the line that called it.
"""

from __future__ import annotations

from types import CodeType
from typing import Any

MANY = 64  # executions that are short before a location is switched off
AGAIN = 4  # the same, after it was switched on again
SHORT_NS = 400  # no operator is as short
_SOON_NS = 1_000  # lines are not worth switching off for a shorter time
_HELD = 256  # events until it is tried again
_EVER_NS = 1 << 62


class Spot:
    """A line, or the calls of a function: how often it was short, of late."""

    __slots__ = ("is_entry", "short", "short_ns")

    def __init__(self, short_ns: int, is_entry: bool = False) -> None:
        self.short_ns, self.is_entry = short_ns, is_entry  # it is shorter than an operator below
        self.short = 0

    def took(self, nanoseconds: int) -> None:
        self.short = self.short + 1 if nanoseconds < self.short_ns else self.short >> 1


class Code:
    """A code object that is followed.

    Attributes:
        short_ns: from when on a line of it may have run an operator.
        is_pure: whether hardly any operator began below it, as earlier pieces show.
        rests: whether it has no events at all.
        since_ns: since when it has lines that are off.
    """

    def __init__(self, code: CodeType, events: int, is_library: bool, short_ns: int) -> None:
        self.code, self.events, self.is_library = code, events, is_library
        self.short_ns, self.is_pure = short_ns, False
        self.entry = Spot(short_ns, is_entry=True)
        self.spots: dict[int, Spot] = {}
        self.has_resting_lines = self.rests = self._is_shared = False
        self.since_ns = self._held = 0
        self.thread: Thread | None = None

    def may_rest(self) -> bool:
        """Tell whether locations may be switched off: not where two threads run them."""
        if self._held:
            self._held -= 1
        return not self._held and not self._is_shared

    def hold_if_short(self, now_ns: int) -> None:
        """Stay on for a while where it was off for a moment only."""
        if now_ns - self.since_ns < _SOON_NS:
            self._held = _HELD

    def is_of_another(self, thread: Thread) -> bool:
        """Note the thread; whether another one ran it before."""
        if self.thread is None:
            self.thread = thread
            return False
        is_new = not self._is_shared
        self._is_shared = True
        return is_new and (self.has_resting_lines or self.rests)

    def learn(self, is_pure: bool, short_ns: int) -> None:
        """Learn whether all lines of a code count as short, or those that are."""
        self.is_pure, self.short_ns = is_pure, _EVER_NS if is_pure else short_ns
        for spot in (self.entry, *self.spots.values()):
            spot.short_ns = self.short_ns

    def doubt(self) -> None:
        """Have all locations show a few times more that they are short."""
        for spot in (self.entry, *self.spots.values()):
            spot.short = min(spot.short, MANY - AGAIN)


class Thread:
    """What is followed on one thread.

    Attributes:
        spot: the location that runs, None where that is not known.
        since_ns: when it was reached.
        unsure: whether the line on top is not known.
        open: (code, location of its caller, code of the caller if its line was unsure).
    """

    __slots__ = ("log", "open", "since_ns", "spot", "unsure")

    def __init__(self, log: list[Any]) -> None:
        self.log = log
        self.open: list[tuple[Code, Spot | None, Code | None]] = []
        self.spot: Spot | None = None
        self.since_ns = 0
        self.unsure = False

    def close(self, state: Code) -> tuple[Spot | None, Code | None]:
        """Leave a function: where its caller was."""
        while self.open:
            each, spot, caller = self.open.pop()
            if each is state:
                # Of a call as a whole nothing is known where there was another one in it.
                return None if spot is not None and spot.is_entry else spot, caller
        return None, None


def short_below_ns(times_ns: list[int]) -> int:
    """From when on a line may have run an operator, by the times of lines that do nothing."""
    gaps = sorted(map(int.__sub__, times_ns[1:], times_ns))
    own_ns = gaps[len(gaps) // 2] if gaps else 0
    return own_ns + min(SHORT_NS, own_ns)
