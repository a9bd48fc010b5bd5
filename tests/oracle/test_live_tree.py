"""The tree read from an export is the tree that this PyTorch holds in memory."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from .live_tree import edges_of_rows, edges_of_trace, rows_of
from .recording import record

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

_WORKLOADS = (
    "same_thread", "new_thread_each", "one_thread_reused", "two_at_once", "late_backward",
    "root_first", "deep_reentrant", "double_backward",
)  # fmt: skip


@pytest.mark.parametrize("with_stack", [False, True], ids=["no-stacks", "stacks"])
@pytest.mark.parametrize("all_threads", [False, True], ids=["one-thread", "all-threads"])
@pytest.mark.parametrize("name", _WORKLOADS)
def test_live_tree(tmp_path: Path, name: str, all_threads: bool, with_stack: bool) -> None:
    pytest.importorskip("torch")
    from . import thread_workloads

    work = getattr(thread_workloads, name)
    recording = record(
        tmp_path,
        work,
        all_threads=all_threads,
        with_stack=with_stack,
        record_shapes=True,
        profile_memory=True,
    )
    live = edges_of_rows(rows_of(recording.profiler))
    read = edges_of_trace(recording.trace)
    assert live.total() == read.total() > 0
    assert live - read == Counter()


def test_the_workloads_hang_threads_under_threads(tmp_path: Path) -> None:
    """Else the cases above would not try what they are there for."""
    pytest.importorskip("torch")
    from .thread_workloads import one_thread_reused

    trace = record(tmp_path, one_thread_reused, all_threads=True).trace
    across = [e for e in trace.dfs() if e.parent is not None and e.parent.track != e.track]
    assert {e.parent.name for e in across if e.parent is not None} == {"iteration_0"}
    assert max(event.start_ns - event.parent.end_ns for event in across if event.parent) > 0
