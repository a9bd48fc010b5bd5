"""Traces written by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tidy.trace import Trace

Written = dict[str, Any]


def event(
    name: str = "aten::add",
    ts: Any = 10,
    dur: Any = 5,
    *,
    cat: str = "cpu_op",
    pid: Any = 1,
    tid: Any = 1,
    args: Any = None,
) -> Written:
    """A complete event (`ph` X)."""
    written = {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur}
    return written if args is None else {**written, "args": args}


def document(events: Sequence[Any], **header: Any) -> str:
    """The text of a trace with its header in front."""
    return json.dumps({**header, "traceEvents": list(events)})


def with_times(*times: tuple[str, str], **header: Any) -> str:
    """A trace whose events have `ts` and `dur` written exactly so."""
    marked = [event(f"op{n}", f"<ts{n}>", f"<dur{n}>") for n in range(len(times))]
    text = document(marked, **header)
    for number, (ts, dur) in enumerate(times):
        text = text.replace(f'"<ts{number}>"', ts).replace(f'"<dur{number}>"', dur)
    return text


def names(trace: Trace) -> list[str]:
    """The names of all events, in the order of the trace."""
    return [e.name for e in trace.events()]


def starts_ns(trace: Trace) -> list[int]:
    return sorted(e.start_ns for e in trace.events())


def warning_count(trace: Trace, about: str) -> str:
    """What the one warning about something counts, as written."""
    (warning,) = (w for w in trace.info.warnings if about in w)
    return warning.rpartition(": ")[2]
