"""A trace in Chrome's JSON format for Perfetto, with findings and causes of idle time as tracks."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from typing import Any

from ..account.causes import CAUSE_OF, cause_text
from ..account.host_kinds import HOST_KINDS
from ..check.checked_trace import CheckedTrace
from ..trace import EventKind, Trace, printable
from .labels import device_name, track_names

_NOT_DRAWN = (EventKind.Allocation, EventKind.OutOfMemory)
_FINDINGS, _CAUSES = "tidy: findings", "tidy: why devices idle"
_ON_HOST = "tidy: what the host does"
_MOST_INPUTS = 300  # characters of shapes


def to_perfetto(report: CheckedTrace, compressed: bool = False) -> bytes:
    """Return the trace as JSON, in gzip if asked."""
    trace = report.trace
    base_ns = trace.start_ns_first
    events = _events(report, base_ns)
    head = {"displayTimeUnit": "ns", "traceEvents": None, "tidy_source": printable(trace.info.path)}
    before, after = json.dumps(head).split("null", 1)
    text = f"{before}[\n{','.join(f'{json.dumps(each)}{chr(10)}' for each in events)}]{after}\n"
    data = text.encode("utf-8")
    return gzip.compress(data, 6, mtime=0) if compressed else data


def _events(report: CheckedTrace, base_ns: int) -> Iterator[dict[str, Any]]:
    trace = report.trace
    yield from _names(trace)
    yield from _rows(trace, base_ns)
    yield from _links(trace, base_ns)
    yield from _causes(report, base_ns)
    yield from _findings(report, base_ns)


def _names(trace: Trace) -> Iterator[dict[str, Any]]:
    """Processes in the order in which they are shown: what tidy says first."""
    for order, name in enumerate((_FINDINGS, _CAUSES if trace.devices_used else _ON_HOST)):
        yield {"ph": "M", "pid": name, "name": "process_name", "args": {"name": name}}
        index = {"sort_index": order - 10}
        yield {"ph": "M", "pid": name, "name": "process_sort_index", "args": index}
    for device in trace.devices_used:
        label = device_name(trace, device)
        yield {"ph": "M", "pid": label, "name": "process_name", "args": {"name": label}}


def _rows(trace: Trace, base_ns: int) -> Iterator[dict[str, Any]]:
    names = list(map(printable, trace.names))
    kinds = [kind.name for kind in EventKind]
    columns = (
        trace.kind, trace.name_id, trace.track_id, trace.device, trace.inputs_id,
        trace.start_ns, trace.duration_ns,
    )  # fmt: skip
    rows = zip(*(column.tolist() for column in columns), strict=True)
    hidden = set(map(int, _NOT_DRAWN))
    for row, (kind, name, track, device, inputs, start_ns, duration_ns) in enumerate(rows):
        if kind in hidden:
            continue
        args: dict[str, Any] = {}
        if inputs >= 0 and (shapes := trace.inputs.shapes(inputs)):
            args["Input Dims"] = printable(str([list(each) for each in shapes])[:_MOST_INPUTS])
        if kind == EventKind.TorchOp and (location := trace.location(row)) is not None:
            args["source"] = printable(str(location))
        pid, tid = track_names(trace, track, device)
        yield _slice(names[name], kinds[kind], pid, tid, start_ns - base_ns, duration_ns, args)


def _slice(
    name: str, category: str, pid: str, tid: str, start_ns: int, duration_ns: int, args: Any
) -> dict[str, Any]:
    return {
        "ph": "X", "name": name, "cat": category, "pid": pid, "tid": tid,
        "ts": start_ns / 1000, "dur": duration_ns / 1000, "args": args,
    }  # fmt: skip


def _links(trace: Trace, base_ns: int) -> Iterator[dict[str, Any]]:
    """An arrow from each launch to its work."""
    for row in trace.device_rows.tolist():
        launch = int(trace.caller[row])
        if launch < 0:
            continue
        for phase, at in (("s", launch), ("f", row)):
            pid, tid = track_names(trace, int(trace.track_id[at]), int(trace.device[at]))
            ts = (int(trace.start_ns[at]) - base_ns) / 1000
            yield {
                "ph": phase, "id": row, "name": "launch", "cat": "launch", "bp": "e",
                "pid": pid, "tid": tid, "ts": ts,
            }  # fmt: skip


def _causes(report: CheckedTrace, base_ns: int) -> Iterator[dict[str, Any]]:
    trace = report.trace
    for device in trace.devices_used or (None,):
        pieces = report.accountant.host_pieces(device)
        pid = _ON_HOST if device is None else _CAUSES
        whose = "host" if device is None else device_name(trace, device)
        for start, end, kind, _ in zip(*(each.tolist() for each in pieces), strict=True):
            text = cause_text(CAUSE_OF[HOST_KINDS[kind]].word)
            yield _slice(text, "idle", pid, whose, start - base_ns, end - start, {})


def _findings(report: CheckedTrace, base_ns: int) -> Iterator[dict[str, Any]]:
    for finding in report.findings:
        if finding.acceptance is not None:
            continue
        args = {
            "message": printable(finding.message),
            "fix": printable(finding.fix),
            "where": printable(str(finding.location or "")),
            "severity": finding.severity.label,
        }
        name = f"{finding.code} {finding.name}"
        for start, duration in _apart((e.start_ns, e.end_ns) for e in finding.events):
            yield _slice(name, "finding", _FINDINGS, name, start - base_ns, duration, args)


def _apart(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Start and duration of stretches, those that overlap joined: a track draws no other."""
    start, end = None, 0
    for begins, ends in sorted(ranges):
        if start is not None and begins < end:
            end = max(end, ends)
            continue
        if start is not None:
            yield start, end - start
        start, end = begins, ends
    if start is not None:
        yield start, end - start
