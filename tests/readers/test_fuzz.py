"""Damaged copies of real traces: each is read or refused, and nothing else happens.

`make soak` has a hundred thousand of them made by fuzz.py itself, of further traces too.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from ..environment import SOAK
from .fuzz import load_sources, make_case, run_cases
from .sqlite_mutations import sqlite_sources

ROOT = Path(__file__).parents[2]


def failures(seed: int, numbers: range, largest: int) -> list[str]:
    """The sources lie in the checkout, so that the cases are the same ones everywhere."""
    loaded = load_sources(ROOT / "tests" / "data" / "traces")
    sources = {n: t for n, t in loaded.items() if len(t) < largest}
    outcomes = run_cases(make_case(sources, seed, number) for number in numbers)
    kinds = Counter(outcome.kind for outcome in outcomes)
    least = len(numbers) // 50
    assert min(kinds["read"], kinds["read with warnings"], kinds["refused"]) > least
    return [f"{o.label} of {o.source}: {o.failure}" for o in outcomes if o.failure]


def test_some_cases() -> None:
    assert failures(1, range(150 if SOAK else 75), largest=300_000) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 300 if SOAK else 75, 75))
def test_many_cases(first: int) -> None:
    assert failures(2, range(first, first + 75), largest=600_000) == []


def test_a_case_depends_on_nothing_but_its_number() -> None:
    sources = {**sqlite_sources(), "a": b'[{"ph": "X", "ts": 1}]' * 10, "b": b'{"traceEvents": []}'}
    reordered = dict(reversed(sources.items()))
    for number in range(12):
        assert make_case(sources, 1, number) == make_case(reordered, 1, number)
    assert make_case(sources, 1, 7) != make_case(sources, 1, 8)
