"""Which moments of one recorded step are which of another.

Both steps are given as sequences of numbers: what begins or ends there. Where they are alike all
moments are paired. Where they part, as few of both as can be are left out for them to go on alike,
if that is near. If not, what occurs once in the rest of both is paired, in the order that keeps
most of it (patience diff), and so on between those.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
_RUN = 6  # how many numbers in a row have to be alike to go on there: rarely so by chance
_NEAR = 64
_PRIME = 1_000_003


def align(one: Numbers, other: Numbers) -> tuple[Numbers, Numbers]:
    """Return the indexes of numbers that are paired, ascending in both."""
    if len(one) == len(other) and (one == other).all():
        every = np.arange(len(one))
        return every, every
    first, second = one.tolist(), other.tolist()
    runs, other_runs = _runs(one), _runs(other)
    pairs: list[tuple[int, int]] = []
    open_parts = [(0, len(one), 0, len(other))]
    while open_parts:
        a, a_end, b, b_end = open_parts.pop()
        while a < a_end and b < b_end and first[a_end - 1] == second[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
            pairs.append((a_end, b_end))
        while a < a_end and b < b_end:
            if first[a] == second[b]:
                pairs.append((a, b))
                a, b = a + 1, b + 1
                continue
            near = _near(runs[a : min(a + _NEAR, a_end)], other_runs[b : min(b + _NEAR, b_end)])
            if near is None:
                break
            # Among what is left out there may be some in common all the same.
            open_parts.append((a, a + near[0], b, b + near[1]))
            a, b = a + near[0], b + near[1]
        if a == a_end or b == b_end:
            continue
        found = _once(first[a:a_end], second[b:b_end])
        # What was found begins the parts that it bounds, so that each is shorter than the whole.
        marks = [(a, b), *((a + i, b + j) for i, j in found), (a_end, b_end)]
        if found:
            for (i, j), (next_i, next_j) in pairwise(marks):
                open_parts.append((i, next_i, j, next_j))
    pairs.sort()
    both = np.array(pairs, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _runs(numbers: Numbers) -> list[int]:
    """For each place a number for what follows from there on; equal ones follow alike."""
    padded = np.concatenate([numbers, np.full(_RUN, -1)]).astype(np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(padded, _RUN)[: len(numbers)]
    found: list[int] = (windows @ np.full(_RUN, _PRIME).cumprod()).tolist()
    return found


def _near(runs: list[int], other_runs: list[int]) -> tuple[int, int] | None:
    """How many numbers of both to leave out for them to go on alike; None for no few."""
    places: dict[int, int] = {}
    for place, run in enumerate(other_runs):
        places.setdefault(run, place)
    both = [(place, places[run]) for place, run in enumerate(runs) if run in places]
    return min(both, key=sum, default=None)


def _once(first: list[int], second: list[int]) -> list[tuple[int, int]]:
    """Places of what occurs once in both, ascending in both."""
    once, again = _places(first), _places(second)
    return _ascending([(i, again[number]) for number, i in once.items() if number in again])


def _places(numbers: list[int]) -> dict[int, int]:
    """Where each number is, of those that occur once."""
    counts = Counter(numbers)
    return {number: place for place, number in enumerate(numbers) if counts[number] == 1}


def _ascending(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of pairs, which ascend by their first, that ascends by the second too."""
    ends: list[int] = []  # the least second number that an ascent of each length ends with
    last: list[int] = []  # and the index of its pair
    before: list[int] = []
    for index, (_, second) in enumerate(pairs):
        place = bisect_left(ends, second)
        before.append(last[place - 1] if place else -1)
        ends[place : place + 1] = [second]
        last[place : place + 1] = [index]
    found, at = list[tuple[int, int]](), last[-1] if last else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]
