"""What is no trace is refused in one line that names what it looks like."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from tidy.errors import TraceFormatError
from tidy.readers import read_trace

from .conftest import Read, Refuse
from .written import Written, document, event

EXECUTION_TRACE = {"schema": "1.0.2-chakra.0.0.4", "pid": 1, "nodes": [{"id": 1, "name": "op"}]}
SPEEDSCOPE = {
    "version": "0.1",
    "$schema": "https://www.speedscope.app/file-format-schema.json",
    "shared": {"frames": [{"name": "f"}]},
    "profiles": [{"type": "evented", "events": []}],
}
SEGMENT = {"device": 0, "total_size": 1, "allocated_size": 1, "segment_type": "large", "blocks": []}
SNAPSHOT: dict[str, Any] = {"segments": [SEGMENT], "device_traces": [[]], "allocator_settings": {}}


def _named(process: str, *events: Written) -> bytes:
    meta = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": process}}
    return document([meta, *events]).encode()


_ASCEND = [
    event("aten::mm"),
    {"ph": "s", "name": "async_npu", "cat": "async_npu", "id": 7, "ts": 1, "pid": 1, "tid": 1},
]
_ROCPROF = event("hipLaunchKernel", cat="", args={"BeginNs": 1, "EndNs": 2, "pid": 1})
_VIZTRACER = document(
    [event("main (/home/me/main.py:3)", cat="FEE"), event("print", cat="FEE")],
    viztracer_metadata={"version": "1.0.4", "overflow": False},
)


@pytest.mark.parametrize(
    ("content", "phrase"),
    [
        (_VIZTRACER.encode(), "a trace of VizTracer, without ops of PyTorch"),
        (
            document([event("RunTask", cat="toplevel"), event("Paint", cat="blink")]).encode(),
            "a trace of Chrome",
        ),
        (document([event("parse", cat="rust"), event("link", cat="rust")]).encode(), "'rust'"),
        (document([event("compile", cat="")]).encode(), "a trace of another tool"),
        (
            document([event("p.tile", cat="Line 0")], schemaVersion=1).encode(),
            "a trace of another tool: its events are of category 'Line 0'",
        ),
        (_named("/host:CPU", event("Execute", cat="")), "a trace of JAX or TensorFlow"),
        (_named("/device:GPU:0", event("fusion", cat="")), "a trace of JAX or TensorFlow"),
        (_named("0 CPU HIP API", _ROCPROF), "a trace of rocprof"),
        (document(_ASCEND).encode(), "a trace of Ascend's profiler, whose device activity has"),
        (document([event("run", cat="Session")]).encode(), "a trace of ONNX Runtime"),
        (b'{"rocprofiler-sdk-tool": [{"metadata": {"pid": 1}}]}', "the JSON of rocprofv3"),
        (b'[{"id": "1", "name": "mm", "type": "COMP_NODE"}]', "a Chakra execution trace"),
        (b"\x07\n\x050.0.4\x2f\x08\x01" + bytes(100), "a Chakra execution trace"),
        (b"\n\x8f\x01\x12\x09/host:CPU" + bytes(100), "(xplane.pb)"),
        (b"<?xml version='1.0'?><nvvp:session/>", "a session of NVIDIA's Visual Profiler"),
        (b"", "an empty file"),
        (gzip.compress(b"", mtime=0), "an empty file"),
        (b" \n\t ", "a file of blanks"),
        (bytes(2000), "a file of zero bytes"),
        (json.dumps(EXECUTION_TRACE).encode(), "a PyTorch execution trace"),
        (json.dumps(EXECUTION_TRACE).encode()[:-20], "a PyTorch execution trace"),
        (json.dumps(SPEEDSCOPE).encode(), "a speedscope profile"),
        (json.dumps(dict(reversed(SPEEDSCOPE.items()))).encode(), "a speedscope profile"),
        (json.dumps(SNAPSHOT).encode(), "a memory snapshot of torch.cuda.memory"),
        (json.dumps(SNAPSHOT).encode()[:-60], "a memory snapshot of torch.cuda.memory"),
        (pickle.dumps(SNAPSHOT), "a Python pickle"),
        (b"[[1, 2, 3], [[4], [5], [6]]]", "a memory timeline"),
        (b"<!DOCTYPE html><html><body>404</body></html>", "an HTML page"),
        (b"\n<HTML><head></head></HTML>", "an HTML page"),
        (b"<?xml version='1.0'?><a/>", "XML"),
        (b"SQLite format 3\0" + bytes(100), "an SQLite database"),
        (b"\x7fELF\x02\x01\x01" + bytes(100), "a program"),
        (b"\x0a\x8f\x01\x08\x01\x10\x02" + bytes(100), "binary data"),
        (b"main;train;forward 12\nmain;train 3\n", "folded stacks"),
        (b"step,loss\n1,0.5\n", "text that is no JSON (it begins with 'step,loss')"),
        (b"{}", "JSON without traceEvents"),
        (b'{"a": 1}', "JSON without traceEvents"),
        (b'{"traceEvents": 5}', "JSON whose traceEvents is no list"),
        (b'{"traceEvents": {"ph": "X"}}', "JSON whose traceEvents is no list"),
        (b"[]", "a JSON array without events"),
        (b"[1, 2, 3]", "a JSON array without events"),
        (b'["a", "b"]', "a JSON array without events"),
        (b'{"a": 1}\n{"a": 2}\n', "JSON lines"),
        (b'{"schemaVersion": 1, "deviceProp', "JSON that is cut off or damaged before any event"),
        (b'{"traceEvents": []}', "this trace holds no events"),
        (b'{"traceEvents": [', "this trace holds no events"),
        (b'{"traceEvents": [1, null, "x"]}', "elements that are no events: 3"),
        (b'{"traceEvents": [{"ph": "X", "name": "a"}]}', "without a usable time: 1"),
    ],
)
def test_no_trace(refuse: Refuse, content: bytes, phrase: str) -> None:
    assert phrase in refuse(content)


def test_names_of_processes_alone_are_no_events(refuse: Refuse) -> None:
    meta = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}
    assert "only names of processes and threads" in refuse(document([meta] * 3))


def test_begin_and_end_events_are_another_profiler_s(refuse: Refuse) -> None:
    begin = {"ph": "B", "name": "a", "ts": 1, "pid": 1, "tid": 1}
    problem = refuse(document([begin, {**begin, "ph": "E"}]))
    assert "(ph B, E)" in problem
    assert ": 2" in problem


def _process(pid: Any, first: int) -> list[Written]:
    """Operators of one process, each with a call of the driver."""
    calls = [
        event("cudaLaunchKernel", 10 * at, 1, cat="cuda_runtime", pid=pid, args={"correlation": at})
        for at in range(first, first + 9)
    ]
    return [*calls, *(event("aten::mm", 10 * at, 5, pid=pid) for at in range(first, first + 9))]


@pytest.mark.parametrize("pids", [("[TP00] 10", "[TP01] 11"), (10, 11)])
def test_ranks_that_were_merged_are_refused_by_name(refuse: Refuse, pids: tuple[Any, Any]) -> None:
    problem = refuse(document([*_process(pids[0], 1), *_process(pids[1], 1)]))
    assert f"the traces of 2 processes ({pids[0]}, {pids[1]}) were merged" in problem
    assert "one for each rank" in problem


def test_processes_that_one_profiler_traced_are_read(read: Read) -> None:
    assert len(read(document([*_process(10, 1), *_process(11, 100)]))) == 36


def test_a_refusal_says_how_to_record_a_trace(refuse: Refuse) -> None:
    assert "export_chrome_trace" in refuse(b"{}")


def test_a_gzip_stream_cut_off_at_once_is_named_with_the_damage(refuse: Refuse) -> None:
    problem = refuse(gzip.compress(document([event()]).encode())[:10])
    assert "empty file" in problem
    assert "gzip stream ends early" in problem


@pytest.mark.parametrize("name", ["missing.json", "a\0b"])
def test_a_file_that_cannot_be_opened(tmp_path: Path, name: str) -> None:
    with pytest.raises(TraceFormatError, match="cannot be read"):
        read_trace(tmp_path / name)


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(TraceFormatError, match="cannot be read: is a directory"):
        read_trace(tmp_path)
