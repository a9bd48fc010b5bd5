"""The times that threads of this process had a processor or waited for one, on Linux."""

from __future__ import annotations

import sys
from typing import Any

from .kept import os, thread
from .worker_reports import processor_ns


def times_of_threads() -> dict[str, tuple[int, int]]:
    """By thread how long it had a processor and waited for one, in nanoseconds."""
    try:
        threads = os.listdir("/proc/self/task")
    except OSError:
        return {}
    return {each: processor_ns(f"self/task/{each}") for each in threads}


def processor_times(before: dict[str, tuple[int, int]]) -> dict[str, int]:
    """Return what the facts of a piece say of the times since those `before`, in nanoseconds.

    `queued_ns` is how long threads that are still there have waited for a processor, and
    `beside_ns` how long threads that the script started from Python had one, without this thread.
    """
    queued_ns = beside_ns = 0
    others = _python_threads() - {str(thread.get_native_id())}
    for each, (ran_ns, waited_ns) in times_of_threads().items():
        ran_before_ns, waited_before_ns = before.get(each, (0, 0))
        queued_ns += waited_ns - waited_before_ns
        if each in others:
            beside_ns += ran_ns - ran_before_ns
    return {"queued_ns": queued_ns, "beside_ns": beside_ns}


def _python_threads() -> set[str]:
    threading: Any = sys.modules.get("threading")
    known = dict(getattr(threading, "_active", {}))
    return {str(getattr(each, "native_id", None)) for each in known.values()}
