"""TDY404 tells sums over rounds from recurrences, on both frameworks."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidy
from tidy import Trace
from tidy.finding import Severity

from ..run.running import write_script
from .linked_loops import APART, SUMS, SUMS_OF_PRODUCTS, LinkedLoop
from .linked_recurrences import RECURRENCES
from .scripts import recorded_by_pytorch, recorded_in_steps

_QUICK = {"each-expert", "attention-of-each-head", "a-scan", "residual-layers"}
_QUICK |= {"rows-with-noise", "euler-maruyama-steps", "indexes-that-are-followed"}


def _named(loops: list[LinkedLoop]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "one",
        [
            pytest.param(each, marks=() if each.name in _QUICK else pytest.mark.slow, id=each.name)
            for each in loops
        ],
    )


def _on_runtime(one: LinkedLoop, folder: Path) -> Trace:
    script = write_script(folder, one.script)
    with recorded_in_steps(script) as prof:
        return prof.trace


def _on_pytorch(one: LinkedLoop, folder: Path) -> Trace:
    script = write_script(folder, one.script)
    return recorded_by_pytorch(script, folder / "trace.json", profile_memory=True)


def _severities(trace: Trace) -> set[Severity]:
    found = tidy.check(trace, select=["TDY404"], savings="off").findings
    return {each.severity for each in found if each.cost.in_window}


def _has_saving(trace: Trace) -> bool:
    found = tidy.check(trace, select=["TDY404"], savings="off").findings
    return any(each.correction.edit is not None for each in found)


@_named([*APART, *SUMS])
def test_what_is_a_sum_at_most_is_a_warning_with_a_saving(one: LinkedLoop, tmp_path: Path) -> None:
    trace = _on_runtime(one, tmp_path)
    assert _severities(trace) == {Severity.WARNING}
    assert _has_saving(trace)


@_named([*RECURRENCES, *SUMS_OF_PRODUCTS])
def test_what_may_be_a_recurrence_is_no_warning(one: LinkedLoop, tmp_path: Path) -> None:
    trace = _on_runtime(one, tmp_path)
    assert len(trace.rows_named("aten::select")) >= 120
    assert _severities(trace) <= {Severity.INFO}
    assert not _has_saving(trace)


@pytest.mark.oracle
@pytest.mark.slow
@pytest.mark.parametrize("one", [pytest.param(each, id=each.name) for each in [*APART, *SUMS]])
def test_a_sum_at_most_in_pytorch_is_a_warning(one: LinkedLoop, tmp_path: Path) -> None:
    assert _severities(_on_pytorch(one, tmp_path)) == {Severity.WARNING}


@pytest.mark.oracle
@pytest.mark.slow
@pytest.mark.parametrize("one", [pytest.param(each, id=each.name) for each in RECURRENCES])
def test_a_recurrence_in_pytorch_is_no_warning(one: LinkedLoop, tmp_path: Path) -> None:
    assert _severities(_on_pytorch(one, tmp_path)) <= {Severity.INFO}
