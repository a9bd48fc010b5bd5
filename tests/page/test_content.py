"""The figures of a page are those of the JSON report, and its slices are the trace's rows."""

from __future__ import annotations

from textwrap import indent
from typing import Any

import numpy as np
import pytest

import tidy
from tidy.account import Accountant
from tidy.page.document import style_text
from tidy.page.labels import COLLECTIVE, KINDS, MERGED
from tidy.page.slices import StepSlices
from tidy.page.steps import ShownStep, shown_steps
from tidy.report.units import location_text
from tidy.trace import EventKind, Trace
from tidy.trace.outline import parse_outline

from ..environment import ROOT
from .making import TRACES, content_of, page_of, report_of, steps_of, unpacked

_NOT_DRAWN = {EventKind.Allocation, EventKind.OutOfMemory}


def _job(name: str) -> Any:
    (job,) = content_of(page_of(name))["jobs"]
    return job


@pytest.mark.parametrize("name", TRACES)
def test_accounts_have_the_figures_of_json(name: str) -> None:
    for rank, trace in zip(_job(name)["ranks"], report_of(name)["traces"], strict=True):
        shown = [
            [
                (part["part"], part["cause"], part["time_ns"], part["share"])
                for part in each["parts"]
            ]
            for each in rank["accounts"]
        ]
        said = [
            [
                (part["part"], part["cause"], part["time_ns"], part["share"])
                for part in each["parts"]
            ]
            for each in trace["account"]
        ]
        assert shown == said


@pytest.mark.parametrize("name", TRACES)
def test_steps_have_the_figures_of_json(name: str) -> None:
    for rank, trace in zip(_job(name)["ranks"], report_of(name)["traces"], strict=True):
        counted = [ns for ns, left_out in steps_of(rank) if not left_out]
        assert counted == trace["steps"]["durations_ns"]


@pytest.mark.parametrize("name", [name for name in TRACES if name != "ranks"])
def test_findings_have_the_figures_of_json(name: str) -> None:
    (trace,) = report_of(name)["traces"]
    said = [_figures(each) for each in trace["findings"]]
    shown = [_figures(each) for each in _job(name)["findings"]]
    assert shown
    assert [each for each in shown if each not in said] == []


def _figures(finding: Any) -> tuple[Any, ...]:
    saving = finding["saving"] or {}
    figures = (saving.get(each) for each in ("low_ns", "high_ns", "step_ns"))
    return finding["code"], finding["cost_ns"], finding["cost_share"], *figures


@pytest.mark.parametrize("name", [name for name in TRACES if name != "ranks"])
def test_slices_are_rows_of_the_trace(name: str) -> None:
    trace = tidy.load(ROOT / TRACES[name][0])
    (rank,) = _job(name)["ranks"]
    for shown, step in zip(rank["timelines"], shown_steps(trace.window), strict=True):
        columns = unpacked(shown["slices"])
        rows = [
            event
            for event in trace.events()
            if event.kind not in _NOT_DRAWN
            and event.start_ns < step.end_ns
            and (event.end_ns > step.start_ns or event.start_ns >= step.start_ns)
        ]
        drawn = sorted(zip(columns["start_ns"], columns["duration_ns"], strict=True))
        assert drawn == sorted((e.start_ns - step.start_ns, e.duration_ns) for e in rows)
        names = sorted(shown["names"][each] for each in columns["name"])
        assert names == sorted(event.name[:400] for event in rows)


@pytest.mark.parametrize("name", TRACES)
def test_slices_of_one_line_do_not_overlap(name: str) -> None:
    for rank in _job(name)["ranks"]:
        for shown in rank["timelines"]:
            columns = unpacked(shown["slices"])
            order = np.lexsort((columns["start_ns"], columns["depth"], columns["track"]))
            track, depth, start, duration = (
                columns[each][order] for each in ("track", "depth", "start_ns", "duration_ns")
            )
            same = (np.diff(track) == 0) & (np.diff(depth) == 0)
            assert (start[1:] >= start[:-1] + duration[:-1])[same].all()


@pytest.mark.parametrize("name", ["cpu", "h100", "modelled", "ranks"])
def test_kinds_are_those_of_the_trace(name: str) -> None:
    trace = tidy.load(ROOT / TRACES[name][0])
    timeline = StepSlices(trace, shown_steps(trace.window)[0])
    shown = timeline.to_json(Accountant(trace))
    found = unpacked(shown["slices"])["kind"]
    for event, kind in zip(map(trace.event, timeline.rows), found.tolist(), strict=True):
        text = shown["kinds"][kind]["text"]
        if event.kind == EventKind.Kernel and "nccl" in event.name.lower():
            assert text == COLLECTIVE.text
        else:
            assert text == KINDS[event.kind].text
        works = event.kind in (EventKind.Kernel, EventKind.Memcpy, EventKind.Memset)
        assert shown["kinds"][kind]["is_work"] == works


def test_each_kind_has_a_colour() -> None:
    colours = {each.colour for each in (*KINDS.values(), COLLECTIVE, MERGED)}
    for each in colours:
        assert style_text().count(f"--slice-{each}:") == 2, "a light one and a dark one"
    assert set(EventKind) - set(KINDS) == _NOT_DRAWN


@pytest.mark.parametrize("name", ["cpu", "h100", "modelled"])
def test_places_are_those_of_the_trace(name: str) -> None:
    trace = tidy.load(ROOT / TRACES[name][0])
    for step in shown_steps(trace.window):
        timeline = StepSlices(trace, step)
        shown = timeline.to_json(Accountant(trace))
        place = unpacked(shown["slices"])["place"]
        for at in range(0, len(timeline.rows), 7):
            event = trace.event(timeline.rows[at])
            if event.device < 0:
                said = "" if event.location is None else str(event.location)
                assert shown["places"][place[at]] == said


@pytest.mark.parametrize("name", ["h100", "modelled"])
def test_work_is_linked_to_its_launch(name: str) -> None:
    trace = tidy.load(ROOT / TRACES[name][0])
    timeline = StepSlices(trace, shown_steps(trace.window)[0])
    caller = unpacked(timeline.to_json(Accountant(trace))["slices"])["caller"]
    linked = 0
    for at, row in enumerate(timeline.rows):
        launch = trace.event(row).parent if trace.device[row] >= 0 else None
        if launch is not None and launch.row in set(timeline.rows):
            assert timeline.rows[at + caller[at]] == launch.row
            linked += 1
    assert linked


@pytest.mark.parametrize("name", [name for name in TRACES if name != "ranks"])
def test_findings_have_their_matches(name: str) -> None:
    """What a finding marks on the page are its events: all that lie in the steps shown."""
    report = tidy.check(tidy.load(ROOT / TRACES[name][0]))
    job, found = _job(name), 0
    timelines = [unpacked(each["slices"]) for each in job["ranks"][0]["timelines"]]
    steps = shown_steps(report.trace.window)
    # Of one place outside of the steps, too, the page shows the finding within them.
    findings = {
        (each.code, location_text(each.location, 200)): each for each in reversed(report.findings)
    }
    assert len(job["findings"]) == len(findings)
    for shown in job["findings"]:
        finding = findings[shown["code"], shown["where"]]
        (match,) = shown["matches"]
        slices, at = unpacked(match["slices"])["slice"], 0
        drawn = {each.row: each for each in finding.events if each.kind not in _NOT_DRAWN}
        for step, timeline, count in zip(steps, timelines, match["counts"], strict=True):
            marked = slices[at : at + count]
            at += count
            spans = zip(
                *(timeline[each][marked] for each in ("start_ns", "duration_ns")), strict=True
            )
            said = sorted(
                (each.start_ns - step.start_ns, each.duration_ns)
                for each in drawn.values()
                if each.start_ns < step.end_ns
                and (each.end_ns > step.start_ns or each.start_ns >= step.start_ns)
            )
            assert sorted(spans) == said
            found += count
        assert at == len(slices)
    assert found


def test_the_median_and_the_slowest_are_shown() -> None:
    (rank,) = _job("cpu")["ranks"]
    counted = sorted(ns for ns, left_out in steps_of(rank) if not left_out)
    by_why = {each["why"]: each["duration_ns"] for each in rank["timelines"]}
    assert by_why["slowest"] == counted[-1]
    assert by_why["median"] == counted[(len(counted) - 1) // 2]


def _many() -> Trace:
    return tidy.load(ROOT / TRACES["cpu"][0])


@pytest.mark.parametrize("most", [20, 100, 500])
def test_many_slices_are_merged(most: int) -> None:
    trace = _many()
    (step,) = (each for each in shown_steps(trace.window) if each.why == "slowest")
    whole, some = (
        unpacked(StepSlices(trace, step, n).to_json(Accountant(trace))["slices"])
        for n in (10**6, most)
    )
    assert len(some["kind"]) < len(whole["kind"])
    assert some["count"].sum() == len(whole["kind"])
    alone = some["count"] == 1
    assert not alone.all()
    # The longest stay as they are.
    longest = np.sort(whole["duration_ns"])[-most // 4 :]
    assert np.isin(longest, some["duration_ns"][alone]).all()


def test_a_run_without_steps_is_shown_whole() -> None:
    trace = tidy.load(ROOT / TRACES["run"][0])
    (step,) = shown_steps(trace.window)
    label = "the run with what is left out"  # long first calls
    assert step == ShownStep(label, -1, "", trace.window.start_ns, trace.window.end_ns)


def test_steps_are_asked_for() -> None:
    trace = tidy.load(ROOT / TRACES["cpu"][0])
    numbers = [step.number for step in trace.window.steps]
    for asked, shown in (
        ([str(numbers[0])], numbers[:1]),
        ([str(number) for number in reversed(numbers)], numbers),
        (["99999"], [each.number for each in trace.window.steps if _is_median(trace, each.number)]),
    ):
        labels = [each.label for each in shown_steps(trace.window, asked)]
        assert labels == [f"{trace.window.unit} {number}" for number in shown]


def _is_median(trace: Trace, number: int) -> bool:
    ranges = trace.window.finished_ranges
    lengths = sorted(end - start for start, end in ranges)
    (own,) = (
        end - start
        for step, (start, end) in zip(trace.window.steps, ranges, strict=True)
        if step.number == number
    )
    return own == lengths[(len(lengths) - 1) // 2]


def test_matches_in_merged_slices_are_found() -> None:
    trace = _many()
    (step,) = (each for each in shown_steps(trace.window) if each.why == "slowest")
    merged = StepSlices(trace, step, 40)
    for row in StepSlices(trace, step).rows.tolist():
        (found,) = merged.slices_of(np.array([row])).tolist()
        start, end = merged.spans_ns(found)
        assert start <= trace.start_ns[row]
        assert end >= trace.end_ns[row]


def test_slices_of_one_length_are_merged_too() -> None:
    ops = "".join(f"aten::op{number} 2us\n" for number in range(400))
    trace = parse_outline(f"train.py(3): step 2000us\n{indent(ops, '  ')}")
    step = ShownStep("the run", -1, "", trace.window.start_ns, trace.window.end_ns)
    assert len(StepSlices(trace, step, 100).rows) <= 100


def test_steps_whose_numbers_begin_anew(read_events: Any) -> None:
    """As those of two cycles of a schedule do: each is known by its place."""
    lengths_us = (900, 980, 990, 1000, 1500)
    events, at = [], 0
    for place, length in enumerate(lengths_us):
        where = {"pid": 1, "tid": 1, "ph": "X"}
        name = f"ProfilerStep#{place % 3}"
        events.append({"cat": "user_annotation", "name": name, "ts": at, "dur": length, **where})
        events.append(
            {"cat": "cpu_op", "name": "aten::mm", "ts": at + 1, "dur": length - 9, **where}
        )
        at += length
    shown = shown_steps(read_events(events).window)
    lengths = {each.why: each.end_ns - each.start_ns for each in shown}
    assert lengths["median"] == 990_000
    assert lengths["slowest"] == 1_500_000
    assert [each.number for each in shown] == [2, 4]
