"""TDY202: which copy may be the way back of which."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import tidy
from tidy import Severity

from ..conftest import ReadEvents
from ..oracle.shared import TRACES, findings, raw_events
from ..trace.kineto import Written, call, frame, mark, op, span

_STEP_US = 1000
_DOWN, _UP = "Memcpy DtoH (Device -> Pageable)", "Memcpy HtoD (Pageable -> Device)"


def _copy(number: int, ts: float, name: str, line: int, us: float, **other: Any) -> list[Written]:
    """A copy of 4,096 floats, 10 us of the host, in a function of its own."""
    nbytes, dims = other.get("nbytes", 16384), other.get("dims", [4096])
    inputs = {"Input Dims": [dims, dims], "Input type": ["float", "float"]}
    args = {"External id": number, **(inputs if other.get("shapes", True) else {})}
    device = {"device": other.get("device", 0), "stream": 7, "bytes": nbytes}
    made = [
        op("aten::copy_", ts + 1, 8, args=args),
        call("cudaMemcpyAsync", ts + 2, 6, number, external=number),
        span("gpu_memcpy", name, ts + 3, us, tid=7, pid=0, args={"correlation": number, **device}),
    ]
    return [frame(f"train.py({line}): f{line}", ts, 10), *made] if line else made


def _steps(count: int, copies: Sequence[tuple[str, int, dict[str, Any]]]) -> list[Written]:
    """Steps of 1,000 us, each with the same copies 100 us apart."""
    written: list[Written] = []
    for step in range(count):
        written.append(mark(f"ProfilerStep#{step}", step * _STEP_US, _STEP_US - 1))
        for at, (name, line, other) in enumerate(copies):
            number = step * 100 + at + 1
            ts = step * _STEP_US + 100 * (at + 1)
            written += _copy(number, ts, name, line, 4, **other)
    return written


def _found(read_events: ReadEvents, written: list[Written]) -> list[tidy.Finding]:
    return list(tidy.check(read_events(written), select=["TDY202"]).findings)


def test_there_and_back(read_events: ReadEvents) -> None:
    (finding,) = _found(read_events, _steps(3, [(_DOWN, 8, {}), (_UP, 20, {})]))
    assert (finding.count, finding.severity) == (3, Severity.WARNING)
    assert finding.cost_ns == 2 * 8000  # of the two ops on the host
    assert str(finding.location) == "train.py:8"
    assert "train.py:20" in finding.message


@pytest.mark.parametrize(("line", "count"), [(20, 0), (9, 1)])
def test_what_was_sent_before_any_came_back(read_events: ReadEvents, line: int, count: int) -> None:
    """A batch that is sent before the first step is no result, nor are those of later steps."""
    sent = _copy(999, -200, _UP, line, 4)
    written = sent + _steps(3, [(_DOWN, 8, {}), (_UP, 20, {})])
    assert len(_found(read_events, written)) == count


@pytest.mark.parametrize(
    ("copies", "why"),
    [
        ([(_UP, 20, {}), (_DOWN, 8, {})], "the other way round"),
        ([(_DOWN, 8, {}), (_UP, 20, {"nbytes": 8192})], "fewer bytes"),
        ([(_DOWN, 8, {}), (_UP, 20, {"dims": [64, 64]})], "another shape"),
        ([(_DOWN, 8, {}), (_UP, 20, {"device": 1})], "another device"),
        ([(_DOWN, 8, {"nbytes": 64}), (_UP, 20, {"nbytes": 64})], "small"),
        ([(_UP, 20, {}), (_DOWN, 8, {}), (_UP, 20, {})], "the next micro-batch"),
        ([(_DOWN, 8, {})], "no way back"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_others(
    read_events: ReadEvents, copies: list[tuple[str, int, dict[str, Any]]], why: str
) -> None:
    assert _found(read_events, _steps(3, copies)) == [], why


def test_one_step_may_be_chance(read_events: ReadEvents) -> None:
    assert _found(read_events, _steps(1, [(_DOWN, 8, {}), (_UP, 20, {})])) == []


@pytest.mark.parametrize(
    ("lines", "shapes", "severity"),
    [
        ((8, 20), True, Severity.WARNING),
        ((0, 0), True, Severity.INFO),
        ((8, 20), False, Severity.INFO),
    ],
)
def test_a_warning_takes_places_shapes_and_a_share(
    read_events: ReadEvents, lines: tuple[int, int], shapes: bool, severity: Severity
) -> None:
    """Twice 40 us of 999."""
    down, up = lines
    written: list[Written] = []
    for step in range(2):
        ts = step * _STEP_US
        written.append(mark(f"ProfilerStep#{step}", ts, _STEP_US - 1))
        written += _copy(10 * step + 1, ts + 100, _DOWN, down, 40, shapes=shapes)
        written += _copy(10 * step + 2, ts + 200, _UP, up, 40, shapes=shapes)
    assert [f.severity for f in _found(read_events, written)] == [severity]


def test_offloading_is_meant_to(read_events: ReadEvents) -> None:
    written = _steps(2, [(_DOWN, 8, {}), (_UP, 20, {})])
    around = [frame("engine.py(4): offload_states", s * _STEP_US + 90, 300) for s in range(2)]
    assert _found(read_events, written + around) == []


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_runs_that_never_send_back_what_they_fetched(path: Path) -> None:
    """Where no copy of 4 KiB or more from the GPU has one of as many bytes to it."""
    sizes: dict[str, set[int]] = {"DtoH": set(), "HtoD": set()}
    for event in raw_events(path):
        for direction, found in sizes.items():
            if str(event.get("name")).startswith(f"Memcpy {direction}"):
                found.add(int(event["args"].get("bytes", 0)))
    if not any(nbytes >= 4096 for nbytes in sizes["DtoH"] & sizes["HtoD"]):
        assert findings(path, "TDY202") == []
