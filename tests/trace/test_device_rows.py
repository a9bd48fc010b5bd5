"""Kernels, copies and fills: where they ran, and when a device was busy."""

from __future__ import annotations

from tidy.trace import EventKind

from ..conftest import ReadEvents
from .kineto import kernel, op, span


def test_device_rows_know_device_stream_and_bytes(read_events: ReadEvents) -> None:
    copied = {"device": 1, "stream": 20, "bytes": 4096}
    copy = span("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 5, 2, args=copied)
    trace = read_events([op("aten::copy_", 0, 3), copy])
    work = trace.named("Memcpy*")[0]
    assert (work.kind, work.device, work.stream, work.nbytes) == (EventKind.Memcpy, 1, 20, 4096)
    assert trace.devices_used == (1,)


def test_a_shadow_of_a_range_is_no_work(read_events: ReadEvents) -> None:
    trace = read_events(
        [
            kernel("gemm", 10, 5, correlation=1),
            kernel("gemm", 30, 5, correlation=2),
            span("gpu_user_annotation", "ProfilerStep#1", 0, 100, pid=0, tid=7),
            span("overhead", "Activity Buffer Request", 0, 500, pid=-1, tid=0),
        ]
    )
    assert [work.name for work in trace.events(trace.device_rows)] == ["gemm", "gemm"]
    assert list(trace.device_busy(0)) == [(10_000, 15_000), (30_000, 35_000)]
    assert list(trace.device_idle(0)) == [(15_000, 30_000)]
    assert trace.span_ns == 25_000
