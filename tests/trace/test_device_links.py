"""Device work is linked to the host call and the op that launched it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tidy.trace import Event, EventKind, Trace
from tidy.trace.links import match_correlation

from ..conftest import ReadEvents
from .kineto import arrow, call, kernel, op

_IDS_AND_STARTS = st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 9)), max_size=8)


def _the(trace: Trace, name: str) -> Event:
    (event,) = trace.named(name)
    return event


def _chain(event: Event) -> list[str]:
    return [event.name, *(above.name for above in event.ancestors())]


@given(_IDS_AND_STARTS, _IDS_AND_STARTS)
def test_of_calls_with_one_correlation_the_last_before_wins(
    work: list[tuple[int, int]], calls: list[tuple[int, int]]
) -> None:
    def column(pairs: list[tuple[int, int]], at: int) -> np.ndarray:
        return np.array([pair[at] for pair in pairs], np.int64)

    found = match_correlation(column(work, 0), column(work, 1), column(calls, 0), column(calls, 1))
    for (correlation, start), index in zip(work, found.tolist(), strict=True):
        same = [at for number, at in calls if number == correlation and correlation > 0]
        before = [at for at in same if at <= start]
        if not same:
            assert index == -1
        else:
            assert calls[index] == (correlation, max(before) if before else min(same))


def test_kernel_to_call_to_op(read_events: ReadEvents) -> None:
    trace = read_events(
        [
            op("aten::linear", 0, 20),
            op("aten::addmm", 5, 10),
            call("cudaLaunchKernel", 8, 2, correlation=41),
            kernel("gemm", 30, 6, correlation=41),
            op("aten::relu", 22, 3),
        ]
    )
    assert _chain(_the(trace, "gemm")) == [
        "gemm",
        "cudaLaunchKernel",
        "aten::addmm",
        "aten::linear",
    ]
    linear, relu = _the(trace, "aten::linear"), _the(trace, "aten::relu")
    assert [work.name for work in linear.kernels] == ["gemm"]
    assert [made.name for made in linear.runtime_calls] == ["cudaLaunchKernel"]
    assert [child.name for child in linear.children] == ["aten::addmm"]
    assert (relu.kernels, relu.runtime_calls, relu.device_ns) == ([], [], 0)


def test_one_graph_launch_owns_all_its_kernels(read_events: ReadEvents) -> None:
    trace = read_events(
        [
            op("replay", 0, 10),
            call("cudaGraphLaunch", 2, 5, correlation=7),
            *(kernel(f"k{i}", 20 + 5 * i, 10, correlation=7) for i in range(4)),
        ]
    )
    replay = _the(trace, "replay")
    assert [work.name for work in replay.kernels] == ["k0", "k1", "k2", "k3"]
    assert replay.device_ns == 25_000, "four kernels of 10 us, each 5 us after the one before"


def test_two_processes_that_count_alike(read_events: ReadEvents) -> None:
    """Files of several ranks merged into one: both start their correlations at 1."""
    trace = read_events(
        [
            op("first", 0, 10, pid=1),
            call("cudaLaunchKernel", 2, 2, pid=1, correlation=1),
            kernel("of_first", 12, 5, device=0, correlation=1),
            op("second", 100, 10, pid=2),
            call("cudaLaunchKernel", 102, 2, pid=2, correlation=1),
            kernel("of_second", 112, 5, device=1, correlation=1),
        ]
    )
    assert _chain(_the(trace, "of_first"))[-1] == "first"
    assert _chain(_the(trace, "of_second"))[-1] == "second"


def test_without_a_call_the_external_id_tells_the_op(read_events: ReadEvents) -> None:
    trace = read_events(
        [
            op("aten::mm", 0, 10, args={"External id": 5}),
            kernel("gemm", 20, 3, correlation=99, external=5),
        ]
    )
    assert _chain(_the(trace, "gemm")) == ["gemm", "aten::mm"]


def test_an_external_id_that_repeats_the_correlation_is_no_evidence(
    read_events: ReadEvents,
) -> None:
    trace = read_events(
        [
            op("aten::mm", 0, 10, args={"External id": 5}),
            kernel("gemm", 20, 3, correlation=5, external=5),
        ]
    )
    assert _the(trace, "gemm").parent is None


def test_correlation_0_is_unknown(read_events: ReadEvents) -> None:
    trace = read_events(
        [
            op("aten::mm", 0, 10),
            call("hipLaunchKernel", 2, 2, correlation=0),
            kernel("gemm", 20, 3, correlation=0),
        ]
    )
    assert _the(trace, "gemm").parent is None


def test_a_call_outside_any_op_belongs_to_none(read_events: ReadEvents) -> None:
    trace = read_events(
        [
            op("aten::mm", 0, 10),
            call("cudaDeviceSynchronize", 40, 2, correlation=3),
            call("cudaFree", 5, 2, tid=2, correlation=4),
        ]
    )
    assert _the(trace, "cudaDeviceSynchronize").parent is None
    assert _the(trace, "cudaFree").parent is None


def test_in_whole_microseconds_a_call_may_stand_beside_its_op(read_events: ReadEvents) -> None:
    """Its External id is believed then, but not far from the op."""
    trace = read_events(
        [
            op("aten::mm", 10, 5, args={"External id": 3}),
            call("cudaLaunchKernel", 16, 1, 100, external=3),
            call("cudaDeviceSynchronize", 40, 1, 101, external=3),
        ]
    )
    assert _chain(_the(trace, "cudaLaunchKernel")) == ["cudaLaunchKernel", "aten::mm"]
    assert _the(trace, "cudaDeviceSynchronize").parent is None


def test_calls_of_a_thread_whose_first_ops_are_roots_and_later_ones_are_not(
    read_events: ReadEvents,
) -> None:
    """A backward thread hangs under its forward thread from the first op that has a forward on."""
    trace = read_events(
        [
            op("iteration", 0, 100),
            op("aten::mm", 10, 5, args={"Sequence number": 3, "Fwd thread id": 0}),
            op("aten::ones_like", 30, 4, tid=2),
            call("cudaMemsetAsync", 31, 1, 1, tid=2),
            op("aten::fill_", 35, 4, tid=2),
            call("cudaMemcpyAsync", 36, 1, 2, tid=2),
            op("MmBackward0", 40, 5, tid=2, args={"Sequence number": 3, "Fwd thread id": 1}),
            call("cudaLaunchKernel", 41, 1, 3, tid=2),
        ]
    )
    assert _chain(_the(trace, "cudaMemsetAsync"))[1:] == ["aten::ones_like"]
    assert _chain(_the(trace, "cudaMemcpyAsync"))[1:] == ["aten::fill_"]
    assert _chain(_the(trace, "cudaLaunchKernel"))[1:] == ["MmBackward0", "iteration"]


def test_arrows_link_where_there_is_no_correlation(read_events: ReadEvents) -> None:
    """As the autograd profiler of 2020 wrote it: no categories, two "processes", arrows `cuda`."""
    add = {"ph": "X", "name": "aten::add", "ts": 5, "dur": 10, "pid": "CPU functions", "tid": 1}
    mul = {"ph": "X", "name": "aten::mul", "ts": 20, "dur": 10, "pid": "CPU functions", "tid": 1}
    work = {"ph": "X", "name": "add_kernel", "ts": 40, "dur": 4, "pid": "CUDA functions", "tid": 0}
    flow = [{"args": {}, **end} for end in arrow("cpu_to_cuda", 3, add, work)]
    trace = read_events([add, mul, work, *flow])
    assert _the(trace, "add_kernel").kind == EventKind.Kernel
    assert _chain(_the(trace, "add_kernel")) == ["add_kernel", "aten::add"]
