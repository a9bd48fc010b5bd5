"""Small random graphs of calls and device work."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from tidy.savings import Graph

Column = list[int]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Up to 80 calls on some threads; each may launch work on three streams and wait for some."""
    count = draw(st.integers(1, 12) | st.just(80))
    # Long stretches without waits and threads, and graphs full of both; so with what works follow.
    seldom, following = draw(st.sampled_from((2, 5, 60))), draw(st.sampled_from((2, 5, 60)))
    most_works = draw(st.sampled_from((1, 3)))
    numbers = draw(st.randoms(use_true_random=False))

    def one_in(many: int) -> bool:
        return numbers.randrange(many) == 0

    before: Column = []
    waits: Column = []
    launcher: Column = []
    follows: Column = []
    last: Column = []
    for node in range(count):
        before.append(numbers.randrange(-1, node) if one_in(seldom) else node - 1)
        for _ in range(numbers.randint(0, most_works)):
            work = len(launcher)
            follows.append(
                numbers.randrange(max(work - 4, 0), work) if work and one_in(following) else -1
            )
            launcher.append(node)
        last.append(len(launcher))
        waits.append(numbers.randrange(len(launcher)) if launcher and one_in(seldom) else -1)

    def column(
        size: int, draw_one: Callable[[], int]
    ) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array([draw_one() for _ in range(size)], np.int64)

    works = len(launcher)
    starts = np.array([1000 * node for node in range(count)], np.int64)
    gaps = column(count, lambda: numbers.randrange(900))
    gaps[np.array(before) < 0] = 0
    streams = draw(st.integers(1, 3))
    return Graph(
        row=np.arange(count, dtype=np.int64),
        start_ns=starts,
        before=np.array(before, np.int64),
        gap_ns=gaps,
        length_ns=column(count, lambda: numbers.randrange(300)),
        waits_for=np.array(waits, np.int64),
        return_ns=column(count, lambda: numbers.randrange(50)),
        first_work=np.array([0, *last[:-1]], np.int64),
        last_work=np.array(last, np.int64),
        work_row=np.arange(count, count + works, dtype=np.int64),
        work_length_ns=column(works, lambda: numbers.choice((0, 10, 500, 5000))),
        delay_ns=column(works, lambda: numbers.randrange(-20, 400)),
        launcher=np.array(launcher, np.int64),
        stream=column(works, lambda: numbers.randrange(streams)),
        turn_ns=column(works, lambda: numbers.randrange(20)),
        follows=np.array(follows, np.int64),
        not_before_ns=column(works, lambda: numbers.choice((-1000, numbers.randrange(20_000)))),
        bounds=np.empty(0, np.int64),
    )
