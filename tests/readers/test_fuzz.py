"""Damaged copies of real traces: each is read or refused, and nothing else happens."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from .fuzz import load_sources, make_case, run_cases

ROOT = Path(__file__).parents[2]
TRACES = Path(os.environ.get("TIDY_TRACES", ROOT.parent / "shared" / "traces"))


def failures(folder: Path, seed: int, count: int, largest: int) -> list[str]:
    sources = {n: t for n, t in load_sources(folder).items() if len(t) < largest}
    outcomes = run_cases(make_case(sources, seed, number) for number in range(count))
    kinds = Counter(outcome.kind for outcome in outcomes)
    assert min(kinds["read"], kinds["read with warnings"], kinds["refused"]) > count // 50
    return [f"{o.label} of {o.source}: {o.failure}" for o in outcomes if o.failure]


def test_some_cases() -> None:
    assert failures(ROOT / "examples" / "traces", seed=1, count=150, largest=1_000_000) == []


@pytest.mark.slow
@pytest.mark.skipif(not TRACES.is_dir(), reason="no folder of traces ($TIDY_TRACES)")
def test_many_cases() -> None:
    assert failures(TRACES, seed=2, count=5000, largest=10_000_000) == []


def test_a_case_depends_on_nothing_but_its_number() -> None:
    sources = {"a": b'[{"ph": "X", "ts": 1}]' * 10, "b": b'{"traceEvents": []}'}
    assert make_case(sources, 1, 7) == make_case(dict(reversed(sources.items())), 1, 7)
    assert make_case(sources, 1, 7) != make_case(sources, 1, 8)
