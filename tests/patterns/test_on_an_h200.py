"""What rules say of short scripts with known mistakes that ran on a real GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidy
from tidy.check.weigh import weigh

_FOLDER = Path(__file__).parents[1] / "data" / "h200"
_OF_THE_RECORDING = ("TDY003", "TDY004", "TDY005", "TDY006")


@pytest.mark.parametrize(
    ("name", "expected", "absent"),
    [
        ("foreach_adam", {"TDY602": 17, "TDY501": 14}, ("TDY301", "TDY601")),
        ("item_each_step", {"TDY301": 18, "TDY501": 14}, ("TDY601", "TDY602")),
        ("single_adam", {"TDY601": None, "TDY103": None, "TDY301": None}, ("TDY602", "TDY302")),
    ],
)
def test_the_mistake_is_named_and_no_other(
    name: str, expected: dict[str, int | None], absent: tuple[str, ...]
) -> None:
    """PyTorch's profiler knows no lines, but those of functions."""
    trace = tidy.load(_FOLDER / f"{name}.json.gz")
    trace.self_check()
    report = tidy.check(trace)
    found = {each.code: each.location for each in report.findings}
    assert expected.keys() <= found.keys()
    for code, line in expected.items():
        at = found[code]
        assert at is not None
        assert line is None or (at.line, at.is_call_line) == (line, True)
    assert not found.keys() & {*absent, *_OF_THE_RECORDING}
    replayed = weigh(trace, list(report.findings)).fidelity
    assert replayed is not None
    assert replayed.median_error < 0.01
