"""From pieces to a file in Kineto's format, which Perfetto, HTA and `tidy report` read.

Beside what Kineto writes, an operator has the line of its call: `Call stack`, as PyTorch had it in
2021. Source: libkineto/src/output_json.cpp, the Trace Event Format.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import IO, Any

import msgspec

from ..errors import UsageError, reason_of
from ..trace.kinds import EventKind
from ..trace.raw_columns import Track
from .kineto_device import Json, Timed, device_events, device_metadata, naming, ranged
from .piece import PYTHON_KINDS, Piece
from .worker_ranges import worker_events

_CATEGORIES = {
    EventKind.TorchOp: "cpu_op",
    EventKind.Annotation: "user_annotation",
    EventKind.PyCall: "python_function",
    EventKind.PyCCall: "python_function",
}
_INPUTS = ("Input Dims", "Input type", "Concrete Inputs", "Input Strides")  # as in `InputTexts`
# How long the recording was, as an event beside all others.
SPAN, SPAN_TRACK = "tidy profiler (0)", Track("Spans", "tidy profiler")
_BASE_STEP_NS = 10**15  # as Kineto's: a base that leaves few digits to each time
_BLOCK_NBYTES = 1 << 20  # is written at once: events are small
_LEVEL = 4  # of gzip
_encode = msgspec.json.Encoder().encode


def base_of(time_ns: int) -> int:
    """Return the `baseTimeNanoseconds` of a trace that begins at a Unix time."""
    return time_ns - time_ns % _BASE_STEP_NS


def write_chrome_trace(
    path: str | os.PathLike[str], piece: Piece, header: Mapping[str, Any]
) -> None:
    """Write the trace; in gzip if the name ends in .gz. A failed write leaves no half file.

    Raises:
        UsageError: the file cannot be written.
    """
    file, base = TraceFile(Path(path)), base_of(piece.start_ns)
    try:
        file.add(events_of(piece, base))
        times = {"displayTimeUnit": "ms", "baseTimeNanoseconds": base}
        name = {"traceName": file.target.as_posix()}
        file.end({"schemaVersion": 1, **header, **times, **name})
    finally:
        file.close()
    if file.error is not None:
        reason = reason_of(file.error)
        raise UsageError(f"{file.target}: the trace cannot be written: {reason}") from file.error


class TraceFile:
    """A file that takes its name when it is whole; what cannot be written does not end the work.

    Attributes:
        error: why it cannot be written, None as long as it can.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self.error: OSError | None = None
        self._file: IO[bytes] | None = None
        self._before = b'{"traceEvents": [\n'  # what stands before the next event
        # A device or a pipe is written to as it is, and so is the file that a link names.
        self._path = path = Path(os.path.realpath(target))
        is_special = path.exists() and not path.is_file()
        part = path if is_special else path.with_name(f"{path.name}.{os.getpid()}.part")
        self._part, packed = part, target.name.endswith(".gz")
        try:
            opened: Any = gzip.GzipFile(part, "wb", _LEVEL) if packed else part.open("wb", 0)
            self._file = io.BufferedWriter(opened, _BLOCK_NBYTES)
        except OSError as error:
            self._fail(error)

    def add(self, events: Iterable[bytes]) -> None:
        """Write events, each as the text of a JSON object; nothing once that has failed."""
        for event in events:
            if self.error is not None:
                return
            self._write(self._before + event)
            self._before = b",\n"

    def end(self, header: Mapping[str, Any]) -> None:
        """Write the keys beside the events, and give the file its name."""
        opening = self._before.removeprefix(b",\n")  # where there were no events
        beside = json.dumps(_finite(header), allow_nan=False)
        self._write(opening + b"\n],\n" + beside[1:].encode() + b"\n")
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
                if self._part != self._path:
                    self._part.replace(self._path)
            except OSError as error:
                self._fail(error)

    def close(self) -> None:
        """Leave nothing of a file that has not come to its end."""
        file, self._file = self._file, None
        with suppress(OSError):
            if file is not None:
                file.close()
        with suppress(OSError):
            if self._part != self._path:
                self._part.unlink()

    def _write(self, data: bytes) -> None:
        try:
            if self._file is not None:
                self._file.write(data)
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.error = self.error or error
        self.close()


def events_of(
    piece: Piece, base: int, first: int = 0, named: set[object] | None = None
) -> Iterator[bytes]:
    """Return the events of a piece as texts.

    Args:
        base: what times count from, Unix time in nanoseconds.
        first: is added to all numbers that begin anew in each piece.
        named: processes and threads that the pieces before have named; is added to.
    """
    named = set() if named is None else named
    names = list[Timed]()
    for event in [*_metadata(piece), *device_metadata(piece.device)]:
        place = event["name"], event["pid"], event["tid"]
        if place not in named:
            named.add(place)
            names.append((event, piece.start_ns, None))
    device = device_events(piece.device, piece.pid)
    own = chain(_hosts(piece, first), device, _memory(piece, first), _arrows(piece, first))
    workers = worker_events(piece.pid, piece.worker_batches)
    span = ranged("Trace", SPAN, SPAN_TRACK, (piece.start_ns, piece.end_ns), {"Op count": 0})
    return texts_of(chain(names, own, workers, [span]), base)


def _metadata(piece: Piece) -> Iterator[Json]:
    """Names of the process and its threads."""
    yield naming("process_name", piece.pid, 0, {"name": "python"})
    yield naming("process_labels", piece.pid, 0, {"labels": "CPU"})
    for tid, name in piece.thread_names.items():
        yield naming("thread_name", piece.pid, tid, {"name": f"thread {tid} ({name})"})


def _memory(piece: Piece, first: int) -> Iterator[Timed]:
    for number, change in enumerate(piece.memory, first + len(piece.events)):
        args = {
            "Total Reserved": change.reserved_nbytes,
            "Total Allocated": change.allocated_nbytes,
            "Bytes": change.nbytes,
            "Device Id": change.device,
            "Device Type": int(change.device >= 0),
            "Addr": change.address,
            "Ev Idx": number,
        }
        name = "[OutOfMemory]" if change.out_of_memory else "[memory]"
        event: Json = {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": name}
        yield event | {"pid": piece.pid, "tid": change.ident, "args": args}, change.time_ns, None


def _arrows(piece: Piece, first: int) -> Iterator[Timed]:
    for number, pair in enumerate(piece.arrows, first + 1):
        for end, index in zip(({"ph": "s"}, {"ph": "f", "bp": "e"}), pair, strict=True):
            host = piece.events[index]
            arrow = {"id": number, "pid": piece.pid, "tid": host.tid}
            yield {**end, **arrow, "cat": "fwdbwd", "name": "fwdbwd"}, host.start_ns, None


def _hosts(piece: Piece, first: int) -> Iterator[Timed]:
    python_ids = count(first + 1)
    # By thread, the ends and numbers of Python functions that are open, innermost last.
    running = defaultdict[int, list[tuple[int, int]]](list)
    inputs = [tuple(msgspec.Raw(text.encode()) for text in texts) for texts in piece.inputs]
    hosts = zip(piece.events, piece.external_ids, strict=True)
    for number, (event, external_id) in enumerate(hosts):
        args: Json
        if event.kind in PYTHON_KINDS:
            own, stack = next(python_ids), running[event.tid]
            while stack and stack[-1][0] <= event.start_ns:
                stack.pop()
            args = {"Python id": own, "Python parent id": stack[-1][1] if stack else None}
            stack.append((event.end_ns, own))
            if event.module_id is not None:
                args["Python module id"] = event.module_id
        else:
            args = {"External id": external_id, "Record function id": 0}
            if event.sequence_nr >= 0 or event.forward_thread:
                args["Sequence number"] = event.sequence_nr
                args["Fwd thread id"] = event.forward_thread
            if event.inputs_id >= 0:
                args |= zip(_INPUTS, inputs[event.inputs_id], strict=True)
        if event.call_stack:
            args["Call stack"] = event.call_stack
        args["Ev Idx"] = first + number
        place, span = (piece.pid, event.tid), (event.start_ns, event.end_ns)
        yield ranged(_CATEGORIES[event.kind], event.name, place, span, args)


def texts_of(events: Iterable[Timed], base: int) -> Iterator[bytes]:
    """Events as texts, with times that count from `base`."""
    for event, start_ns, duration_ns in events:
        event["ts"] = microseconds(start_ns - base)
        if duration_ns is not None:
            event["dur"] = microseconds(duration_ns)
        yield _encode(event)


def microseconds(time_ns: int) -> msgspec.Raw:
    """Microseconds with three decimals, exact, as a JSON text."""
    whole, rest = divmod(abs(time_ns), 1000)
    return msgspec.Raw(b"%s%d.%03d" % (b"-" if time_ns < 0 else b"", whole, rest))


def _finite(value: Any) -> Any:
    """A value of strict JSON: a number that it does not know is a text, as Kineto writes it."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, (list, tuple)) else value
