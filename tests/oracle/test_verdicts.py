"""Each warning on a published trace was judged by reading it, and docs/verdicts.md says so."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from .shared import PUBLISHED, REAL, needs_traces

_DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def verdicts() -> ModuleType:
    before = list(sys.path)
    sys.path.insert(0, str(_DOCS))
    try:
        return importlib.import_module("make_verdicts")
    finally:
        sys.path[:] = before


@pytest.mark.slow
@needs_traces
def test_all_warnings_are_judged(verdicts: ModuleType) -> None:
    page = (_DOCS / "verdicts.md").read_text("utf-8")
    judged = [(p, each) for p, each in verdicts.traces_in(REAL) if p.name in PUBLISHED]
    assert len(judged) >= 30
    for path, each in judged:
        found = verdicts.warnings_of(path)
        assert list(verdicts.differences(found, each)) == [], path.name
        for finding in found:
            assert f"| {finding.code} | {finding.location or '-'} | {finding.count:,} |" in page
