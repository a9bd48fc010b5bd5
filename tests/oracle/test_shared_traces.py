"""Every recorded trace is read, sound and checked; what is no trace is refused."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import tidy
from tidy.errors import TraceFormatError
from tidy.trace import Capability, EventKind

from .shared import (
    DESCRIPTIONS,
    FOLDER,
    INDEX,
    NO_TRACES,
    OWN,
    REAL,
    TRACES,
    load,
    needs_traces,
    path_of,
    report,
    text_of,
)

_EXECUTION_TRACE = "hta__execution_trace__benchmark_simple_add_et.json.gz"
_READABLE = [path for path in TRACES if path.name != _EXECUTION_TRACE]
each_trace = pytest.mark.parametrize("path", _READABLE, ids=lambda path: path.name)


def test_the_traces_are_there() -> None:
    """Absent in a lone checkout; where CI is set their absence would hide every test below."""
    if not FOLDER.is_dir() and not os.environ.get("CI"):
        pytest.skip(NO_TRACES)
    assert sum(path.parent != OWN for path in TRACES) > 50
    assert sum(path.parent != OWN for path in DESCRIPTIONS) > 80


@each_trace
def test_read_sound_and_checked(path: Path) -> None:
    load(path).self_check()
    assert report(path).crashed == {}
    assert report(path).outcomes.keys() >= {"TDY101", "TDY404", "TDY701"}


@each_trace
def test_findings_are_whole(path: Path) -> None:
    for finding in report(path).findings:
        assert finding.count >= 1
        assert finding.cost_share is None or 0 <= finding.cost_share <= 1
        assert finding.saving is None or finding.saving.high_ns <= max(finding.cost_ns, 0)
        assert len({event.row for event in finding.events}) == finding.count


_INDEX_COLUMNS = 9  # of the tables that count, after the file name


def _in_index() -> list[tuple[Path, list[str]]]:
    """(trace, cells after the file name) for each row of the tables of INDEX.md with counts.

    Without the one file whose JSON is invalid, which the maker of the index could not read.
    """
    if not INDEX.is_file():
        return []
    rows = re.findall(r"^\| `([^`]+)` \| (.*) \|$", INDEX.read_text("utf-8"), re.MULTILINE)
    cells = {name.split("/")[-1]: rest.split(" | ") for name, rest in rows}
    known = [(path, cells[path.name]) for path in _READABLE if path.name in cells]
    counted = [(path, row) for path, row in known if len(row) == _INDEX_COLUMNS]
    return [(path, row) for path, row in counted if not any("INVALID" in cell for cell in row)]


@pytest.mark.parametrize(
    ("path", "cells"), [pytest.param(path, cells, id=path.name) for path, cells in _in_index()]
)
def test_what_the_index_counts(path: Path, cells: list[str]) -> None:
    _, _, kernels, stacks, shapes, rank = cells[:6]
    trace = load(path)

    def number(cell: str) -> int:
        return int(match[0]) if (match := re.match(r"\d+", cell)) else 0

    device_rows = trace.rows_of_kind(EventKind.Kernel, EventKind.Memcpy, EventKind.Memset)
    assert len(trace.rows_of_kind(EventKind.Kernel)) <= number(kernels) <= len(device_rows)
    frames = trace.rows_of_kind(EventKind.PyCall, EventKind.PyCCall)
    assert len(frames) == number(stacks)
    if "Call stack" not in stacks:  # these may all be empty
        assert (Capability.STACKS in trace.capabilities) == (stacks != "no")
    assert (Capability.SHAPES in trace.capabilities) == (shapes == "yes")
    stated = re.match(r"rank (\d+)/(\d+)?", rank)
    assert trace.info.rank == (int(stated[1]) if stated else None)


@needs_traces
def test_an_execution_trace_is_refused() -> None:
    with pytest.raises(TraceFormatError, match="execution trace"):
        tidy.load(REAL / _EXECUTION_TRACE)


@pytest.mark.parametrize("path", DESCRIPTIONS, ids=lambda path: path.name)
def test_what_only_describes_a_trace_is_refused(path: Path) -> None:
    with pytest.raises(TraceFormatError) as caught:
        tidy.load(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@needs_traces
def test_an_unescaped_quote_costs_one_event_at_most() -> None:
    path = path_of("oddname_quote")
    text, trace = text_of(path), load(path)
    assert len(trace.rows_of_kind(EventKind.TorchOp)) == text.count('"cat": "cpu_op"') > 0
    assert trace.info.warnings or 'he said "hi"' in trace.names
