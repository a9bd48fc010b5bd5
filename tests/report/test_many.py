"""Traces of very many threads or devices: the work grows as they do, not with their square."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tidy
from tidy.report.json_report import results_to_json
from tidy.report.results import Results
from tidy.report.text import render

from ..cli.traces import event, write
from ..environment import SOAK

_TIMES = 8
# Eight times as much takes eight times as long, or 64 times where the work grows with the square.
_AT_MOST = 24


def _threads(count: int) -> list[dict[str, Any]]:
    """An addition in each thread."""
    return [{**event("cpu_op", "aten::add", 10.0 * i, 5), "tid": i + 1} for i in range(count)]


def _devices(count: int) -> list[dict[str, Any]]:
    """A kernel on each device, launched by one thread."""
    events = []
    for i in range(count):
        at, link = 10.0 * i, {"External id": i + 1, "correlation": i + 1}
        events += [
            event("cpu_op", "aten::add", at, 5, **{"External id": i + 1}),
            event("cuda_runtime", "cudaLaunchKernel", at + 1, 2, **link),
            {**event("kernel", "k", at + 3, 5, device=i, stream=7, **link), "pid": i},
        ]
    return events


def _report_time(path: Path) -> float:
    """Seconds of the processor for a whole report; other programs do not count."""
    started = time.process_time()
    report = tidy.check(tidy.load(path))
    assert not report.crashed
    assert render([report])
    assert json.dumps(results_to_json(Results([report], [], Path(), {}, 0)))
    return time.process_time() - started


@pytest.mark.parametrize(
    ("make", "count"),
    [(_threads, 4000), (_devices, 1000)] if SOAK else [(_threads, 2000), (_devices, 500)],
)
def test_work_is_linear(
    make: Callable[[int], list[dict[str, Any]]], count: int, tmp_path: Path
) -> None:
    few = write(tmp_path / "few.json", make(count))
    many = write(tmp_path / "many.json", make(_TIMES * count))
    _report_time(few)  # loads what is loaded once
    assert _report_time(many) < _AT_MOST * _report_time(few)


def test_so_many_devices_have_no_account_each(tmp_path: Path) -> None:
    path = write(tmp_path / "many.json", _devices(200))
    report = tidy.check(tidy.load(path))
    assert len(report.accounts) == 64
    assert report.summary.warnings == ("200 devices: only the 64 busiest have an account",)
    assert report.summary.devices == (("GPU", 200),)
