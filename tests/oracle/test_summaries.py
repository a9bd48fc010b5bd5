"""Reports of all recorded traces are made of their summaries, which are small."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidy.summary import decode, encode, origin_of, summarise

from ..summary.making import forms
from .shared import FOLDER, PACKED, TRACES, report

_PAIRS = [
    path
    for place in (PACKED / "pairs", FOLDER.parent / "pairs")
    for path in sorted(place.glob("*/*.json*"))
    if path.name.startswith(("before.", "after."))
]
_MOST_NBYTES = 20_000


@pytest.mark.slow
@pytest.mark.parametrize("path", [*TRACES, *_PAIRS], ids=str)
def test_a_summary_makes_the_same_report(path: Path) -> None:
    summary = summarise(report(path), origin_of(str(path)))
    content = encode(summary)
    kept = decode(content, "kept")
    assert kept == summary
    assert forms([kept]) == forms([summary])
    assert len(content) < _MOST_NBYTES
