"""Which events count as one row, and what a row's own time is; times in microseconds."""

from __future__ import annotations

from inspect import signature

import pytest

import tidy
from tidy.averages import EventList, FunctionEventAvg

from ..conftest import ReadEvents
from ..trace.kineto import call, frame, mark, op, span


def by_key(averages: EventList) -> dict[str, FunctionEventAvg]:
    return {average.key: average for average in averages}


def test_function_events_are_a_sequence(read_events: ReadEvents) -> None:
    events = read_events([op("outer", 0, 100), op("inner", 10, 30)]).function_events
    assert [each.name for each in events[:2]] == ["outer", "inner"]
    assert [each.name for each in events[::-1]] == [each.name for each in reversed(events)]
    assert (events[-1].name, events.index(events[1]), bool(events)) == ("inner", 1, True)
    assert repr(events).startswith("<2 function events of <Trace ")


def test_tables_take_the_same_arguments_wherever_they_are_asked_for(
    read_events: ReadEvents,
) -> None:
    trace = read_events([op("outer", 0, 100)])
    of_averages = signature(trace.key_averages().table)
    assert signature(trace.table).parameters == of_averages.parameters
    assert signature(tidy.profile().table).parameters == of_averages.parameters
    assert trace.table(header="mine", time_unit="us") == trace.key_averages().table(
        header="mine", time_unit="us"
    )


def test_own_time_is_what_no_child_took(read_events: ReadEvents) -> None:
    events = [op("outer", 0, 100), op("inner", 10, 30), op("leaf", 15, 5), op("inner", 50, 20)]
    averages = read_events(events).key_averages()
    assert [average.key for average in averages] == ["outer", "inner", "leaf"]
    found = by_key(averages)
    assert (found["outer"].cpu_time_total, found["outer"].self_cpu_time_total) == (100, 50)
    assert (found["inner"].cpu_time_total, found["inner"].self_cpu_time_total) == (50, 45)
    assert (found["inner"].count, found["inner"].cpu_time) == (2, 25)
    assert averages.self_cpu_time_total == 100
    assert found["outer"].cpu_parent is None
    assert found["leaf"].cpu_parent is not None
    assert found["leaf"].cpu_parent.name == "inner"


def test_what_outlives_the_event_around_it_is_no_child(read_events: ReadEvents) -> None:
    """The second starts in a and ends after it; c lies in both, and is under the one begun last."""
    averages = read_events([op("a", 0, 50), op("b", 40, 30), op("c", 45, 5)]).key_averages()
    found = by_key(averages)
    assert found["a"].self_cpu_time_total == 50
    assert found["b"].self_cpu_time_total == 25
    assert found["b"].cpu_parent is None


def test_threads_are_nested_apart(read_events: ReadEvents) -> None:
    averages = read_events([op("a", 0, 50), op("b", 10, 20, tid=2)]).key_averages()
    assert by_key(averages)["a"].self_cpu_time_total == 50
    assert averages.self_cpu_time_total == 70


def test_an_only_child_of_the_same_name_is_no_row_of_its_own(read_events: ReadEvents) -> None:
    """One overload that calls another, twice over; what is below counts for the first."""
    events = [op("sum", 0, 100), op("sum", 10, 80), op("sum", 20, 60), op("fill", 30, 10)]
    found = by_key(read_events(events).key_averages())
    assert (found["sum"].count, found["sum"].cpu_time_total) == (1, 100)
    assert found["sum"].self_cpu_time_total == 90
    twins = [op("sum", 0, 100), op("sum", 10, 20), op("sum", 40, 20)]
    assert by_key(read_events(twins).key_averages())["sum"].count == 3


def test_steps_are_one_row_and_ranges_are_told_from_ops(read_events: ReadEvents) -> None:
    events = [mark("ProfilerStep#7", 0, 10), mark("ProfilerStep#8", 10, 10), op("x", 1, 2)]
    averages = read_events([*events, mark("x", 20, 5)]).key_averages()
    rows = [(each.key, each.is_user_annotation, each.count) for each in averages]
    assert rows == [("ProfilerStep*", True, 2), ("x", False, 1), ("x", True, 1)]


def test_python_functions_and_calls_are_rows(read_events: ReadEvents) -> None:
    """As they are in PyTorch's table since it records them."""
    events = [
        frame("train.py(3): main", 0, 100),
        op("aten::mm", 10, 50),
        call("cudaLaunchKernel", 20, 10, 1),
    ]
    found = by_key(read_events(events).key_averages())
    assert found["train.py(3): main"].self_cpu_time_total == 50
    assert found["aten::mm"].self_cpu_time_total == 40
    assert found["cudaLaunchKernel"].self_cpu_time_total == 10


@pytest.mark.parametrize("name", ["aten::is_leaf", "profiler::_record_function_exit"])
def test_what_the_profiler_calls_for_itself_is_left_out(name: str, read_events: ReadEvents) -> None:
    averages = read_events([op("aten::mm", 0, 50), op(name, 10, 20)]).key_averages()
    assert [(each.key, each.self_cpu_time_total) for each in averages] == [("aten::mm", 50)]


def test_overhead_of_the_profiler_is_a_row(read_events: ReadEvents) -> None:
    events = [op("aten::mm", 0, 50), span("overhead", "Buffer Flush", 10, 5, pid=-1, tid=0)]
    found = by_key(read_events(events).key_averages())
    assert found["Buffer Flush"].self_cpu_time_total == 5
    assert found["aten::mm"].self_cpu_time_total == 50


def test_the_total_adds_up_all_rows(read_events: ReadEvents) -> None:
    total = read_events([op("a", 0, 50), op("b", 10, 20)]).key_averages().total_average()
    assert (total.key, total.count) == ("Total", 2)
    assert (total.cpu_time_total, total.self_cpu_time_total) == (70, 50)


def test_events_are_listed_by_start(read_events: ReadEvents) -> None:
    trace = read_events([op("inner", 10, 20), op("outer", 10, 30), op("late", 60, 1)])
    events = trace.function_events
    assert [event.name for event in events] == ["outer", "inner", "late"]
    assert events[1].cpu_parent == events[0]
    assert events[-1].event.name == "late"
    with pytest.raises(IndexError):
        _ = events[3]
