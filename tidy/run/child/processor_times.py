"""The times that threads of this process had a processor or waited for one, on Linux."""

from __future__ import annotations

import sys
from typing import Any

from .kept import os, thread
from .worker_reports import processor_ns


class ProcessorTimes:
    """Those of a piece."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[int, int]] = {}

    def begin(self) -> None:
        self._before = _of_threads()

    def header(self) -> dict[str, int]:
        """Return what the facts of a piece say, in nanoseconds.

        `queued_ns` is how long threads that are still there have waited for a processor, and
        `beside_ns` how long threads that the script started from Python had one, without this
        thread.
        """
        queued_ns = beside_ns = 0
        others = _python_threads() - {str(thread.get_native_id())}
        for each, (ran_ns, waited_ns) in _of_threads().items():
            ran_before_ns, waited_before_ns = self._before.get(each, (0, 0))
            queued_ns += waited_ns - waited_before_ns
            if each in others:
                beside_ns += ran_ns - ran_before_ns
        return {"queued_ns": queued_ns, "beside_ns": beside_ns}


def _of_threads() -> dict[str, tuple[int, int]]:
    try:
        threads = os.listdir("/proc/self/task")
    except OSError:
        return {}
    return {each: processor_ns(f"self/task/{each}") for each in threads}


def _python_threads() -> set[str]:
    threading: Any = sys.modules.get("threading")
    known = dict(getattr(threading, "_active", {}))
    return {str(getattr(each, "native_id", None)) for each in known.values()}
