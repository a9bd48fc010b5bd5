"""Each warning on a shared trace was judged by reading it, and docs/verdicts.md says so."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from .shared import FOLDER, PUBLISHED, needs_traces

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
    judged = list(verdicts.judged_in(FOLDER.parent))
    judged = [(p, each) for p, each in judged if p.parent.name != "real" or p.name in PUBLISHED]
    assert len(judged) >= 75
    for path, each in judged:
        found = verdicts.warnings_of(path)
        assert list(verdicts.differences(found, each)) == [], path
        assert f"## {verdicts.name_of(path)}" in page or f"| {verdicts.name_of(path)} |" in page
        for finding in found:
            at = f"{finding.location or '-'}"
            row = f"| {finding.code} | {at} | {finding.count:,} |"
            assert row in page or f"{finding.code}, {finding.count:,} times at {at}:" in page
