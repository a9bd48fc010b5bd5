"""The host's clock beside a modelled device.

What numpy computes for the device takes no time of the host's; launching it does, and so does what
the host waits for. Modelled time is therefore real time less an offset, which every stretch of such
work changes: a stretch from `begin_ns` to `end_ns` counts as `cost_ns`.

    real       ---------|=========== numpy ===========|-------
    modelled   ---------|launch|-------

There is one such clock for all threads of a process. Who records host times in real time (a
profiler) adds a list to `turns`. It gets a pair (real_ns, modelled_ns) for both ends of each
stretch, and can map with them what was recorded: between two pairs time goes on evenly.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from time import perf_counter_ns, time_ns

Turn = tuple[int, int]

offset_ns = 0  # what real time is ahead of modelled time
turns: list[list[Turn]] = []
_lock = threading.RLock()
_covered_ns = 0  # real time up to which stretches have been counted


class _Stretch(threading.local):
    """`with stretch:` what this thread does inside, it does for the device.

    To the host that counts as `cost_ns`, which is 0 unless it is set inside.
    """

    begin_ns = 0  # in real time; 0 while no stretch is open in this thread
    cost_ns = 0

    def __enter__(self) -> None:
        self.begin_ns = perf_counter_ns()

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        begin_ns, self.begin_ns = self.begin_ns, 0
        cost_ns, self.cost_ns = self.cost_ns, 0
        count(begin_ns, perf_counter_ns(), cost_ns)


stretch = _Stretch()


def now_ns() -> int:
    """Modelled time, on the scale of `time.perf_counter_ns`; it stands while a stretch is open."""
    begin_ns = stretch.begin_ns
    if not begin_ns:
        return perf_counter_ns() - offset_ns
    with _lock:  # where another thread's stretch has covered a part of it time went on with that
        return max(begin_ns, _covered_ns) - offset_ns


def unix_ns() -> int:
    """Modelled time, on the scale of `time.time_ns`."""
    return time_ns() - offset_ns


def count(begin_ns: int, end_ns: int, cost_ns: int) -> int:
    """Have a stretch of real time count as `cost_ns`; returns the modelled time of its end.

    Where another thread's stretch has covered a part of it, only the rest is replaced. It may lie
    in an open one of this thread, which then counts up to it, and goes on after it.
    """
    global offset_ns, _covered_ns  # noqa: PLW0603 - a process has one clock
    with _lock:
        if stretch.begin_ns:
            open_ns, stretch.begin_ns = stretch.begin_ns, 0
            count(open_ns, max(open_ns, begin_ns), 0)
            stretch.begin_ns = max(open_ns, end_ns)
        if begin_ns < _covered_ns:
            begin_ns, end_ns = _covered_ns, max(_covered_ns, end_ns)
        before = begin_ns - offset_ns
        offset_ns += end_ns - begin_ns - cost_ns
        _covered_ns = end_ns
        for each in turns:
            each.append((begin_ns, before))
            each.append((end_ns, end_ns - offset_ns))
        return end_ns - offset_ns


def wait_until(modelled_ns: int) -> None:
    """Have the host wait, unless that time has passed."""
    with _lock:  # of two threads that wait for one moment the second may have nothing to wait for
        now = perf_counter_ns()
        if stretch.begin_ns:
            count(now, now, 0)
        missing = modelled_ns - (now - offset_ns)
        if missing > 0:
            count(now, now, missing)


def add_turns(known: list[Turn]) -> None:
    """Write turns to a list from now on.

    Of a stretch that is under way only the rest counts, so that the list is in order.
    """
    global _covered_ns  # noqa: PLW0603
    with _lock:
        now = perf_counter_ns()
        _covered_ns = max(_covered_ns, now)
        known.append((now, now - offset_ns))
        turns.append(known)


def modelled(known: list[Turn], real_ns: int) -> int:
    """Real time as modelled time, by a list of turns that begins before it."""
    place = bisect_right(known, real_ns, key=lambda turn: turn[0]) - 1
    real, there = known[max(place, 0)]
    if place + 1 < len(known) and place >= 0:
        next_real, next_there = known[place + 1]
        if next_real - real:
            return there + (real_ns - real) * (next_there - there) // (next_real - real)
    return there + real_ns - real
