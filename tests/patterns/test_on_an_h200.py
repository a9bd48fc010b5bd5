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
        ("filled_on_the_cpu", {"TDY201": 16}, ("TDY202", "TDY602")),
        ("gpu_bound", {"TDY501": 19}, ("TDY402", "TDY301")),
        ("launch_blocking", {"TDY303": None}, ("TDY301", "TDY302")),
        ("results_to_the_cpu", {"TDY301": 18}, ("TDY202",)),
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
        assert line is None or (at and (at.line, at.is_call_line)) == (line, True)
    assert not found.keys() & {*absent, *_OF_THE_RECORDING}
    replayed = weigh(trace, list(report.findings)).fidelity
    assert replayed is not None
    assert replayed.median_error < 0.01


@pytest.mark.parametrize(
    ("name", "code", "step_ms", "left_ms"),
    [("gpu_bound", "TDY501", 31.75, 6.13), ("filled_on_the_cpu", "TDY201", 23.43, 6.85)],
)
def test_what_a_fix_was_measured_to_save(
    name: str, code: str, step_ms: float, left_ms: float
) -> None:
    """Of sixty steps with nothing recorded, as the script was and corrected."""
    report = tidy.check(tidy.load(_FOLDER / f"{name}.json.gz"))
    (found,) = (each for each in report.findings if each.code == code and each.in_window)
    saving = found.saving
    assert saving is not None
    assert (
        saving.low_ns / saving.step_ns <= 1 - left_ms / step_ms <= saving.high_ns / saving.step_ns
    )
