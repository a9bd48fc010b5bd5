"""Values of unexpected types or sizes are read where they can be, and counted where not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tidy.readers import decoder
from tidy.trace import EventKind, Track

from .conftest import Read
from .written import document, event, names, warning_count

ARGS = (
    "External id",
    "Ev Idx",
    "Sequence number",
    "Fwd thread id",
    "correlation",
    "stream",
    "bytes",
)


@pytest.mark.parametrize("key", ARGS)
@pytest.mark.parametrize(
    "value", [2**63, 2**64, -(2**63) - 1, 2**70, 10**400, "x", [], {}, 1.5, True]
)
def test_numbers_that_are_none_or_too_large(read: Read, key: str, value: Any) -> None:
    args = {key: value, "Input Dims": [[4]]}
    trace = read(document([event("a", 1), event("b", 10, args=args), event("c", 20)]))
    assert names(trace) == ["a", "b", "c"]
    assert [e.input_shapes for e in trace.events()] == [(), ((4,),), ()]
    expected = 0 if value == 1.5 else 1
    assert len(trace.info.warnings) == expected
    if expected:
        assert warning_count(trace, "wrong type or size") == "1"


@pytest.mark.parametrize("written", ['"12"', "12.0", "1.2e1", '"0xc"'])
def test_numbers_written_otherwise(read: Read, written: str) -> None:
    call = event("launch", 1, 1, cat="cuda_runtime", args={"correlation": "MARK"})
    kernel = event("k", 5, 1, cat="kernel", pid=0, tid=7, args={"correlation": 12, "bytes": "MARK"})
    trace = read(document([call, kernel]).replace('"MARK"', written))
    found = {e.name: e for e in trace.events()}
    assert found["k"].parent == found["launch"]
    assert found["k"].nbytes == 12
    assert trace.info.warnings == []


def test_quoted_numbers_of_hip_are_decoded_with_all_else(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(decoder, "_coerce_event")  # what reads one event after the other
    said = {"correlation": 12, "stream": "0x0", "bytes": "1024"}
    call = event("hipMemcpyAsync", 1, 1, cat="cuda_runtime", args=said)
    copies = [
        event(f"copy {number}", 5 + number, 1, cat="gpu_memcpy", pid=0, tid=7, args=args)
        for number, args in enumerate(
            [
                {"correlation": 12, "device": 0, "stream": "0x1F", "bytes": "0012"},
                {"correlation": 13, "device": 0, "stream": 3, "bytes": 2**62},
                {"correlation": 14, "device": 0, "stream": "9" * 18, "bytes": "0x" + "f" * 15},
            ]
        )
    ]
    trace = read(document([call, *copies]))
    rows = [row for row, name in enumerate(names(trace)) if name.startswith("copy")]
    assert trace.stream[rows].tolist() == [31, 3, 10**18 - 1]
    assert trace.nbytes[rows].tolist() == [12, 2**62, 16**15 - 1]
    assert trace.info.warnings == []


@pytest.mark.parametrize("value", ["", "0x", "0X7", "x", "7x", "9" * 40, "0x" + "f" * 40])
def test_quoted_values_that_are_no_numbers_of_64_bits(read: Read, value: str) -> None:
    kernel = event("k", 5, 1, cat="kernel", pid=0, tid=7, args={"bytes": value, "stream": 7})
    trace = read(document([kernel, event("b", 20)]))
    assert [each.nbytes for each in trace.events() if each.name == "k"] == [0]
    assert warning_count(trace, "wrong type or size") == "1"


def test_large_numbers_that_nobody_reads_cost_nothing(read: Read) -> None:
    args = {"Comms Id": 2**64 + 5, "est. achieved occupancy %": "MARK", "External id": 3}
    text = document([event(args=args)]).replace('"MARK"', "1e999")
    trace = read(text)
    assert trace.info.warnings == []


@pytest.mark.parametrize("args", [None, [], "x", 5, [[1]]])
def test_args_that_are_no_object(read: Read, args: Any) -> None:
    written = {**event("b", 10), "args": args}
    trace = read(document([event("a", 1), written]))
    assert names(trace) == ["a", "b"]
    assert len(trace.info.warnings) == (args is not None)


@pytest.mark.parametrize("key", ["ph", "cat", "name", "pid", "tid", "args"])
@pytest.mark.parametrize("value", [None, True, 5, 1.5, "", "x", [], [1], {}, {"a": 1}, 2**70, -1])
def test_any_value_anywhere(read: Read, key: str, value: Any) -> None:
    written = [event("a", 1), {**event("b", 10), key: value}, event("c", 20)]
    trace = read(document(written))
    assert {"a", "c"} <= set(names(trace))
    assert len(trace) >= 2


@pytest.mark.parametrize("element", [None, 1, "x", [], [{}], True, 1.5])
def test_elements_that_are_no_events_are_counted(read: Read, element: Any) -> None:
    trace = read(document([event("a", 1), element, event("b", 10), element]))
    assert names(trace) == ["a", "b"]
    assert warning_count(trace, "elements that are no events") == "2"


def test_empty_objects_are_nothing(read: Read) -> None:
    trace = read(document([{}, event("a", 1), {}]))
    assert names(trace) == ["a"]
    assert trace.info.warnings == []


def test_the_last_of_a_key_that_stands_twice_holds(read: Read) -> None:
    times = '"ts": 1, "name": "b", "pid": 1, "tid": 1, "ts": 2'
    trace = read(f'[{{"ph": "X", "cat": "cpu_op", "name": "a", {times}}}]')
    (found,) = trace.events()
    assert (found.name, found.start_ns) == ("b", 2000)


def test_pids_and_tids_beyond_64_bits_stay_apart(read: Read) -> None:
    trace = read(document([event("a", 1, pid=2**70), event("b", 2, pid=2**70 + 1)]))
    assert {e.track.pid for e in trace.events()} == {str(2**70), str(2**70 + 1)}


@pytest.mark.parametrize("tid", ["٣", "12345678901234567890", "-5", "1e5", "stream x", "stream ٣"])
def test_texts_that_look_like_numbers(read: Read, tid: str) -> None:
    (found,) = read(document([event(cat="kernel", tid=tid)])).of_kind(EventKind.Kernel)
    assert isinstance(found.track, Track)


@pytest.mark.parametrize(
    "dims",
    [5, "x", {}, [{"a": 1}], [[{"a": 1}]], [None], [[2**70]], "[" * 5000 + "]" * 5000, [["x"]]],
)
def test_inputs_of_any_form_can_be_asked_for(read: Read, dims: Any) -> None:
    text = json.dumps(dims) if not isinstance(dims, str) else dims if dims[0] == "[" else '"x"'
    written = document([event("a", 1), event("b", 9, args={"Input Dims": "MARK"})])
    for found in read(written.replace('"MARK"', text)).events():
        assert isinstance(hash(found.input_shapes), int)
