"""The host's clock beside a modelled device.

What numpy computes for the device takes no time of the host's; launching it does, and so does what
the host waits for. Modelled time is therefore real time less an offset, which every stretch of such
work changes: a stretch from `begin_ns` to `end_ns` counts as `cost_ns`.

    real       ---------|=========== numpy ===========|-------
    modelled   ---------|launch|-------

There is one such clock for all threads of a process. Who records host times in real time (a
profiler) adds a list to `turns`, gets a pair (real_ns, modelled_ns) for both ends of each stretch,
and can map with them what it recorded: between two pairs time goes on evenly.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right

Turn = tuple[int, int]

offset_ns = 0  # what real time is ahead of modelled time
turns: list[list[Turn]] = []
_lock = threading.RLock()
_covered_ns = 0  # real time up to which stretches have been counted


class _Stretch(threading.local):
    begin_ns = 0  # of the stretch that is open in this thread, in real time; 0 for none


_stretch = _Stretch()


def now_ns() -> int:
    """Modelled time, on the scale of `time.perf_counter_ns`; it stands while a stretch is open."""
    return (_stretch.begin_ns or time.perf_counter_ns()) - offset_ns


def open_stretch() -> None:
    """What this thread does from now on it does for the device."""
    _stretch.begin_ns = time.perf_counter_ns()


def close_stretch(cost_ns: int = 0) -> None:
    """Until now; to the host it counts as `cost_ns`."""
    begin_ns, _stretch.begin_ns = _stretch.begin_ns, 0
    count(begin_ns, time.perf_counter_ns(), cost_ns)


def unix_ns() -> int:
    """Modelled time, on the scale of `time.time_ns`."""
    return time.time_ns() - offset_ns


def count(begin_ns: int, end_ns: int, cost_ns: int) -> int:
    """A stretch of real time counts as `cost_ns`; gives the modelled time of its end.

    Where another thread's stretch has covered a part of it, only the rest is replaced.
    """
    global offset_ns, _covered_ns  # noqa: PLW0603 - a process has one clock
    with _lock:
        begin_ns = max(begin_ns, _covered_ns)
        end_ns = max(begin_ns, end_ns)
        before = begin_ns - offset_ns
        offset_ns += end_ns - begin_ns - cost_ns
        _covered_ns = end_ns
        for each in turns:
            each.append((begin_ns, before))
            each.append((end_ns, end_ns - offset_ns))
        return end_ns - offset_ns


def wait_until(modelled_ns: int) -> None:
    """The host waits; a time that has passed is no wait."""
    with _lock:  # of two threads that wait for one moment the second may have nothing to wait for
        now, begin = time.perf_counter_ns(), _stretch.begin_ns
        if begin:
            count(begin, now, 0)
            _stretch.begin_ns = now
        missing = modelled_ns - (now - offset_ns)
        if missing > 0:
            count(now, now, missing)


def add_turns(known: list[Turn]) -> None:
    """Begin a list of turns now.

    Of a stretch that is under way only the rest counts, so that the list is in order.
    """
    global _covered_ns  # noqa: PLW0603
    with _lock:
        now = time.perf_counter_ns()
        _covered_ns = max(_covered_ns, now)
        known.append((now, now - offset_ns))
        turns.append(known)


def modelled(known: list[Turn], real_ns: int) -> int:
    """Real time as modelled time, by turns that begin before it."""
    place = bisect_right(known, real_ns, key=lambda turn: turn[0]) - 1
    real, found = known[max(place, 0)]
    if place + 1 < len(known) and place >= 0:
        next_real, next_found = known[place + 1]
        if next_real - real:
            return found + (real_ns - real) * (next_found - found) // (next_real - real)
    return found + real_ns - real
