"""What a file says of devices is what they logged while it was recorded; see record_traces.py."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from tidy import Trace
from tidy.trace import EventKind

from ..trace.naive_tree import Span, replay
from .shared import DEVICE, decoded, described_by, load, path_of, trace_of

_KINDS = {
    "kernel": EventKind.Kernel,
    "gpu_memcpy": EventKind.Memcpy,
    "gpu_memset": EventKind.Memset,
    "cuda_sync": EventKind.Sync,
}
_WORK = (EventKind.Kernel, EventKind.Memcpy, EventKind.Memset)
each_log = pytest.mark.parametrize("log", described_by(DEVICE), ids=lambda path: path.name)


def _trace(log: Path) -> Trace:
    return load(trace_of(log, DEVICE))


def _offset_ns(log: Path) -> int:
    """The log counts from when its machine started, the trace from 1970."""
    calls = _trace(log).of_kind(EventKind.Runtime)
    return min(call.start_ns for call in calls) - decoded(log)["calls"][0][1]


@each_log
def test_calls_of_the_host(log: Path) -> None:
    offset = _offset_ns(log)
    logged = {
        number: (name, start + offset, end + offset)
        for name, start, end, number in decoded(log)["calls"]
    }
    read = {
        call.correlation: (call.name, call.start_ns, call.end_ns)
        for call in _trace(log).of_kind(EventKind.Runtime)
    }
    assert len(logged) == len(decoded(log)["calls"]) > 0
    assert read == logged


@each_log
def test_work_of_devices(log: Path) -> None:
    offset = _offset_ns(log)
    logged = Counter(
        (_KINDS[kind], name, start + offset, end + offset, *rest)
        for kind, name, start, end, *rest in decoded(log)["work"]
    )
    read = Counter(
        (e.kind, e.name, e.start_ns, e.end_ns, e.device, e.stream, e.correlation, e.nbytes)
        for e in _trace(log).of_kind(*_KINDS.values())
    )
    assert logged.total() > 0
    assert read == logged


@each_log
def test_work_hangs_under_the_call_that_launched_it(log: Path) -> None:
    trace = _trace(log)
    launched = Counter(number for _, _, _, number in decoded(log)["calls"])
    for work in trace.of_kind(*_WORK):
        assert launched[work.correlation] == 1
        assert work.parent is not None
        assert work.parent.kind == EventKind.Runtime
        assert work.parent.correlation == work.correlation


@each_log
def test_a_call_hangs_under_what_was_open_on_its_thread(log: Path) -> None:
    trace = _trace(log)
    hosts = list(trace.dfs())
    for call in trace.of_kind(EventKind.Runtime):
        around = [
            event
            for event in hosts
            if event.track == call.track and event.start_ns <= call.start_ns < event.end_ns
        ]
        innermost = max(around, key=lambda event: (event.start_ns, -event.duration_ns))
        assert call.parent is not None
        assert (call.parent.name, call.parent.start_ns) == (innermost.name, innermost.start_ns)


@each_log
def test_memory_of_devices(log: Path) -> None:
    offset = _offset_ns(log)
    logged = Counter(
        (time + offset, device, nbytes) for time, device, nbytes, _ in decoded(log)["memory"]
    )
    changes = _trace(log).of_kind(EventKind.Allocation)
    read = Counter((e.start_ns, e.device, e.nbytes) for e in changes if e.device >= 0)
    assert read == logged


@each_log
def test_every_parent_is_that_of_pytorchs_rule(log: Path) -> None:
    """Replayed by another implementation; the file numbers events in the order of their starts."""
    trace = _trace(log)
    events = list(trace.dfs())
    threads = {event.track: number for number, event in enumerate(events)}
    spans = [
        Span(event.name, event.start_ns, event.end_ns, threads[event.track], tie)
        for tie, event in enumerate(events)
    ]
    replay(spans)
    for event, span in zip(events, spans, strict=True):
        above = event.parent and (event.parent.name, event.parent.start_ns)
        assert above == (span.parent and (span.parent.name, span.parent.start)), event


def _count(name: str, part: str) -> int:
    trace = load(path_of(name))
    return sum(part in work.name for work in trace.of_kind(*_WORK))


def test_device_training_copies_what_its_script_copies() -> None:
    """Four parameters at the start, and two tensors and one number in each of three steps."""
    assert _count("device_training", "Memcpy HtoD (Pageable") == 4 + 3
    assert _count("device_training", "Memcpy HtoD (Pinned") == 3
    assert _count("device_training", "Memcpy DtoH") == 3
    steps = load(path_of("device_training")).steps
    assert len(steps) == 3


def test_device_graph_replays_three_times() -> None:
    """Each replay is one call that launches the kernels of the graph: four of an expression."""
    trace = load(path_of("device_graph"))
    launches = [c for c in trace.of_kind(EventKind.Runtime) if c.name == "cudaGraphLaunch"]
    assert len(launches) == 3
    kernels = list(trace.of_kind(EventKind.Kernel))
    groups = [[k.name for k in kernels if k.correlation == c.correlation] for c in launches]
    assert groups[0] == groups[1] == groups[2]
    assert len(groups[0]) == 4


def test_device_parallel_uses_both_devices() -> None:
    trace = load(path_of("device_parallel"))
    assert {work.device for work in trace.of_kind(EventKind.Kernel)} == {0, 1}
    assert _count("device_parallel", "nccl") > 0


def test_device_streams_wait_for_one_another() -> None:
    """In each of three rounds the sum begins after the product that it needs has ended."""
    trace = load(path_of("device_streams"))
    kernels = list(trace.of_kind(EventKind.Kernel))
    products = [kernel for kernel in kernels if "gemm" in kernel.name.lower()]
    sums = [kernel for kernel in kernels if "reduce" in kernel.name.lower()]
    assert (len(products), len(sums)) == (3, 3)
    assert {kernel.stream for kernel in products} != {kernel.stream for kernel in sums}
    for product, total, later in zip(products, sums, [*pairwise(products), ()], strict=True):
        assert product.end_ns <= total.start_ns
        assert not later or total.end_ns <= later[1].start_ns
