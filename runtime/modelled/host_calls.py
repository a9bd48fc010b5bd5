"""Calls of the CUDA runtime that launch no work: they take the host time, or have it wait."""

from __future__ import annotations

from typing import Any

from . import clock
from .activity import correlations, log_call, log_work, logs
from .stream_timelines import StreamTimeline

_WAIT_NS = 3_000  # a call that waits, when there is nothing to wait for


def host_call(name: str, cost_ns: int) -> int:
    """Make a call that takes the host `cost_ns` and launches nothing; return its correlation."""
    start = clock.now_ns()
    correlation = next(correlations)
    clock.wait_until(start + cost_ns)
    if logs:
        log_call(name, start, start + cost_ns, correlation)
    return correlation


def host_wait(name: str, until_ns: int, kind: str, stream: StreamTimeline, **args: Any) -> None:
    """Let the host wait for the device until `until_ns`, in a call.

    Args:
        kind: what Kineto calls the waiting: Stream Sync, Context Sync, Event Sync.
        args: further ones that a trace shows of it.
    """
    start = clock.now_ns()
    end = max(until_ns, start + _WAIT_NS)
    clock.wait_until(end)
    if logs:
        correlation = next(correlations)
        log_call(name, start, end, correlation)
        shown = {"cuda_sync_kind": kind, "wait_on_stream": stream.number, **args}
        log_work("cuda_sync", kind, (start, end), stream, correlation, args=shown)
