"""Which steps count, and what a run without steps leaves out."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import pytest

from tidy.trace import EventKind, Trace, TraceInfo, build_trace
from tidy.trace.raw_columns import RawColumns, Track

_MS = 1_000_000


class Host(NamedTuple):
    """An event of the host's only thread, in milliseconds; `work_ms` is of its kernel."""

    name: str
    start_ms: float
    length_ms: float
    kind: EventKind = EventKind.Annotation
    work_ms: float = 0
    work: str = "kernel"


def _trace(*events: Host) -> Trace:
    raw = RawColumns()
    names, tracks = raw.strings.names, raw.strings.tracks
    for number, event in enumerate(events, 1):
        start = int(event.start_ms * _MS)
        row = {"name_id": [names[event.name]], "correlation": [number], "kind": event.kind}
        row |= {"start_ns": [start], "duration_ns": [int(event.length_ms * _MS)]}
        raw.append(1, track_id=[tracks[Track(1, 1)]], **row)
        if event.work_ms:
            row |= {"name_id": [names[event.work]], "kind": EventKind.Kernel}
            row |= {"start_ns": [start], "duration_ns": [int(event.work_ms * _MS)]}
            where = {"track_id": [tracks[Track(0, 7)]], "device": [0], "stream": [7]}
            raw.append(1, **where, **row)
    return build_trace(raw, TraceInfo("made"))


def _call(name: str, start_ms: float, length_ms: float, work_ms: float = 0) -> Host:
    return Host(name, start_ms, length_ms, EventKind.Runtime, work_ms)


def _steps(*lengths_ms: float, extra: tuple[Host, ...] = ()) -> Trace:
    """Steps one after the other, each with a launch at its start."""
    events, at = list(extra), 0.0
    for number, length in enumerate(lengths_ms):
        events.append(Host(f"ProfilerStep#{number}", at, length))
        events.append(_call("cudaLaunchKernel", at + 0.1, 0.01, work_ms=0.5))
        at += length
    return _trace(*events)


def _left_out(trace: Trace) -> dict[str, str]:
    return {each.label: each.reason for each in trace.window.left_out}


def test_launches_that_wait_for_a_busy_device_are_no_first_ones() -> None:
    """A host that has run ahead as far as it can waits in its launches, in each step from then."""
    lengths = (10, 10, 10, 90, 90, 90)
    waiting = [_call("cudaLaunchKernel", sum(lengths[:n]) + 1, 80) for n in (3, 4, 5)]
    busy = _call("cudaLaunchKernel", 0, 0.01, work_ms=sum(lengths))
    assert _left_out(_steps(*lengths, extra=(busy, *waiting))) == {}
    new = [each._replace(work_ms=1, work=f"kernel_{n}") for n, each in enumerate(waiting)]
    assert _left_out(_steps(*lengths, extra=(busy, *new))) == {}
    reason = "80.0 ms of it in first launches"
    assert _left_out(_steps(*lengths, extra=tuple(new))) == {f"step {n}": reason for n in (3, 4, 5)}
    # A launch of a kernel that was launched before loads nothing.
    assert _left_out(_steps(*lengths, extra=tuple(waiting))) == {}


def test_short_epochs_start_their_workers_again_and_again() -> None:
    """Every third step or every sixth begins an epoch, and takes four times as long."""
    for epoch, count in ((3, 0), (6, 2)):
        lengths = [40 if number % epoch == 2 else 10 for number in range(12)]
        starts = [
            Host("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__init__", begin, 30)
            for begin, length in zip(accumulate([1, *lengths]), lengths, strict=False)
            if length == 40
        ]
        assert len(_left_out(_steps(*lengths, extra=tuple(starts)))) == count


def test_a_cold_first_step() -> None:
    compiles = Host("dynamo_timed backend_compile", 1, 80)
    assert _left_out(_steps(100, 10, 10, 10, extra=(compiles,))) == {
        "step 0": "80.0 ms of it in compilation"
    }


def test_a_first_step_of_which_a_part_is_known() -> None:
    """What else it did, such as importing, is not in the recording: the largest cause is named."""
    extra = Host("dynamo_timed backend_compile", 60, 30), _call("cudaMalloc", 92, 5)
    assert _left_out(_steps(100, 10, 10, 10, extra=extra)) == {
        "step 0": "the first one recorded, 30.0 ms of it in compilation, others take 10.0 ms"
    }


def test_a_first_step_of_which_next_to_nothing_is_known() -> None:
    extra = (Host("dynamo_timed backend_compile", 60, 2),)
    assert _left_out(_steps(100, 10, 10, 10, extra=extra)) == {
        "step 0": "the first one recorded, others take 10.0 ms"
    }


def test_a_long_step_in_the_middle_that_says_why() -> None:
    grows = (_call("cudaMalloc", 22, 30), _call("cudaMalloc", 55, 30))
    trace = _steps(10, 10, 100, 10, extra=grows)
    assert _left_out(trace) == {"step 2": "60.0 ms of it in allocator growth"}
    assert trace.window.time_ns == 30 * _MS


def test_what_most_steps_do_is_no_reason_to_leave_one_out() -> None:
    """A function that is compiled anew each time: of two that take longer, both count."""
    starts = zip((0, 10, 60, 160, 210), (9, 40, 90, 40, 40), strict=True)
    compiles = tuple(Host("dynamo_timed backend_compile", at, long) for at, long in starts)
    assert not _left_out(_steps(10, 50, 100, 50, 50, 10, 100, extra=compiles))


def test_one_long_step_among_many() -> None:
    left_out = _left_out(_steps(10, 10, 10, 11, 90, 10, 9))
    assert left_out == {"step 4": "the only one of its length, others take 10.0 ms"}


def test_steps_that_are_long_again_and_again_count() -> None:
    assert not _left_out(_steps(10, 10, 90, 10, 10, 90, 10, 10))


def test_of_few_steps_a_long_one_counts() -> None:
    assert not _left_out(_steps(10, 10, 90, 10))


def test_a_step_somewhat_longer_counts() -> None:
    assert not _left_out(_steps(10, 10, 10, 20, 10, 10, 10))


def test_a_launch_that_loads_its_kernel_is_left_out_of_a_run() -> None:
    trace = _trace(
        _call("cudaLaunchKernel", 0, 1, work_ms=2),
        _call("cudaLaunchKernel", 10, 300),
        _call("cudaStreamCreateWithFlags", 320, 40),
        _call("cudaLaunchKernel", 400, 1, work_ms=5),
    )
    assert _left_out(trace) == dict.fromkeys(
        ("cudaLaunchKernel", "cudaStreamCreateWithFlags"), "made once in a run"
    )
    assert trace.window.time_ns == (405 - 340) * _MS


def test_a_launch_that_waits_for_a_full_queue_counts() -> None:
    trace = _trace(
        _call("cudaLaunchKernel", 0, 1, work_ms=300),
        _call("cudaLaunchKernel", 10, 280, work_ms=0),
        _call("cudaLaunchKernel", 400, 1, work_ms=5),
    )
    assert not _left_out(trace)


def test_a_wait_counts_however_long() -> None:
    trace = _trace(
        _call("cudaLaunchKernel", 0, 1, work_ms=2),
        _call("cudaDeviceSynchronize", 10, 300),
        _call("cudaLaunchKernel", 400, 1, work_ms=5),
    )
    assert not _left_out(trace)


def test_slow_calls_that_recur_count() -> None:
    frees = [_call("cudaFree", 20 * each, 10) for each in range(1, 6)]
    first, last = (_call("cudaLaunchKernel", at, 1, work_ms=2) for at in (0, 200))
    assert not _left_out(_trace(first, *frees, last))


def test_one_step_alone() -> None:
    trace = _steps(100, 10, 11, 12, 10, extra=(Host("dynamo_timed backend_compile", 1, 80),))
    slowest = trace.only_step("slowest").window
    assert ([step.number for step in slowest.steps], slowest.time_ns) == ([3], 12 * _MS)
    assert len(slowest.left_out) == 4
    assert trace.only_step("0").window.time_ns == 100 * _MS  # though it does not count otherwise
    with pytest.raises(ValueError, match="steps 0 to 4"):
        trace.only_step("7")
    assert trace.only_step("2").window.steps_text == "steps 0 to 4"  # all, whichever count
    with pytest.raises(ValueError, match="no steps"):
        _trace(_call("cudaLaunchKernel", 0, 1, work_ms=2)).only_step("slowest")


def _kernels(*of: tuple[str, float, float]) -> Trace:
    """Launches of kernels by name, one after the other, with the time of each and of its kernel."""
    raw, at = RawColumns(), 0.0
    names, tracks = raw.strings.names, raw.strings.tracks
    for number, (name, launch_ms, work_ms) in enumerate(of, 1):
        row = {"correlation": [number], "name_id": [names["cudaLaunchKernel"]]}
        row |= {"start_ns": [int(at * _MS)], "duration_ns": [int(launch_ms * _MS)]}
        raw.append(1, kind=EventKind.Runtime, track_id=[tracks[Track(1, 1)]], **row)
        at += launch_ms
        row |= {"name_id": [names[name]], "start_ns": [int(at * _MS)]}
        row |= {"duration_ns": [int(work_ms * _MS)], "device": [0], "stream": [7]}
        raw.append(1, kind=EventKind.Kernel, track_id=[tracks[Track(0, 7)]], **row)
        at += work_ms + 0.01
    return build_trace(raw, TraceInfo("made"))


def test_first_launches_are_left_out_however_many_share_the_name_of_the_call() -> None:
    cold = [(f"kernel_{number}", 30.0, 0.1) for number in range(6)]
    warm = [(f"kernel_{number}", 0.005, 0.1) for number in range(6)]
    window = _kernels(*cold, *warm * 3).window
    assert {each.reason for each in window.left_out} == {"the first launch of its kernel"}
    assert len(window.left_out) == 5  # before the first kernel there is no window
    assert window.time_ns < 4 * _MS
    # A launch that takes long again is what the run does.
    again = _kernels(*warm, *cold).window
    assert again.left_out == ()


def test_the_first_call_of_an_operator_that_loads_a_library_is_left_out_of_a_run() -> None:
    """Nothing says what it does in that time, which is the operator's own."""
    op = EventKind.TorchOp
    loads = Host("aten::conv2d", 10, 500, op), _call("cudaLaunchKernel", 505, 0.01, work_ms=1)
    usual = [
        event
        for at in range(520, 600, 10)
        for event in (Host("aten::conv2d", at, 2, op), _call("cudaLaunchKernel", at + 1, 0.01, 3))
    ]
    begin = Host("aten::copy_", 0, 1, op), _call("cudaLaunchKernel", 0.5, 0.01, work_ms=1)
    assert _left_out(_trace(*begin, *loads, *usual)) == {
        "aten::conv2d": "the first call of it, others take 2.00 ms"
    }
    # One that takes long later on is not the first.
    assert not _left_out(_trace(*begin, *usual[:8], Host("aten::conv2d", 590, 500, op)))


def _modules(count: int, *, other_ms: float) -> Trace:
    """Calls of a module, each with a kernel of 1 ms, and a long kernel of none of them."""
    events = []
    for number in range(count):
        events.append(Host("nn.Module: Net_0", 10.0 * number, 2, EventKind.PyCall))
        events.append(_call("cudaLaunchKernel", 10.0 * number + 0.5, 0.01, work_ms=1))
    events.append(_call("cudaLaunchKernel", 10.0 * count, 0.01, work_ms=other_ms))
    return _trace(*events)


def test_rounds_hold_at_least_half_of_the_work() -> None:
    assert _modules(8, other_ms=2).window.unit == "round"
    alone = _modules(8, other_ms=90).window
    assert (alone.unit, alone.steps) == ("run", ())
    assert alone.time_ns > 90 * _MS
