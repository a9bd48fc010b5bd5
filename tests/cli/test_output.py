"""Where the report goes, and what of it is shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ..account_lines import without_account
from .command import tidy
from .traces import event, loop, write


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Three loops in three functions, of 15, 14 and 13 rounds, and a product after each."""
    events = []
    for i in range(3):
        function = loop(f"train.py({i + 1}): f{i}", rounds=15 - i)
        for each in [*function, event("cpu_op", "aten::mm", 90, 1)]:
            each["ts"] += 1000 * i
            events.append(each)
    return write(tmp_path / "three.json", events)


@pytest.mark.parametrize("form", ["text", "json"])
def test_output_to_a_file(trace: Path, tmp_path: Path, form: str) -> None:
    """What is written is what a pipe gets, though colours be asked for."""
    file = tmp_path / "report"
    shown = tidy("report", trace, "--format", form)
    result = tidy("report", trace, "--format", form, "--output", file, FORCE_COLOR="1")
    assert (result.code, result.out, result.err) == (1, "", "")
    written = file.read_bytes().decode()
    assert written == shown.out
    assert "\r" not in written


def test_output_to_a_place_that_cannot_be_written(trace: Path, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "absent" / "report"):
        result = tidy("report", trace, "-o", place)
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith(f"tidy: --output {place}: cannot be written: ")
        assert len(result.err.splitlines()) == 1


def test_output_to_the_terminal_by_its_name(trace: Path) -> None:
    assert tidy("report", trace, "-o", "-").out == tidy("report", trace).out


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")  # noqa: PTH110
def test_no_room_left_is_one_line(trace: Path) -> None:
    for given in (("report", trace), ("report", trace, "--format", "json")):
        result = tidy(*given, "-o", "/dev/full")
        assert result.code == 2
        assert result.err.startswith("tidy: --output /dev/full: cannot be written: no space")
        assert len(result.err.splitlines()) == 1


def test_top_shows_what_matters_most_and_says_what_is_hidden(trace: Path) -> None:
    """The longest loop is the costliest: 15 rounds, then 14, then 13."""
    shown = without_account(tidy("report", trace, "--top", "1").lines)
    assert [line.split()[0] for line in shown if "train.py" in line] == ["train.py:1"]
    assert "... and 2 more findings (--top 0 shows all)" in shown
    assert shown[-1].startswith("3 warnings"), "the totals count what is hidden too"
    shown = tidy("report", trace, "--top", "2").lines
    assert "... and 1 more finding (--top 0 shows all)" in shown
    everything = without_account(tidy("report", trace, "--top", "0").lines)
    assert [line.split()[0] for line in everything if "train.py" in line] == [
        "train.py:1",
        "train.py:2",
        "train.py:3",
    ]
    assert not [line for line in everything if "--top" in line]


def test_json_always_has_all(trace: Path) -> None:
    report = tidy("report", trace, "--top", "1", "--format", "json").json()
    assert len(report["traces"][0]["findings"]) == 3
