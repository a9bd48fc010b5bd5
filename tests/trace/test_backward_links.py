"""A backward op is linked to the forward op whose gradient it computes."""

from __future__ import annotations

from tidy.trace import Trace

from ..conftest import ReadEvents
from .kineto import Written, arrow, op


def _forward(name: str, ts: float, number: int, *, tid: int = 1) -> Written:
    return op(name, ts, 5, tid=tid, args={"Sequence number": number, "Fwd thread id": 0})


def _backward(name: str, ts: float, number: int, *, tid: int = 1, of: int = 1) -> Written:
    return op(name, ts, 5, tid=tid, args={"Sequence number": number, "Fwd thread id": of})


def _links(trace: Trace) -> set[tuple[str, str]]:
    return {(e.name, e.forward.name) for e in trace.dfs() if e.forward is not None}


def test_by_sequence_number(read_events: ReadEvents) -> None:
    trace = read_events(
        [
            _forward("aten::mm", 0, 3),
            _forward("aten::relu", 10, 4),
            _backward("ReluBackward0", 20, 4),
            _backward("MmBackward0", 30, 3),
            _backward("AddBackward0", 40, 9),
        ]
    )
    assert _links(trace) == {("ReluBackward0", "aten::relu"), ("MmBackward0", "aten::mm")}


def test_among_ops_of_one_number_the_latest_start_wins(read_events: ReadEvents) -> None:
    """The number counts up only when a node is made, so ops that make none repeat the next one."""
    trace = read_events(
        [
            _forward("aten::view", 0, 3),
            _forward("aten::empty", 10, 3),
            _forward("aten::mm", 20, 3),
            _backward("MmBackward0", 30, 3),
        ]
    )
    assert _links(trace) == {("MmBackward0", "aten::mm")}


def test_the_first_backward_op_to_end_takes_the_forward(read_events: ReadEvents) -> None:
    outer = op(
        "evaluate_function: MmBackward0", 30, 20, args={"Sequence number": 3, "Fwd thread id": 1}
    )
    trace = read_events([_forward("aten::mm", 0, 3), outer, _backward("MmBackward0", 35, 3)])
    assert _links(trace) == {("MmBackward0", "aten::mm")}


def test_numbers_are_counted_on_each_thread(read_events: ReadEvents) -> None:
    """PyTorch names threads by small ids of its own; the arrows tell which thread is meant."""
    ones = [_forward("aten::mm", 0, 3, tid=10), _backward("MmBackward0", 50, 3, tid=30, of=1)]
    twos = [_forward("aten::add", 2, 3, tid=20), _backward("AddBackward0", 60, 3, tid=40, of=2)]
    trace = read_events([*ones, *twos, *arrow("fwdbwd", 1, *ones), *arrow("fwdbwd", 2, *twos)])
    assert _links(trace) == {("MmBackward0", "aten::mm"), ("AddBackward0", "aten::add")}


def test_without_arrows_the_thread_that_gave_most_of_the_numbers_counts(
    read_events: ReadEvents,
) -> None:
    trace = read_events(
        [
            *(_forward(f"aten::a{n}", 10 * n, n, tid=10) for n in range(6)),
            *(_forward(f"aten::b{n}", 10 * n, n, tid=20) for n in range(4, 9)),
            *(_backward(f"A{n}Backward0", 200 - 10 * n, n, tid=30, of=1) for n in range(6)),
            *(_backward(f"B{n}Backward0", 300 - 10 * n, n, tid=40, of=2) for n in range(4, 9)),
        ]
    )
    assert _links(trace) == {
        *((f"A{n}Backward0", f"aten::a{n}") for n in range(6)),
        *((f"B{n}Backward0", f"aten::b{n}") for n in range(4, 9)),
    }


def test_the_backward_thread_hangs_under_what_is_open_on_the_forward_thread(
    read_events: ReadEvents,
) -> None:
    trace = read_events(
        [
            op("iteration", 0, 100),
            _forward("aten::mm", 10, 3),
            op("aten::ones_like", 30, 4, tid=2),
            _backward("MmBackward0", 40, 3, tid=2),
            op("AccumulateGrad", 200, 3, tid=2),
        ]
    )
    parents = {event.name: event.parent.name if event.parent else None for event in trace.dfs()}
    assert parents["aten::ones_like"] is None, "it has no forward thread, and nothing sticks yet"
    assert parents["MmBackward0"] == "iteration"
    assert parents["AccumulateGrad"] == "iteration", (
        "the thread's stack bottoms out there from now on"
    )


def test_a_thread_may_come_back_to_an_event_of_its_own_that_is_over(
    read_events: ReadEvents,
) -> None:
    """As when a backward makes nodes whose own backward runs on the first thread."""
    trace = read_events(
        [
            _forward("first", 0, 1),
            _backward("second", 3, 1, tid=2),
            _forward("inner", 4, 2, tid=2),
            _backward("third", 50, 2, of=2),
        ]
    )
    first, third = trace.named("first")[0], trace.named("third")[0]
    assert third.parent == first
    assert (first.duration_ns, first.self_ns) == (5000, 5000)


def test_the_latest_start_wins_on_a_thread_that_hangs_under_another(
    read_events: ReadEvents,
) -> None:
    """As in a backward that is to be differentiated again: its ops are forward ops too."""
    trace = read_events(
        [
            op("iteration", 0, 100),
            _forward("aten::mm", 10, 3),
            _forward("aten::view", 30, 8, tid=2),
            _backward("MmBackward0", 40, 3, tid=2),
            _forward("aten::t", 50, 8, tid=2),
            _backward("TBackward0", 60, 8, tid=2, of=2),
        ]
    )
    assert _links(trace) == {("MmBackward0", "aten::mm"), ("TBackward0", "aten::t")}
