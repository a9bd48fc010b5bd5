"""Events as Kineto writes them, one function a category; times in microseconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Written = dict[str, Any]


def span(
    category: str,
    name: str,
    ts: float,
    dur: float,
    *,
    tid: int = 1,
    pid: int = 1,
    args: Mapping[str, Any] | None = None,
) -> Written:
    """A complete event (`ph` X)."""
    where = {"pid": pid, "tid": tid, "ts": ts, "dur": dur}
    return {"ph": "X", "cat": category, "name": name, **where, "args": dict(args or {})}


def op(
    name: str,
    ts: float,
    dur: float,
    *,
    tid: int = 1,
    pid: int = 1,
    args: Mapping[str, Any] | None = None,
) -> Written:
    return span("cpu_op", name, ts, dur, tid=tid, pid=pid, args=args)


def frame(name: str, ts: float, dur: float, *, tid: int = 1) -> Written:
    return span("python_function", name, ts, dur, tid=tid)


def mark(name: str, ts: float, dur: float, *, tid: int = 1) -> Written:
    return span("user_annotation", name, ts, dur, tid=tid)


def call(
    name: str,
    ts: float,
    dur: float,
    correlation: int,
    *,
    external: int = 0,
    tid: int = 1,
    pid: int = 1,
) -> Written:
    args = {"correlation": correlation, "External id": external}
    return span("cuda_runtime", name, ts, dur, tid=tid, pid=pid, args=args)


def kernel(
    name: str, ts: float, dur: float, *, correlation: int = 0, external: int = 0, device: int = 0
) -> Written:
    args = {"correlation": correlation, "External id": external, "device": device, "stream": 7}
    return span("kernel", name, ts, dur, pid=device, tid=7, args=args)


def arrow(category: str, number: int, source: Written, target: Written) -> list[Written]:
    """The two ends of a flow, at the starts of two events."""

    def end(phase: str, at: Written) -> Written:
        place = {key: at[key] for key in ("pid", "tid", "ts")}
        return {"ph": phase, "cat": category, "name": category, "id": number, **place}

    return [end("s", source), end("f", target)]
