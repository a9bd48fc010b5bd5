"""Each warning on a shared trace was judged by reading it, and docs/verdicts.md says so."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from tidy import Severity

from .shared import FOLDER, PUBLISHED, TRACES, needs_traces, report

_DOCS = Path(__file__).parents[2] / "docs"


def _make_verdicts() -> Any:
    before = list(sys.path)
    sys.path.insert(0, str(_DOCS))
    try:
        return importlib.import_module("make_verdicts")
    finally:
        sys.path[:] = before


_VERDICTS = _make_verdicts()
_JUDGED = [
    (path, judged)
    for path, judged in (_VERDICTS.judged_in(FOLDER.parent) if FOLDER.is_dir() else ())
    if path.parent.name != "real" or path.name in PUBLISHED
]
_READ = {path.name: path for path in TRACES}  # some packed: other tests report on these, too


@needs_traces
def test_many_are_judged() -> None:
    assert len(_JUDGED) >= 75


@needs_traces
@pytest.mark.parametrize(
    ("path", "judged"),
    [
        pytest.param(_READ.get(path.name, path), judged, id=_VERDICTS.name_of(path))
        for path, judged in _JUDGED
    ],
)
def test_all_warnings_are_judged(path: Path, judged: Any) -> None:
    page = (_DOCS / "verdicts.md").read_text("utf-8")
    found = [each for each in report(path).findings if each.severity >= Severity.WARNING]
    assert list(_VERDICTS.differences(found, judged)) == []
    name = _VERDICTS.name_of(path)
    assert f"## {name}" in page or f"| {name} |" in page
    for finding in found:
        at = f"{finding.location or '-'}"
        row = f"| {finding.code} | {at} | {finding.count:,} |"
        assert row in page or f"{finding.code}, {finding.count:,} times at {at}:" in page
