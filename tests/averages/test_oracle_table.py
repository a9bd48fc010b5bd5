"""PyTorch's own `key_averages().table()` of a run against tidy's, read from its export."""

from __future__ import annotations

from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tidy.averages import EventList

from ..environment import SOAK
from . import workloads
from .comparing import assert_same_averages, assert_same_table, whole_nanoseconds
from .recording import Recording, exported, record

pytestmark = pytest.mark.oracle
pytest.importorskip("torch")

_OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "shapes": {"record_shapes": True},
    "all threads": {"record_shapes": True, "all_threads": True},
    "memory and flops": {"profile_memory": True, "with_flops": True},
    "all": {
        "record_shapes": True,
        "with_stack": True,
        "profile_memory": True,
        "with_flops": True,
    },
}
_WORKLOADS = [
    workloads.training,
    workloads.operations,
    workloads.threads,
    workloads.custom_backward,
]
_SORT_KEYS = [
    None,
    "cpu_time",
    "cpu_time_total",
    "self_cpu_time_total",
    "cuda_time_total",
    "self_cuda_memory_usage",
    "cpu_memory_usage",
    "self_cpu_memory_usage",
    "count",
]


@pytest.mark.parametrize("options", _OPTIONS.values(), ids=_OPTIONS)
@pytest.mark.parametrize("work", _WORKLOADS, ids=lambda work: work.__name__)
def test_tables_are_the_same(work: Any, options: dict[str, Any], tmp_path: Path) -> None:
    recording = record(tmp_path, work, **options)
    for by_shape in (False, True):
        ours = recording.trace.key_averages(group_by_input_shape=by_shape)
        theirs = recording.profiler.key_averages(group_by_input_shape=by_shape)
        assert_same_averages(ours, theirs, flops="with_flops" in options)
        _assert_same_tables(ours, whole_nanoseconds(theirs), flops="with_flops" in options)
    _assert_same_totals(recording)


def _assert_same_tables(ours: EventList, theirs: Any, *, flops: bool) -> None:
    more = {"row_limit": 3, "header": "a header", "max_name_column_width": 20}
    sort_keys = [*_SORT_KEYS, *(["flops"] if flops else [])]
    chosen = list(product(sort_keys, (False, True), ({}, more)))
    for sort_by, top_level_events_only, others in chosen if SOAK else chosen[::3]:
        options: dict[str, Any] = {
            "sort_by": sort_by,
            "top_level_events_only": top_level_events_only,
            **others,
        }
        assert_same_table(ours.table(**options), theirs.table(**options))
    options = {"row_limit": -1, "max_name_column_width": None, "max_shapes_column_width": None}
    assert_same_table(ours.table(**options), theirs.table(**options))
    assert_same_table(ours.table(time_unit="ms"), theirs.table(time_unit="ms"))


def _assert_same_totals(recording: Recording) -> None:
    ours = recording.trace.key_averages().total_average()
    theirs = recording.profiler.profiler.total_average()
    for name in ("count", "cpu_memory_usage", "self_cpu_memory_usage"):
        assert getattr(ours, name) == getattr(theirs, name)
    for name in ("cpu_time_total", "self_cpu_time_total", "cpu_time"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=1e-4)
    assert recording.trace.key_averages().self_cpu_time_total == pytest.approx(
        recording.profiler.profiler.self_cpu_time_total, abs=1e-4
    )


@pytest.mark.parametrize("work", _WORKLOADS, ids=lambda work: work.__name__)
def test_tables_by_stack_are_the_same(work: Any, tmp_path: Path) -> None:
    """Where PyTorch keeps the stack of each event; a backward event has that of its forward."""
    recording = record(tmp_path, work, verbose=True, with_stack=True, record_shapes=True)
    for by_shape, frames in product((False, True), (1, 5, 100)):
        ours = recording.trace.key_averages(by_shape, frames)
        theirs = recording.profiler.key_averages(by_shape, frames)
        assert_same_averages(ours, theirs, flops=False)
        for more in ({}, {"max_src_column_width": 30}, {"max_src_column_width": None}):
            options: dict[str, Any] = {"sort_by": "count", **more}
            assert_same_table(ours.table(**options), theirs.table(**options))


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
def test_each_cycle_of_a_schedule(tmp_path: Path) -> None:
    """Steps are one row; the table is of the cycle that was exported."""
    from torch.profiler import ProfilerActivity, profile, schedule

    cycles = []

    def keep(profiler: Any) -> None:  # an exception in here would crash PyTorch
        cycles.append((exported(profiler, tmp_path).key_averages(), profiler.key_averages()))

    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
        on_trace_ready=keep,
        profile_memory=True,
    ) as profiler:
        workloads.training(8, profiler.step)
    assert len(cycles) == 2
    for ours, theirs in cycles:
        assert [average.count for average in ours if average.key == "ProfilerStep*"] == [2]
        assert_same_averages(ours, theirs, flops=False)
        assert_same_table(ours.table(), theirs.table())


def test_events_are_the_same(tmp_path: Path) -> None:
    """`profile.events()`: order, times, parents, memory, FLOPs and stacks of each."""
    recording = record(
        tmp_path,
        partial(workloads.training, 1),
        verbose=True,
        with_stack=True,
        record_shapes=True,
        profile_memory=True,
        with_flops=True,
    )
    ours, theirs = list(recording.trace.function_events), recording.profiler.events()
    assert len(ours) == len(theirs)
    index = {id(event): number for number, event in enumerate(theirs)}
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.name == other.name
        assert mine.cpu_time_total == pytest.approx(other.cpu_time_total, abs=1e-4)
        assert mine.self_cpu_time_total == pytest.approx(other.self_cpu_time_total, abs=1e-4)
        assert mine.cpu_memory_usage == other.cpu_memory_usage
        assert mine.self_cpu_memory_usage == other.self_cpu_memory_usage
        assert mine.flops == (other.flops or 0)
        assert mine.stack == other.stack
        assert mine.input_shapes == other.input_shapes
        assert mine.is_user_annotation == other.is_user_annotation
        parent = mine.cpu_parent
        expected = None if other.cpu_parent is None else index[id(other.cpu_parent)]
        assert (None if parent is None else parent.index) == expected
