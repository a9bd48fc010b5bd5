"""The keys beside the events, wherever they stand and whatever is wrong with them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .conftest import Read
from .written import document, event, names, starts_ns

KEYS: dict[str, Any] = {
    "schemaVersion": 1,
    "deviceProperties": [{"id": 0, "name": "NVIDIA A100"}, {"id": 1, "name": "NVIDIA A100"}],
    "distributedInfo": {"rank": 3, "world_size": 8, "pg_config": [{"ranks": "[0, 1]"}]},
    "record_shapes": 1,
    "with_stack": 0,
    "baseTimeNanoseconds": 1_790_857_026_000_000_000,
    "traceName": "a]}b",
}
EVENTS = [event("a", 1), event("b", 10)]


@pytest.mark.parametrize("before", range(len(KEYS) + 1))
def test_keys_before_and_after_the_events(read: Read, before: int) -> None:
    keys = list(KEYS.items())
    written = {**dict(keys[:before]), "traceEvents": EVENTS, **dict(keys[before:])}
    for indent in (None, 2):
        trace = read(json.dumps(written, indent=indent))
        assert names(trace) == ["a", "b"]
        assert trace.info.header == KEYS
        assert trace.info.warnings == []
        assert (trace.info.rank, trace.info.world_size) == (3, 8)
        assert trace.info.flag("record_shapes")
        assert not trace.info.flag("with_stack")


def test_a_list_of_the_same_name_inside_other_keys_is_not_the_list(read: Read) -> None:
    inner = {"traceEvents": [event("wrong", 5)], "text": '"traceEvents": [{"ph": "X"'}
    trace = read(json.dumps({"metadata": inner, "schemaVersion": 1, "traceEvents": EVENTS}))
    assert names(trace) == ["a", "b"]
    assert trace.info.header == {"metadata": inner, "schemaVersion": 1}


def test_the_first_list_counts_where_there_are_two(read: Read) -> None:
    text = document(EVENTS)
    trace = read(text[:-1] + ', "traceName": "t", "traceEvents": [{"ph": "X", "ts": 5}]}')
    assert names(trace) == ["a", "b"]
    assert trace.info.header == {"traceName": "t"}
    assert "left out events after the end of their list: 1" in trace.info.warnings


def test_a_second_document_after_the_first_is_left_out(read: Read) -> None:
    trace = read(document(EVENTS, traceName="t") + document([event("c", 5)]))
    assert names(trace) == ["a", "b"]
    assert trace.info.header == {"traceName": "t"}
    assert trace.info.warnings == ["left out events after the end of their list: 1"]


@pytest.mark.parametrize("where", ["head", "tail"])
def test_log_lines_that_break_the_json_cost_no_event_and_no_time(read: Read, where: str) -> None:
    # Until 2026-07 Kineto wrote its log as top-level lists, quotes and all.
    log = '"INFO": ["cannot open "x"", "y]"]'
    events = f'"traceEvents": {json.dumps(EVENTS)}'
    base = '"baseTimeNanoseconds": 5000, "deviceProperties": [{"id": 0}]'
    parts = [log, base, events] if where == "head" else [events, log, base]
    trace = read("{" + ", ".join(parts) + "}")
    assert names(trace) == ["a", "b"]
    assert starts_ns(trace) == [6000, 15000]
    assert trace.info.header == {"baseTimeNanoseconds": 5000, "deviceProperties": [{"id": 0}]}
    assert trace.info.warnings == ["the header is damaged; keys of it that could be read: 2"]


@pytest.mark.parametrize("value", ["inf", "N/A", '"a\nb"', '"C:\\quiet"', "[1, 2,]"])
def test_values_that_can_be_mended(read: Read, value: str) -> None:
    text = document(EVENTS, x="MARK", schemaVersion=1)
    trace = read(text.replace('"MARK"', value))
    assert names(trace) == ["a", "b"]
    assert trace.info.header["schemaVersion"] == 1


@pytest.mark.parametrize(
    "value", ["1e999", "[" * 100_000 + "]" * 100_000, '"' + "a" * (5 << 20) + '"', "9" * 5000]
)
def test_values_that_cannot_be_kept_are_counted(read: Read, value: str) -> None:
    text = document(EVENTS, x="MARK", schemaVersion=1)
    trace = read(text.replace('"MARK"', value))
    assert names(trace) == ["a", "b"]
    assert "x" not in trace.info.header
    assert len(trace.info.warnings) == 1


@pytest.mark.parametrize(
    "ending", ["", ",", ', "traceN', ', "traceName": "t', ', "traceName": "t"']
)
def test_a_file_cut_off_after_the_events(read: Read, ending: str) -> None:
    text = document(EVENTS, schemaVersion=1)
    trace = read(text[:-1] + ending)
    assert names(trace) == ["a", "b"]
    assert trace.info.header["schemaVersion"] == 1
    assert len(trace.info.warnings) == 1


def test_a_damaged_header_s_keys_are_those_of_its_own_level(read: Read) -> None:
    inner = '"distributedInfo": {"rank": 3, "schemaVersion": 7}, "x": ["a "b""]'
    trace = read(f'{{{inner}, "traceEvents": {json.dumps(EVENTS)}}}')
    assert names(trace) == ["a", "b"]
    assert trace.info.header == {"distributedInfo": {"rank": 3, "schemaVersion": 7}}


def test_a_bare_list_has_no_header(read: Read) -> None:
    trace = read(json.dumps(EVENTS))
    assert trace.info.header == {}
    assert trace.info.warnings == []


def test_megabytes_of_a_user_s_own_before_the_events(read: Read) -> None:
    own = {"notes": ["traceEvents", {"a": [1, 2, 3]}] * 50_000}
    trace = read(document(EVENTS, metadata=own, schemaVersion=1))
    assert names(trace) == ["a", "b"]
    assert trace.info.header["schemaVersion"] == 1
