"""`tidy account`: parts that add up, per step and per line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .command import EXAMPLES, tidy


def _parts(accounts: list[dict]) -> int:
    return sum(part["time_ns"] for account in accounts for part in account["parts"])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_parts_add_up_and_steps_too(example: Path) -> None:
    result = tidy("account", example, "--format", "json", "--by-step", "--by-line", "--rows", "3")
    assert (result.code, result.err) == (0, "")
    (trace,) = json.loads(result.out)["traces"]
    (account,) = trace["account"]
    assert _parts([account]) == account["window"]["time_ns"] > 0
    assert _parts([each for step in trace["steps"] for each in step["account"]]) == _parts(
        [account]
    )
    assert len(trace["steps"]) == account["window"]["count"]
    assert 0 < len(trace["lines"]) <= 3


def test_the_text_has_a_line_for_each_large_part() -> None:
    result = tidy("account", EXAMPLES[0], "--by-line", "--rows", "2")
    assert result.code == 0
    heading = next(i for i, line in enumerate(result.lines) if line.startswith("Where the"))
    parts = [line for line in result.lines[heading + 2 : heading + 11] if "%" in line]
    assert 1 <= len(parts) <= 8
    assert "2 lines with most time" in result.lines


def test_what_is_no_trace_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    result = tidy("account", tmp_path / "x.json")
    assert result.code == 2
    assert len(result.err.splitlines()) == 1
