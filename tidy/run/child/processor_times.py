"""How long threads had a processor or waited for one, and processors were idle, on Linux."""

from __future__ import annotations

import sys
from typing import Any

from .kept import os, thread
from .worker_reports import processor_ns

_IDLE = slice(4, 6)  # columns of /proc/stat: idle, and idle while something waits for a disk


def times_of_threads() -> dict[str, tuple[int, int]]:
    """By thread how long it had a processor and waited for one, in nanoseconds."""
    try:
        threads = os.listdir("/proc/self/task")
    except OSError:
        return {}
    return {each: processor_ns(f"self/task/{each}") for each in threads}


def idle_ns() -> int | None:
    """Return how long the processors that this process may use had nothing to do since the machine
    started, together, in nanoseconds; None if the system does not say so of each.
    """
    try:
        with open("/proc/stat", "rb", 0) as file:
            lines = [line.split() for line in file.read(1 << 20).splitlines()]
        ticks = {line[0]: sum(map(int, line[_IDLE])) for line in lines if line}
        found = sum(ticks[b"cpu%d" % each] for each in os.sched_getaffinity(0))
        return found * (1_000_000_000 // os.sysconf("SC_CLK_TCK")) or None
    except (OSError, ValueError, KeyError, AttributeError):
        return None


def processor_times(
    before: dict[str, tuple[int, int]], idle_before_ns: int | None
) -> dict[str, int]:
    """Return what the facts of a piece say of the times since those before, in nanoseconds.

    `queued_ns` is how long threads that are still there have waited for a processor, `beside_ns`
    how long threads that the script started from Python had one, without this thread, and `idle_ns`
    how long the processors that the process may use had nothing to do, if that is known.
    """
    idle_now_ns = idle_ns()
    queued_ns = beside_ns = 0
    others = _python_threads() - {str(thread.get_native_id())}
    for each, (ran_ns, waited_ns) in times_of_threads().items():
        ran_before_ns, waited_before_ns = before.get(each, (0, 0))
        queued_ns += waited_ns - waited_before_ns
        if each in others:
            beside_ns += ran_ns - ran_before_ns
    times = {"queued_ns": queued_ns, "beside_ns": beside_ns}
    if idle_before_ns is not None and idle_now_ns is not None:
        times["idle_ns"] = idle_now_ns - idle_before_ns
    return times


def _python_threads() -> set[str]:
    threading: Any = sys.modules.get("threading")
    known = dict(getattr(threading, "_active", {}))
    return {str(getattr(each, "native_id", None)) for each in known.values()}
