"""Folded stacks for flame graphs."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..conftest import ReadEvents
from ..trace.kineto import call, frame, kernel, op

_EVENTS = [
    frame("train.py(1): main", 0, 100),
    frame("a b;c.py(9): <listcomp>", 10, 60),
    op("aten::mm", 12, 5.5),
    op("aten::mm", 22, 5.5),
    call("cudaLaunchKernel", 24, 2, 1),
    op("aten::t", 80, 0.25),
    kernel("gemm", 110, 30, correlation=1),
]


def test_time_of_the_cpu(read_events: ReadEvents, tmp_path: Path) -> None:
    """Outermost first, blanks and semicolons replaced, equal stacks once, in microseconds."""
    path = tmp_path / "stacks.txt"
    read_events(_EVENTS).export_stacks(path)
    main, inner = "train.py(1):_main", "a_b_c.py(9):_<listcomp>"
    assert sorted(path.read_text("utf-8").splitlines()) == [
        f"{main} 39",
        f"{main};{inner} 49",
        f"{main};{inner};aten::mm 9",
        f"{main};{inner};cudaLaunchKernel 2",
    ]


def test_time_of_devices(read_events: ReadEvents, tmp_path: Path) -> None:
    path = tmp_path / "stacks.txt"
    for metric in ("self_device_time_total", "self_cuda_time_total"):
        read_events(_EVENTS).export_stacks(path, metric)
        lines = path.read_text("utf-8").splitlines()
        assert lines == ["train.py(1):_main;a_b_c.py(9):_<listcomp>;aten::mm 30"]


def test_what_cannot_be_exported(read_events: ReadEvents, tmp_path: Path) -> None:
    path = tmp_path / "stacks.txt"
    with pytest.raises(ValueError, match="self_device_time_total"):
        read_events(_EVENTS).export_stacks(path, "flops")
    with pytest.raises(ValueError, match="with_stack=True"):
        read_events([op("aten::mm", 0, 5)]).export_stacks(path)
    assert not path.exists()
