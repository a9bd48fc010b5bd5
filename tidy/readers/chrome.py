"""Reading the JSON that `export_chrome_trace` writes, in pieces, into a `Trace`."""

from __future__ import annotations

import os
import re
from collections import Counter
from io import BufferedReader
from typing import IO

from ..errors import TraceFormatError, UnreadableFile
from ..trace import Trace, TraceInfo, build_trace
from .container import Progress, read_blocks
from .decoder import EventDecoder
from .event_text import EventText
from .header import read_header
from .merged import merged_ranks, refusal_of
from .refine import refine
from .refusal import (
    ASCEND,
    HOW_TO_RECORD,
    OF_ASCEND,
    describe,
    describe_foreign,
    describe_json,
)
from .row_writer import RowWriter
from .times import base_time

# Less text is read before workers have started.
LARGE_NBYTES = 20_000_000
_UNPACKS_TO = 12  # times the size of a packed file, at the least usual
_LEFT_BY_CRASHES = b"\0 \t\r\n"  # and by full disks: a file of these has lost its content
_TEXT_BEGINS = (b"{", b"[", b" ", b"\n", b"\r", b"\t", b"\xef", b"\xff", b"\xfe")
# Keys beside the events that PyTorch's profiler writes, and tidy's own.
_OF_KINETO = {"deviceProperties", "distributedInfo", "baseTimeNanoseconds"}


def read_chrome_trace(
    file: IO[bytes],
    path: str,
    progress: Progress | None = None,
    jobs: int = 1,
    method: str | None = None,
) -> Trace:
    """Read a trace of PyTorch's profiler.

    What is damaged is left out and counted in `trace.info.warnings`. Messages name the file `path`.

    Args:
        file: the open file.
        path: what messages call it.
        progress: called with the number of bytes read so far.
        jobs: how many worker processes read a large file; 1 for none.
        method: how they are started; see `workers.Workers`.

    Raises:
        TraceFormatError: the file is not a trace.
    """
    warnings: list[str] = []
    repairs, lost = Counter[str](), Counter[str]()
    rows, is_large = RowWriter(lost), jobs > 1 and _text_nbytes(file) >= LARGE_NBYTES
    blocks = read_blocks(file, path, warnings.append, progress)
    decoder = EventDecoder(lost)
    text = EventText(blocks, decoder.decode, repairs)
    if not text.found_events:
        is_lost = not text.head.strip(_LEFT_BY_CRASHES)
        raise _refusal(path, f"this is {describe(text.head)}", warnings, is_lost=is_lost)
    if is_large:
        from .ahead import read_ahead, start_workers  # loads multiprocessing

        with start_workers(jobs, method) as workers:
            read_ahead(text, decoder, rows, workers)
    for events in text:
        rows.add(events)
    warnings += _counted(repairs, lost)
    if not rows.event_count:
        raise _refusal(path, _without_events(text.head, text.start), warnings)
    header = read_header(text.head, text.tail, warnings)
    is_known = rows.known_count or header.keys() & _OF_KINETO
    if rows.flow_categories.keys() & OF_ASCEND:
        raise _refusal(path, f"this is {ASCEND}", warnings)
    if not is_known and not any(name.startswith("aten::") for name in rows.raw.strings.names):
        raise _refusal(
            path, f"this is {describe_foreign(header, rows.unknown, text.start)}", warnings
        )
    if text.tail is None:
        warnings.append(f"the file is cut off after {rows.event_count:,} events")
    rows.raw.shift(base_time(header.get("baseTimeNanoseconds"), warnings))
    refine(rows.raw)
    notes = header.get("tidy_notes")  # what `tidy run` had to say of its recording
    said = [note for note in notes if isinstance(note, str)] if isinstance(notes, list) else []
    accelerators, is_cut = frozenset(rows.accelerators), text.tail is None
    info = TraceInfo(path, header, said + warnings, accelerators=accelerators, is_thinned=is_cut)
    trace = build_trace(rows.raw, info)
    if ranks := merged_ranks(trace):
        raise UnreadableFile(path, refusal_of(ranks))
    return trace


def _text_nbytes(file: IO[bytes]) -> int:
    """About how much text a file holds that is at its beginning; 0 for a pipe."""
    try:
        nbytes = os.fstat(file.fileno()).st_size
    except (OSError, ValueError):
        return 0
    is_packed = isinstance(file, BufferedReader) and file.peek(1)[:1] not in _TEXT_BEGINS
    return nbytes * (_UNPACKS_TO if is_packed else 1)


def _refusal(
    path: str, problem: str, warnings: list[str], *, is_lost: bool = False
) -> TraceFormatError:
    said = "; ".join([problem, *warnings, HOW_TO_RECORD])
    # Of a damaged file nobody knows what it was.
    return UnreadableFile(path, said) if warnings or is_lost else TraceFormatError(path, said)


def _without_events(head: bytes, start: bytes) -> str:
    if not head and b'"ph"' not in start:
        return f"this is {describe_json(b'[' + start)}"
    is_meta = re.search(rb'"ph"\s*:\s*"M"', start) and not re.search(rb'"ph"\s*:\s*"[^M]"', start)
    only = ", only names of processes and threads" if is_meta else " that can be read"
    return f"this trace holds no events{only}"


def _counted(repairs: Counter[str], lost: Counter[str]) -> list[str]:
    damaged = repairs.pop("events", 0)
    said = [f"left out damaged events: {damaged:,}"] if damaged else []
    said += [f"mended {what}: {count:,}" for what, count in sorted(repairs.items())]
    said += [f"left out {what}: {count:,}" for what, count in sorted(lost.items())]
    return said
