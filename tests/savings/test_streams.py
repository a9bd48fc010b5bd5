"""What runs on another stream after it was told to wait, on a device that keeps up."""

from __future__ import annotations

import pytest

from tidy.savings import Edit, Savings
from tidy.trace import Intervals

from ..conftest import ReadEvents
from ..trace.kineto import Written, call, mark, span

_ROUNDS, _ROUND_US, _KERNEL_US = 10, 200.0, 20.0
_STEP_US = _ROUNDS * _ROUND_US


def _by_turns(*, waiting: bool) -> list[Written]:
    """Three steps of ten kernels, launched 200 us apart on two streams by turns, 20 us each."""
    written: list[Written] = []
    for number in range(3 * _ROUNDS):
        ts, stream = 1 + number * _ROUND_US, 7 + number % 2
        if not number % _ROUNDS:
            written += [mark(f"ProfilerStep#{number // _ROUNDS}", ts - 1, _STEP_US - 1)]
        if waiting and number:
            args = {"stream": stream, "device": 0, "correlation": 1000 + number}
            written += [
                call("cudaEventRecord", ts + 90, 1, 2000 + number),
                call("cudaStreamWaitEvent", ts + 92, 2, 1000 + number),
                span("cuda_sync", "Stream Wait Event", ts + 93, 1, pid=0, tid=stream, args=args),
            ]
        written += [call("cudaLaunchKernel", ts + 100, 5, 1 + number)]
        written += [
            span("kernel", "gemm", ts + 106, _KERNEL_US, pid=0, tid=stream)
            | {"args": {"correlation": 1 + number, "device": 0, "stream": stream}}
        ]
    return written


@pytest.mark.parametrize(("waiting", "at_once"), [(True, 1), (False, 2)])
def test_a_stream_waits_for_the_other(read_events: ReadEvents, waiting: bool, at_once: int) -> None:
    """Without the host's time kernels of both streams run at once only where none waits."""
    trace = read_events(_by_turns(waiting=waiting))
    ranges = trace.window.step_ranges
    host = Intervals([ranges[0][0]], [ranges[-1][1]])
    track = trace.track_id[trace.rows_named("cudaLaunchKernel")][0]
    savings = Savings(trace, ranges, int(track))
    assert savings.fidelity.median_error < 0.001
    _, high = savings.saved([Edit("no host", host={int(track): host})])
    left_us = _STEP_US - max(high) / 1000
    assert left_us == pytest.approx(_ROUNDS * _KERNEL_US / at_once, abs=60)
