"""How long threads of a script compute beside its steps."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tidy.run.child.processor_times import processor_times, times_of_threads

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="only Linux tells how long threads ran"
)
_COMPUTES_NS = 60_000_000


def _computes() -> None:
    while time.thread_time_ns() < _COMPUTES_NS:
        sum(range(1000))


def _waits() -> None:
    is_over.wait()


is_over = threading.Event()


@pytest.mark.parametrize(
    ("beside", "least_ns", "most_ns"),
    [(_computes, 0.8 * _COMPUTES_NS, 1e12), (_waits, 0, 0.2 * _COMPUTES_NS)],
)
def test_threads_beside(beside: Callable[[], None], least_ns: float, most_ns: float) -> None:
    """What this thread computes itself is none of it."""
    is_over.clear()
    before = times_of_threads()
    done = threading.Event()

    def run() -> None:  # a thread that has ended is not asked
        beside()
        done.set()
        is_over.wait()

    thread = threading.Thread(target=run)
    thread.start()
    own_ns = time.thread_time_ns() + _COMPUTES_NS
    while time.thread_time_ns() < own_ns or not (done.is_set() or beside is _waits):
        sum(range(1000))
    found_ns = processor_times(before, None)["beside_ns"]
    is_over.set()
    thread.join()
    assert least_ns <= found_ns <= most_ns
