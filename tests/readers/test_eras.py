"""Names, categories, ids and rows as PyTorch's profilers have written them since 2020."""

from __future__ import annotations

import json

import pytest

from tidy.trace import EventKind, Track

from .conftest import Read
from .written import document, event, names, warning_count

KINDS = [
    ("cpu_op", EventKind.TorchOp),
    ("Operator", EventKind.TorchOp),
    ("user_annotation", EventKind.Annotation),
    ("python_function", EventKind.PyCall),
    ("Python", EventKind.PyCall),
    ("cuda_runtime", EventKind.Runtime),
    ("cuda_driver", EventKind.Runtime),
    ("Runtime", EventKind.Runtime),
    ("xpu_runtime", EventKind.Runtime),
    ("kernel", EventKind.Kernel),
    ("Kernel", EventKind.Kernel),
    ("gpu_memcpy", EventKind.Memcpy),
    ("Memcpy", EventKind.Memcpy),
    ("gpu_memset", EventKind.Memset),
    ("cuda_sync", EventKind.Sync),
    ("gpu_user_annotation", EventKind.DeviceAnnotation),
    ("overhead", EventKind.Overhead),
    ("Trace", EventKind.Other),
    ("something_new", EventKind.Other),
]


@pytest.mark.parametrize(("category", "kind"), KINDS)
def test_categories(read: Read, category: str, kind: EventKind) -> None:
    (found,) = read(document([event(cat=category)])).events()
    assert found.kind == kind


@pytest.mark.parametrize(
    ("category", "name", "kind"),
    [
        ("python_function", "<built-in method add of type object at 0x1>", EventKind.PyCCall),
        ("cpu_op", "ProfilerStep#3", EventKind.Annotation),
        ("Operator", "Optimizer.step#SGD.step", EventKind.Annotation),
        ("cpu_op", "enumerate(DataLoader)#Iter.__next__", EventKind.Annotation),
        ("kernel", "__amd_rocclr_copyBuffer.kd", EventKind.Memcpy),
        ("kernel", "MEMORY_COPY_HOST_TO_DEVICE", EventKind.Memcpy),
        ("kernel", "__amd_rocclr_fillBufferAligned", EventKind.Memset),
        ("cpu_op", "aten::copy_", EventKind.TorchOp),
    ],
)  # fmt: skip
def test_names_tell_more_than_old_categories(
    read: Read, category: str, name: str, kind: EventKind
) -> None:
    (found,) = read(document([event(name, cat=category)])).events()
    assert found.kind == kind


def test_the_autograd_profiler_of_2020_wrote_a_bare_list(read: Read) -> None:
    host = {"name": "mul", "ph": "X", "ts": 5.5, "dur": 2.25, "tid": 1, "pid": "CPU functions"}
    device = {**host, "name": "k", "ts": 6.0, "tid": 7, "pid": "CUDA functions", "args": {}}
    trace = read(json.dumps([host, device]))
    assert [(e.name, e.kind) for e in trace.events()] == [
        ("mul", EventKind.TorchOp),
        ("k", EventKind.Kernel),
    ]
    assert trace.info.header == {}


def test_keys_of_2021_and_of_now_mean_the_same(read: Read) -> None:
    old = {
        "external id": 7,
        "Profiler Event Index": 0,
        "Input dims": [[2, 3]],
        "Input type": ["float"],
    }
    new = {"External id": 7, "Ev Idx": 0, "Input Dims": [[2, 3]], "Input type": ["float"]}
    call = event("cudaLaunchKernel", 200, 1, cat="cuda_runtime", tid=9, args={"External id": 7})
    for args in (old, new):
        op, runtime = read(document([event(ts=199, args=args), call])).events()
        assert op.input_shapes == ((2, 3),)
        assert op.input_dtypes == ("float",)
        assert runtime.parent == op


@pytest.mark.parametrize(
    ("tid", "args", "stream"),
    [
        (7, {"stream": 7, "device": 0}, 7),
        (1_000_007, {"stream": 7, "device": 0}, 7),
        ("stream 7", {"device": 0}, 7),
        (7, {"device": 0, "stream": -1}, 7),
        (7, {"device": 0, "stream": "0x7"}, 7),
        (7, {"device": 0, "stream": "7"}, 7),
        (140_223_372_036_854, {"device": 0}, 140_223_372_036_854),
        ("side stream", {"device": 0}, -1),
    ],
)
def test_streams(read: Read, tid: object, args: dict[str, object], stream: int) -> None:
    (found,) = read(document([event(cat="kernel", pid=0, tid=tid, args=args)])).events()
    assert found.stream == stream
    assert found.device == 0


def test_devices_are_told_by_their_row_where_args_do_not(read: Read) -> None:
    (found,) = read(document([event(cat="kernel", pid=3, tid=7)])).events()
    assert found.device == 3


def test_a_thread_is_one_whether_its_number_is_text_or_not(read: Read) -> None:
    trace = read(document([event("a", 1, 50, pid="9", tid="8"), event("b", 2, pid=9, tid=8)]))
    outer, inner = trace.events()
    assert inner.parent == outer
    assert outer.track == Track(9, 8)


@pytest.mark.parametrize("identity", ["", "Spans", -1, None, "PyTorch Profiler"])
def test_rows_without_numbers(read: Read, identity: object) -> None:
    (found,) = read(document([event(cat="Trace", pid=identity, tid=identity)])).events()
    assert found.track == Track(*(2 * ["" if identity is None else identity]))


def test_memory_events(read: Read) -> None:
    instant = {
        "ph": "i",
        "s": "t",
        "name": "[memory]",
        "pid": 1,
        "tid": 1,
        "cat": "cpu_instant_event",
    }
    device = {"Bytes": 512, "Device Type": 1, "Device Id": 2}
    events = [
        {**instant, "ts": 11, "args": {"Bytes": 4096, "Device Type": 0, "Device Id": -1}},
        {**instant, "ts": 12, "args": {"Bytes": -4096, "Device Type": 0, "Device Id": -1}},
        {**instant, "ts": 13, "args": device},
        {**instant, "ts": 14, "name": "[OutOfMemory]", "args": device},
        {**instant, "ts": 15, "name": "Record Window End", "pid": "", "tid": ""},
    ]
    trace = read(document([event("aten::empty", 10, 20), *events]))
    found = [(e.kind, e.nbytes, e.device) for e in trace.of_kind(*EventKind)][1:]
    assert found == [
        (EventKind.Allocation, 4096, -1),
        (EventKind.Allocation, -4096, -1),
        (EventKind.Allocation, 512, 2),
        (EventKind.OutOfMemory, 512, 2),
    ]


@pytest.mark.parametrize("category", ["ac2g", "async_gpu", "async", "async_cpu_to_gpu"])
def test_arrows_link_a_kernel_that_carries_no_correlation(read: Read, category: str) -> None:
    arrow = {"id": 5, "cat": category, "name": category, "pid": 1}
    events = [
        event("aten::mul", 10, 20),
        event("k", 100, 5, cat="kernel", pid=0, tid=7),
        {**arrow, "ph": "s", "ts": 12, "tid": 1},
        {**arrow, "ph": "f", "ts": 100, "pid": 0, "tid": 7, "bp": "e"},
    ]
    op, kernel = read(document(events)).events()
    assert kernel.parent == op


def test_arrows_whose_id_is_no_number_are_counted(read: Read) -> None:
    arrow = {"ph": "s", "cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 1, "ts": 12}
    trace = read(document([event(), {**arrow, "id": "x"}, {**arrow, "id": 2**70}, arrow]))
    assert names(trace) == ["aten::add"]
    assert warning_count(trace, "arrows") == "3"
