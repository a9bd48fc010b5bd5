"""PyTorch's own `load_nvprof` on the same files."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tidy
from tidy.trace import EventKind

from .sqlite_files import NvprofFile

_MARKER = "CUPTI_ACTIVITY_KIND_MARKER"
pytestmark = pytest.mark.oracle


@pytest.fixture
def load_nvprof() -> Callable[[str], Any]:
    return pytest.importorskip("torch").autograd.profiler.load_nvprof  # type: ignore[no-any-return]


def _training(path: Path) -> None:
    with NvprofFile(path) as file:
        file.row("CUPTI_ACTIVITY_KIND_CONTEXT", contextId=1)
        for step in range(5):
            at = 10_000 * step
            file.range("training step", at, at + 9000)
            for number in range(3):
                start = at + 1000 * number + 100
                file.range(f"aten::linear, seq = {number}", start, start + 900)
                file.range("aten::addmm", start + 10, start + 800)
                correlation = 10 * step + number + 1
                file.call(211, start + 20, start + 30, correlation)
                file.kernel(
                    "sgemm", start + 500, start + 600 + number, correlation, cacheConfig=b""
                )
        file.range("no kernels", 100_000, 100_001)
        file.range("never ended", 100_002, None)


def test_ranges_and_their_kernels(load_nvprof: Callable[[str], Any], tmp_path: Path) -> None:
    path = tmp_path / "profile.nvvp"
    _training(path)
    theirs = sorted(
        (e.time_range.start, e.time_range.end, e.name, sorted(k.duration for k in e.kernels))
        for e in load_nvprof(str(path))
    )
    trace = tidy.load(path)
    texts = {"aten::linear": "aten::linear, seq = {}"}
    ours = sorted(
        (
            e.start_ns,
            e.end_ns,
            texts.get(e.name, e.name).format(e.sequence_nr),
            sorted(k.duration_ns for k in e.kernels),
        )
        for e in trace.of_kind(EventKind.TorchOp, EventKind.Annotation)
        if e.name != "never ended"  # which PyTorch leaves out
    )
    assert ours == theirs
    assert len(ours) == 36


def test_duplicates_that_stop_theirs(load_nvprof: Callable[[str], Any], tmp_path: Path) -> None:
    path = tmp_path / "profile.nvvp"
    _training(path)
    connection = sqlite3.connect(path)
    columns = "flags, timestamp, id, objectKind, objectId, name, domain"
    connection.execute(
        f"INSERT INTO {_MARKER} ({columns}) SELECT {columns} FROM {_MARKER} "  # noqa: S608
        "WHERE id = 1 AND name != 0"
    )
    connection.commit()
    connection.close()
    with pytest.raises(RuntimeError, match="duplicate key"):
        load_nvprof(str(path))
    warnings = tidy.load(path).info.warnings
    assert [w for w in warnings if "duplicates" in w] == ["left out duplicates of ranges: 1"]
