"""Reports say what they said, in each form: see reports.py, which writes them anew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .reports import FOLDER, FORMS, RUNS, TRACES, report

_QUICK = ("two_ranks", "h200", "device_parallel")


def _params() -> Iterator[Any]:
    for name, paths in {**TRACES, **RUNS}.items():
        marks = [] if name in _QUICK else [pytest.mark.slow]
        yield pytest.param(name, paths, marks=marks, id=name)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("name", "paths"), list(_params()))
def test_a_report_says_what_it_said(name: str, paths: list[str], form: str) -> None:
    assert report(form, paths) == (FOLDER / f"{name}.{form}").read_text("utf-8")


def test_no_report_is_left_over() -> None:
    names = {f"{name}.{form}" for name in {**TRACES, **RUNS} for form in FORMS}
    assert {path.name for path in FOLDER.iterdir()} == names
