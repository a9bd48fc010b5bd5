"""Reading the JSON that `export_chrome_trace` writes, in pieces, into a `Trace`."""

from __future__ import annotations

from collections import Counter
from typing import IO, Any

import msgspec
import numpy as np

from ..errors import TraceFormatError
from ..trace import Trace, TraceInfo, build_trace
from ..trace.columns import RawColumns
from .container import Progress, read_blocks
from .pieces import EventText, decode_head, decode_tail
from .refine import refine
from .refusal import HOW_TO_RECORD, describe_bytes, describe_json
from .rows import RowWriter
from .salvage import salvage
from .schema import AnyEvent, ExactFileEvent, FileEvent, coerce_event
from .times import needs_decimals


class EventDecoder:
    """Decodes pieces with the fastest schema that fits the file."""

    def __init__(self) -> None:
        self._fast = msgspec.json.Decoder(list[FileEvent])
        self._exact = msgspec.json.Decoder(list[ExactFileEvent])
        self._is_exact = False
        self.not_events = 0

    def decode(self, text: bytes) -> list[AnyEvent]:
        """The events in `text`, which has no brackets around it.

        Raises:
            One of salvage.UNDECODABLE where the text is no valid JSON.
        """
        array = b"[" + text.strip().rstrip(b",") + b"]"
        try:
            if not self._is_exact:
                events = self._fast.decode(array)
                if not needs_decimals(events):
                    return list[AnyEvent](events)
                self._is_exact = True
            return list[AnyEvent](self._exact.decode(array))
        except msgspec.ValidationError:
            found = [coerce_event(each) for each in msgspec.json.decode(array)]
            events_found: list[AnyEvent] = [each for each in found if each is not None]
            self.not_events += len(found) - len(events_found)
            return events_found


def read_chrome_trace(file: IO[bytes], path: str, progress: Progress | None = None) -> Trace:
    """Read a trace of PyTorch's profiler; `path` is for messages.

    What is damaged is left out and counted in `trace.info.warnings`.

    Raises:
        TraceFormatError: the file is no trace.
    """
    info = TraceInfo(path)
    decoder, rows, repairs = EventDecoder(), RowWriter(), Counter[str]()
    text = EventText(read_blocks(file, path, info.warnings.append, progress), decoder.decode)
    what = describe_bytes(text.head) if not text.found_events else None
    if what is None and not text.found_events:
        what = describe_json(text.head)
    if what is not None:
        raise TraceFormatError(path, f"this is {what}; {HOW_TO_RECORD}")
    first_piece = b""
    for piece, events in text:
        first_piece = first_piece or piece[: 1 << 16]
        if events is not None:
            rows.add(events)
            continue
        for batch in salvage(piece, decoder.decode, repairs):
            rows.add(batch)
    header = decode_head(text.head) if text.head else {}
    header |= (decode_tail(text.tail) if text.tail is not None else None) or {}
    info.header = header
    if not rows.event_count:
        document = text.head + b'"traceEvents":[' if text.head else b"["
        raise TraceFormatError(path, f"{_without_events(document + first_piece)}; {HOW_TO_RECORD}")
    _warn(info, rows, repairs, decoder.not_events, truncated=text.tail is None)
    _shift(rows.raw, header.get("baseTimeNanoseconds"), info)
    refine(rows.raw)
    return build_trace(rows.raw, info)


def _without_events(text: bytes) -> str:
    if b'"M"' in text:
        return "this trace holds no events, only names of processes and threads"
    return f"this is {describe_json(text)}" if text[:1] == b"[" else "this trace holds no events"


def _warn(
    info: TraceInfo, rows: RowWriter, repairs: Counter[str], not_events: int, truncated: bool
) -> None:
    lost = repairs.pop("events", 0) + not_events
    if lost:
        info.warnings.append(f"{_count(lost, 'event')} could not be decoded and {_are(lost)} lost")
    if truncated:
        info.warnings.append("the file ends in the middle of the events; the rest is lost")
    for what, count in sorted(repairs.items()):
        info.warnings.append(f"mended {count:,} {what}")
    for what, count in sorted(rows.lost.items()):
        info.warnings.append(f"left out {count:,} {what}")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _shift(raw: RawColumns, base_ns: Any, info: TraceInfo) -> None:
    """Make times absolute."""
    if isinstance(base_ns, str) and base_ns.isdecimal():
        base_ns = int(base_ns)
    if base_ns is None:
        return
    if not isinstance(base_ns, int) or not 0 <= base_ns < 4 * 10**18:
        info.warnings.append("baseTimeNanoseconds is no time; times count from 0")
        return
    raw.shift("start_ns", np.int64(base_ns))


__all__ = ["read_chrome_trace"]
