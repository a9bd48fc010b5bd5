"""PyTorch's `export_stacks` against tidy's."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from . import workloads
from .recording import record

pytestmark = pytest.mark.oracle
pytest.importorskip("torch")


def _sums(path: Path, *, leaf: bool) -> Counter[str]:
    """Microseconds by stack, without the innermost frame where that is the event itself."""
    sums = Counter[str]()
    for line in path.read_text("utf-8").splitlines():
        stack, _, value = line.rpartition(" ")
        sums[stack.rpartition(";")[0] if leaf else stack] += int(value)
    return sums


def test_stacks_have_the_same_times(tmp_path: Path) -> None:
    """PyTorch cuts every event to whole microseconds, tidy every sum.

    It does not name the event itself, and leaves out events with no frame above.
    """
    recording = record(
        tmp_path, workloads.training, verbose=True, with_stack=True, record_shapes=True
    )
    ours, theirs = tmp_path / "ours.txt", tmp_path / "theirs.txt"
    recording.trace.export_stacks(ours)
    recording.profiler.export_stacks(str(theirs), "self_cpu_time_total")
    mine, other = _sums(ours, leaf=True), _sums(theirs, leaf=False)
    del mine[""]
    events = Counter(
        ";".join(frame.translate(str.maketrans(" ;\t\n", "____")) for frame in event.stack[::-1])
        for event in recording.profiler.events()
    )
    assert other
    assert other.keys() <= mine.keys()
    for stack, total in mine.items():
        assert abs(total - other[stack]) <= events[stack], stack
