"""Real times become modelled ones as the clock itself would map them, in order."""

from __future__ import annotations

import random
import threading
import time
from itertools import pairwise

import pytest

from tidy.profiler.timeline import Timeline
from tidy.runtime.modelled import clock
from tidy.runtime.modelled.activity import ActivityLog, add_log, remove_log


@pytest.mark.parametrize("seed", range(5))
def test_times_are_those_of_the_clock(seed: int) -> None:
    """Among stretches that count for less or for more than they took, and waits."""
    rand = random.Random(seed)  # noqa: S311
    now = real = rand.randrange(10**15)
    turns = [(real, now)]
    for _ in range(200):
        apart, lasts = rand.randrange(1, 10**6), rand.choice([0, rand.randrange(10**8)])
        cost = rand.randrange(10**5)
        turns += [
            (real + apart, now + apart),
            (real + apart + lasts, now + apart + cost),
        ]
        real, now = turns[-1]
    times = sorted(rand.randrange(turns[0][0] - 10**6, real + 10**6) for _ in range(2000))
    times = sorted({*times, *(real for real, _ in turns)})
    found = Timeline(turns, 10**18).of(times)
    assert found == sorted(found)
    for time_ns, made in zip(times, found, strict=True):
        assert abs(made - 10**18 - clock.modelled(turns, time_ns)) <= 1


def test_without_stretches_times_are_only_moved() -> None:
    assert Timeline([(100, 100)], 5).of([90, 100, 2**62]) == [95, 105, 2**62 + 5]
    assert Timeline([(100, 40)], 5).of([90, 100, 130]) == [35, 45, 75]


def test_turns_of_several_threads_are_in_order() -> None:
    def work() -> None:
        for _ in range(50):
            begin = time.perf_counter_ns()
            clock.count(begin, time.perf_counter_ns(), 300)
            clock.wait_until(clock.now_ns() + 1000)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    log = ActivityLog()
    add_log(log)
    work()
    for each in threads:
        each.join()
    remove_log(log)
    assert len(log.turns) >= 101  # a wait whose time has come has none
    for before, after in pairwise(log.turns):
        assert before[0] <= after[0]
        assert before[1] <= after[1]
