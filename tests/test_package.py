"""What a checkout says of itself: the Pythons that it is for, and how large its traces are."""

from __future__ import annotations

import re

import pytest

from .environment import ROOT

_MOST_NBYTES = 6_000_000


def test_the_pythons_that_are_listed_are_those_that_are_tried() -> None:
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    listed = {
        minor
        for each in project["classifiers"]
        for minor in re.findall(r"Python :: (3\.\d+)$", each)
    }
    text = (ROOT / ".ci/run").read_text("utf-8")
    (others,) = re.findall(r"^others=\((.*)\)$", text, re.MULTILINE)
    assert listed == {*others.split(), "3.11"}  # on which CI runs the rest
    assert project["requires-python"] == f">={min(listed, key=lambda each: int(each[2:]))}"


def test_recorded_traces_are_few_megabytes() -> None:
    """Those that stand for the folder beside a checkout."""
    files = [each for each in (ROOT / "tests/data/packed").rglob("*") if each.is_file()]
    assert files
    assert sum(each.stat().st_size for each in files) <= _MOST_NBYTES
