"""Damaged copies of real traces: each is read or refused, and nothing else happens.

.ci/run has ten thousand of them made by fuzz.py itself.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from .fuzz import load_sources, make_case, run_cases
from .sqlite_mutations import sqlite_sources

ROOT = Path(__file__).parents[2]


def failures(folder: Path, seed: int, count: int, largest: int) -> list[str]:
    sources = {n: t for n, t in load_sources(folder).items() if len(t) < largest}
    outcomes = run_cases(make_case(sources, seed, number) for number in range(count))
    kinds = Counter(outcome.kind for outcome in outcomes)
    assert min(kinds["read"], kinds["read with warnings"], kinds["refused"]) > count // 50
    return [f"{o.label} of {o.source}: {o.failure}" for o in outcomes if o.failure]


def test_some_cases() -> None:
    assert failures(ROOT / "tests" / "data" / "traces", seed=1, count=150, largest=300_000) == []


def test_a_case_depends_on_nothing_but_its_number() -> None:
    sources = {**sqlite_sources(), "a": b'[{"ph": "X", "ts": 1}]' * 10, "b": b'{"traceEvents": []}'}
    reordered = dict(reversed(sources.items()))
    for number in range(12):
        assert make_case(sources, 1, number) == make_case(reordered, 1, number)
    assert make_case(sources, 1, 7) != make_case(sources, 1, 8)
