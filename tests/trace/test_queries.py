"""Events by name, by kind and by time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidy.trace import EventKind, Events, Intervals, Trace
from tidy.trace.names import NameTable, matching
from tidy.trace.outline import parse_outline

from .random_traces import host_traces

_TWO_THREADS = """
ProfilerStep#1 10us
  aten::add
  aten::add_
thread 2
aten::add 30us
  aten::mul
"""


@given(host_traces(), st.integers(-2, 40), st.integers(-2, 40))
def test_within_is_what_starts_in_the_interval(trace: Trace, start: int, end: int) -> None:
    found = list(trace.within(start, end))
    assert {event.row for event in found} == {
        row for row in range(len(trace)) if start <= trace.start_ns[row] < end
    }
    starts = [event.start_ns for event in found]
    assert starts == sorted(starts)


@given(host_traces(), st.integers(-2, 40), st.integers(-2, 40))
def test_within_one_track(trace: Trace, start: int, end: int) -> None:
    for track in range(len(trace.tracks)):
        on_track = [row for row in trace.rows_within(start, end) if trace.track_id[row] == track]
        assert trace.rows_within(start, end, track).tolist() == on_track


@given(host_traces())
def test_time_of_rows_counts_overlaps_once(trace: Trace) -> None:
    covered = {t for e in trace.events() for t in range(e.start_ns, e.end_ns)}
    assert trace.time_of(range(len(trace))).total_ns == len(covered)


@given(host_traces(), st.integers(0, 40), st.integers(0, 40))
def test_all_that_gives_events_gives_a_sequence(trace: Trace, start: int, end: int) -> None:
    """Each can be counted, indexed, cut, and read more than once; its views come when asked for."""
    deepest = max(trace.dfs(), key=lambda event: int(trace.depth[event.row]), default=None)
    given = [
        trace.events(),
        trace.events(row for row in range(len(trace)) if row % 2),
        trace.named("*"),
        trace.of_kind(EventKind.TorchOp),
        trace.within(start, end),
        trace.dfs(),
        trace.bfs(),
        *([] if deepest is None else [deepest.ancestors(), deepest.descendants()]),
    ]
    for events in given:
        once = list(events)
        assert once == list(events) == [events[at] for at in range(len(events))]
        assert (len(events), bool(events)) == (len(once), bool(once))
        assert list(events[1:]) == once[1:]
        assert list(events[::-2]) == once[::-2]
        assert list(reversed(events)) == once[::-1]
        assert isinstance(events, Events)
        assert isinstance(events[1:], Events)
        assert all(event in events and events.index(event) == at for at, event in enumerate(once))
        assert [event in events for event in trace.events()] == [e in once for e in trace.events()]
        same = trace.events(event.row for event in once)
        assert (events, hash(events)) == (same, hash(same))
        with pytest.raises(IndexError):
            _ = events[len(once)]


def test_events_say_what_and_how_many() -> None:
    trace = parse_outline(_TWO_THREADS)
    assert repr(trace.named("aten::add*")) == "<3 events: 2 aten::add, 1 aten::add_>"
    assert repr(trace.named("nothing")) == "<no events>"
    assert repr(trace.events()[-1:]) == "<1 event: 1 aten::mul>"
    long = parse_outline("\n".join(f"{name * 99} 1us" for name in "abcde"))
    said = repr(long.events())
    assert said.startswith("<5 events: 1 aaaa")
    assert said.endswith("..., 2 others>")
    assert len(said) < 200


def test_names_are_whole_unless_starred() -> None:
    trace = parse_outline(_TWO_THREADS)

    def named(*patterns: str) -> list[str]:
        return [event.name for event in trace.named(*patterns)]

    assert named("aten::add") == ["aten::add", "aten::add"]
    assert named("aten::add*", "aten::mul") == ["aten::add", "aten::add_", "aten::add", "aten::mul"]
    assert named("*Step#*") == ["ProfilerStep#1"]
    assert named("aten::ad.", "add") == []
    assert named() == []


def test_events_of_a_kind() -> None:
    trace = parse_outline(_TWO_THREADS)
    assert [e.name for e in trace.of_kind(EventKind.Annotation)] == ["ProfilerStep#1"]
    assert len(trace.rows_of_kind(EventKind.TorchOp, EventKind.Annotation)) == len(trace) == 5
    assert list(trace.of_kind(EventKind.Kernel)) == []


def test_the_span_reaches_from_the_first_start_to_the_last_end() -> None:
    trace = parse_outline(_TWO_THREADS)
    assert trace.span_ns == 30_000
    assert trace.start_ns_first == min(event.start_ns for event in trace.events())


def test_share_of_the_steps() -> None:
    trace = parse_outline("ProfilerStep#1 10us\nProfilerStep#2 30us\naten::add 40us")
    first, second = trace.steps
    assert trace.step_share(Intervals([first.start_ns], [first.end_ns])) == 0.25
    assert trace.step_share(Intervals([second.start_ns], [second.end_ns + 9_000_000])) == 0.75
    assert trace.step_share(Intervals([second.end_ns], [second.end_ns + 9_000_000])) is None


def test_without_steps_the_whole_span_is_the_step() -> None:
    trace = parse_outline("aten::add 10us\naten::mul 9us")
    assert trace.span_ns == 20_000
    start = trace.start_ns_first
    assert trace.step_share(Intervals([start], [start + 5000])) == 0.25


def test_an_empty_trace_has_no_time() -> None:
    trace = parse_outline("")
    trace.self_check()
    assert (len(trace), trace.span_ns, trace.steps, list(trace.dfs())) == (0, 0, (), [])
    assert trace.step_share(Intervals([0], [1])) is None


_NAMES = st.lists(st.text("ab*", max_size=5), unique=True, max_size=8)


@given(_NAMES, _NAMES)
def test_patterns_fit_as_regular_expressions_do(names: list[str], patterns: list[str]) -> None:
    sources = [".*".join(map(re.escape, pattern.split("*"))) for pattern in patterns]
    wanted = [
        name for name in names if any(re.fullmatch(each, name, re.DOTALL) for each in sources)
    ]
    assert matching(names, patterns) == wanted
    ids = {name: number for number, name in enumerate(names)}
    assert NameTable(ids).fitting(patterns) == [ids[name] for name in wanted]


@given(host_traces())
def test_rows_of_names_are_those_of_each_name(trace: Trace) -> None:
    for chosen in (
        [],
        range(len(trace.names))[:1],
        range(0, len(trace.names), 2),
        range(len(trace.names)),
    ):
        rows = [row for row in range(len(trace)) if trace.name_id[row] in chosen]
        assert trace.rows_of_names(list(chosen)).tolist() == rows


def test_times_are_shown_in_few_words() -> None:
    trace = parse_outline("ProfilerStep#1 10us\n  aten::add\nProfilerStep#2 10us\n")
    assert repr(trace.window) == "<Window: 2 steps, 20.0 us together>"
    assert repr(Intervals([0, 5], [2, 7])) == "Intervals([(0, 2), (5, 7)])"
    many = Intervals(range(0, 4000, 4), range(3, 4003, 4))
    assert repr(many) == "<1,000 intervals between 0 and 3999 ns, 3.00 us in all>"
