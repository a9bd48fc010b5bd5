"""What a profiler holds in memory is what the exported file gives back."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tidy
from tidy.profiler import profile
from tidy.trace import Trace
from tidy.trace.kinds import EventKind

from .workloads import WORKLOADS

pytestmark = pytest.mark.filterwarnings("ignore")
_FULL = {"record_shapes": True, "with_stack": True, "profile_memory": True}


def rows(trace: Trace) -> list[tuple[Any, ...]]:
    """All that a rule may ask of each event; the file's span of the recording is none of them."""
    return [
        (
            e.kind,
            e.name,
            e.start_ns,
            e.duration_ns,
            e.track,
            e.sequence_nr,
            e.nbytes,
            e.input_shapes,
            e.input_dtypes,
            e.input_strides,
            e.concrete_inputs,
            e.parent.row if e.parent else None,
            e.forward.row if e.forward else None,
            e.location,
        )
        for e in trace.events()
        if e.kind != EventKind.Other
    ]


@pytest.mark.parametrize(
    ("options", "packed"), [({}, ""), (_FULL, ""), (_FULL, ".gz")], ids=["plain", "full", "packed"]
)
@pytest.mark.parametrize("name", WORKLOADS)
def test_the_file_holds_what_memory_does(
    tmp_path: Path, name: str, options: dict[str, bool], packed: str
) -> None:
    with profile(**options) as prof:
        WORKLOADS[name]()
    path = tmp_path / f"a trace.json{packed}"
    prof.export_chrome_trace(path)
    trace = tidy.load(path)
    assert not trace.info.warnings
    for each in (prof.trace, trace):
        each.self_check()
    live, read = rows(prof.trace), rows(trace)
    assert len(live) > 3
    assert live == read
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_event_has_what_the_format_asks_for(tmp_path: Path, name: str) -> None:
    with profile(**_FULL) as prof:
        WORKLOADS[name]()
    path = tmp_path / "t.json.gz"
    prof.export_chrome_trace(path)

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    text = gzip.decompress(path.read_bytes()).decode("utf-8")
    found = json.loads(text, parse_constant=refuse)
    assert found["displayTimeUnit"] in ("ms", "ns")
    events = found["traceEvents"]
    phases = {e["ph"] for e in events}
    assert {"M", "X", "i"} <= phases <= {"M", "X", "i", "s", "f"}
    timed = [e for e in events if e["ph"] == "X"]
    first = min(e["ts"] for e in timed)
    last = max(e["ts"] + e["dur"] for e in timed)
    for event in events:
        assert isinstance(event["name"], str)
        assert isinstance(event["pid"], (int, str))
        assert isinstance(event["tid"], (int, str))
        assert isinstance(event["ts"], (int, float))
        assert isinstance(event.get("args", {}), dict)
        if event["ph"] != "M":
            assert first <= event["ts"] <= last + 0.001
        if event["ph"] == "X":
            assert event["dur"] >= 0
        if event["ph"] == "i":
            assert event["s"] in "gpt"
    ends = [(e["ph"], e["id"]) for e in events if e["ph"] in "sf"]
    assert len(set(ends)) == len(ends)
    starts = {i for ph, i in ends if ph == "s"}
    assert starts == {i for ph, i in ends if ph == "f"}
    assert all(e["bp"] == "e" for e in events if e["ph"] == "f")
    # An arrow begins and ends where an event of its thread begins.
    places = {(e["tid"], e["ts"]) for e in timed}
    assert all((e["tid"], e["ts"]) in places for e in events if e["ph"] in "sf")
    threads = {e["tid"] for e in events if e["ph"] in "Xi" and isinstance(e["tid"], int)}
    named = {e["tid"] for e in events if e["name"] == "thread_name"}
    assert threads <= named


@pytest.mark.parametrize("name", WORKLOADS)
def test_children_lie_inside_their_parents(name: str) -> None:
    with profile(**_FULL) as prof:
        WORKLOADS[name]()
    pairs = [
        (event, event.parent)
        for event in prof.trace.dfs()
        if event.parent is not None and event.parent.track == event.track
    ]
    assert pairs
    for event, parent in pairs:
        assert parent.start_ns <= event.start_ns
        assert event.end_ns <= parent.end_ns


def test_odd_metadata_leave_a_strict_file(tmp_path: Path) -> None:
    with profile() as prof:
        WORKLOADS["ranges"]()
    prof.add_metadata('a "text"', "é \ud800 \x00")
    prof.add_metadata_json("numbers", '{"a": [NaN, 1e999], "b": 2.5}')
    prof.export_chrome_trace(tmp_path / "t.json")

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    found = json.loads((tmp_path / "t.json").read_text("utf-8"), parse_constant=refuse)
    assert found['a "text"'] == "é \ud800 \x00"
    assert found["numbers"] == {"a": ["nan", "inf"], "b": 2.5}


def test_a_recording_of_nothing(tmp_path: Path) -> None:
    with profile(**_FULL) as prof:
        pass
    prof.export_chrome_trace(tmp_path / "t.json")
    trace = tidy.load(tmp_path / "t.json")
    assert rows(trace) == rows(prof.trace)
    assert not list(trace.named("aten::*"))


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WORKLOADS)
def test_holistic_trace_analysis_counts_the_same(tmp_path: Path, name: str) -> None:
    parse = pytest.importorskip("hta.common.trace").parse_trace_file
    with profile(**_FULL) as prof:
        WORKLOADS[name]()
    prof.export_chrome_trace(tmp_path / "t.json.gz")
    _, table, symbols = parse(str(tmp_path / "t.json.gz"))
    texts = symbols.get_sym_table()
    read = Counter(texts[number] for number in table["name"])
    # What a loader's workers did is in the file, and in no tree of this process.
    in_tree = Counter({n: c for n, c in read.items() if not n.startswith("DataLoader worker")})
    assert in_tree == Counter(e.name for e in prof.trace.dfs())
