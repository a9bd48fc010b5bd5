"""Reading the JSON that `export_chrome_trace` writes, in pieces, into a `Trace`."""

from __future__ import annotations

import re
from collections import Counter
from typing import IO

from ..errors import TraceFormatError
from ..trace import Trace, TraceInfo, build_trace
from .container import Progress, read_blocks
from .decoder import EventDecoder
from .header import read_header
from .pieces import EventText
from .refine import refine
from .refusal import HOW_TO_RECORD, describe, describe_json
from .rows import RowWriter
from .times import base_time


def read_chrome_trace(file: IO[bytes], path: str, progress: Progress | None = None) -> Trace:
    """Read a trace of PyTorch's profiler; `path` is for messages.

    What is damaged is left out and counted in `trace.info.warnings`.

    Raises:
        TraceFormatError: the file is no trace.
    """
    info = TraceInfo(path)
    repairs, lost = Counter[str](), Counter[str]()
    rows = RowWriter(lost)
    blocks = read_blocks(file, path, info.warnings.append, progress)
    text = EventText(blocks, EventDecoder(lost).decode, repairs)
    if not text.found_events:
        raise _refusal(f"this is {describe(text.head)}", info)
    for events in text:
        rows.add(events)
    info.warnings += _warnings(repairs, lost)
    if not rows.event_count:
        raise _refusal(_without_events(text.head, text.start), info)
    info.header = read_header(text.head, text.tail, info.warnings)
    if text.tail is None:
        info.warnings.append(f"the file is cut off after {rows.event_count:,} events")
    base_ns = base_time(info.header.get("baseTimeNanoseconds"), info.warnings)
    rows.raw.shift(base_ns)
    refine(rows.raw)
    return build_trace(rows.raw, info)


def _refusal(problem: str, info: TraceInfo) -> TraceFormatError:
    return TraceFormatError(info.path, "; ".join([problem, *info.warnings, HOW_TO_RECORD]))


def _without_events(head: bytes, start: bytes) -> str:
    if not head and b'"ph"' not in start:
        return f"this is {describe_json(b'[' + start)}"
    is_meta = re.search(rb'"ph"\s*:\s*"M"', start) and not re.search(rb'"ph"\s*:\s*"[^M]"', start)
    only = ", only names of processes and threads" if is_meta else " that can be read"
    return f"this trace holds no events{only}"


def _warnings(repairs: Counter[str], lost: Counter[str]) -> list[str]:
    damaged = repairs.pop("events", 0)
    said = [f"left out damaged events: {damaged:,}"] if damaged else []
    said += [f"mended {what}: {count:,}" for what, count in sorted(repairs.items())]
    said += [f"left out {what}: {count:,}" for what, count in sorted(lost.items())]
    return said
