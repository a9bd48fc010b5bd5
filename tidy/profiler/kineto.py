"""From a recording to a file in Kineto's format, which Perfetto, HTA and `tidy report` read.

Beside what Kineto writes, an operator has the line of its call: `Call stack`, as PyTorch had it in
2021. Source: libkineto/src/output_json.cpp, the Trace Event Format.
"""

from __future__ import annotations

import gzip
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from ..errors import UsageError
from ..trace.kinds import EventKind
from .inputs import Signature, texts
from .kineto_device import Timed, device_events, device_memory, device_metadata
from .memory import Memory
from .recording import RecordedEvent, Recording

_CATEGORIES = {
    EventKind.TorchOp: "cpu_op",
    EventKind.Annotation: "user_annotation",
    EventKind.PyCall: "python_function",
}
_BASE_STEP_NS = 10**15  # as Kineto's: a base that leaves few digits to each time


def write_chrome_trace(
    path: str | os.PathLike[str], recording: Recording, header: Mapping[str, Any]
) -> None:
    """Write the trace; in gzip if the name ends in .gz. A failed write leaves no half file.

    Raises:
        UsageError: the file cannot be written.
    """
    target = Path(path)
    special = target.exists() and not target.is_file()  # a device or a pipe
    part = target if special else target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        with _open(part, target.suffix == ".gz") as file:
            file.writelines(_texts(recording, header, target))
        if not special:
            part.replace(target)
    except BaseException as error:
        with suppress(OSError):
            if not special:
                part.unlink()
        if not isinstance(error, OSError):
            raise
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"{target}: the trace cannot be written: {reason}") from error


def _open(path: Path, packed: bool) -> IO[str]:
    if packed:
        return gzip.open(path, "wt", compresslevel=4, encoding="utf-8", newline="\n")
    return path.open("w", encoding="utf-8", newline="\n")


def _texts(recording: Recording, header: Mapping[str, Any], path: Path) -> Iterator[str]:
    base = recording.start_ns - recording.start_ns % _BASE_STEP_NS
    top = {"schemaVersion": 1, **header, "displayTimeUnit": "ms", "baseTimeNanoseconds": base}
    yield _json(top)[:-1] + ', "traceEvents": [\n'
    comma = ""
    for event in _events(recording, base):
        yield comma + event
        comma = ",\n"
    yield f'\n], "traceName": {json.dumps(path.as_posix())}}}\n'


def _events(recording: Recording, base: int) -> Iterator[str]:
    pid = recording.pid
    start = _us(recording.start_ns - base)
    for name, args in (("process_name", {"name": "python"}), ("process_labels", {"labels": "CPU"})):
        yield _text({"ph": "M", "name": name, "pid": pid, "tid": 0, "args": args}, start)
    for tid, name in recording.thread_names.items():
        args = {"name": f"thread {tid} ({name})"}
        yield _text({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": args}, start)
    for named in device_metadata(recording.device):
        yield _text(named, start)
    parents = _python_parents(recording.events)
    for number, event in enumerate(recording.events):
        yield _complete(number, event, pid, base, parents)
    yield from _timed(device_events(recording.device, pid), base)
    total = 0
    for number, change in enumerate(recording.memory, len(recording.events)):
        total += 0 if change.out_of_memory else change.nbytes
        yield _memory(number, change, total, pid, base)
    first = len(recording.events) + len(recording.memory)
    yield from _timed(device_memory(recording.device, pid, first), base)
    for number, (forward, backward) in enumerate(recording.arrows, 1):
        ends: tuple[tuple[int, dict[str, Any]], ...]
        ends = ((forward, {"ph": "s"}), (backward, {"ph": "f", "bp": "e"}))
        for index, kind in ends:
            event = recording.events[index]
            place: dict[str, Any] = {
                "id": number,
                "pid": pid,
                "tid": event.tid,
                "cat": "fwdbwd",
                "name": "fwdbwd",
            }
            yield _text(kind | place, _us(event.start_ns - base))
    span: dict[str, Any] = {"ph": "X", "cat": "Trace", "name": "tidy profiler (0)"}
    span |= {"pid": "Spans", "tid": "tidy profiler", "args": {"Op count": 0}}
    yield _text(span, start, _us(recording.end_ns - recording.start_ns))


def _timed(events: Iterable[Timed], base: int) -> Iterator[str]:
    for event, start, duration in events:
        yield _text(event, _us(start - base), "" if duration is None else _us(duration))


def _us(time_ns: int) -> str:
    return f"{time_ns // 1000}.{time_ns % 1000:03d}"


def _text(event: Mapping[str, Any], start: str, duration: str = "") -> str:
    times = f', "ts": {start}' + (f', "dur": {duration}' if duration else "")
    return _json(event)[:-1] + times + "}"


def _json(value: Mapping[str, Any]) -> str:
    """Strictly JSON: a number that it does not know is a text, as Kineto writes it."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, (list, tuple)) else value


_quoted = lru_cache(maxsize=1 << 16)(json.dumps)


def _complete(
    number: int,
    event: RecordedEvent,
    pid: int,
    base: int,
    parents: Mapping[int, tuple[int, int | None]],
) -> str:
    if event.kind == EventKind.PyCall:
        own, parent = parents[number]
        args = f'"Python id": {own}, "Python parent id": {json.dumps(parent)}'
        if event.module_id is not None:
            args += f', "Python module id": {event.module_id}'
    else:
        args = f'"External id": {number + 1}, "Record function id": 0'
        if event.sequence_nr >= 0 or event.forward_thread:
            args += f', "Sequence number": {event.sequence_nr}'
            args += f', "Fwd thread id": {event.forward_thread}'
        if event.signature is not None and event.kind == EventKind.TorchOp:
            args += ", " + _inputs(event.signature)
    if event.call_stack:
        args += f', "Call stack": {_quoted(event.call_stack)}'
    return (
        f'{{"ph": "X", "cat": "{_CATEGORIES[event.kind]}", "name": {_quoted(event.name)}, '
        f'"pid": {pid}, "tid": {event.tid}, "ts": {_us(event.start_ns - base)}, '
        f'"dur": {_us(event.end_ns - event.start_ns)}, "args": {{{args}, "Ev Idx": {number}}}}}'
    )


@lru_cache(maxsize=1 << 14)
def _inputs(signature: Signature) -> str:
    dims, types, concrete, strides = texts(signature)
    return (
        f'"Concrete Inputs": {concrete}, "Input type": {types}, '
        f'"Input Strides": {strides}, "Input Dims": {dims}'
    )


def _memory(number: int, change: Memory, total: int, pid: int, base: int) -> str:
    name = "[OutOfMemory]" if change.out_of_memory else "[memory]"
    args = {
        "Total Reserved": 0,
        "Total Allocated": total,
        "Bytes": change.nbytes,
        "Device Id": -1,
        "Device Type": 0,
        "Addr": change.address,
        "Ev Idx": number,
    }
    event: dict[str, Any] = {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": name}
    event |= {"pid": pid, "tid": change.ident, "args": args}
    return _text(event, _us(change.time_ns - base))


def _python_parents(events: list[RecordedEvent]) -> dict[int, tuple[int, int | None]]:
    """By index of a Python function: its number, and that of the function it was called from."""
    found: dict[int, tuple[int, int | None]] = {}
    running: dict[int, list[tuple[int, int]]] = {}  # tid: (end, number), innermost last
    for index, event in enumerate(events):
        if event.kind != EventKind.PyCall:
            continue
        stack = running.setdefault(event.tid, [])
        while stack and stack[-1][0] <= event.start_ns:
            stack.pop()
        number = len(found) + 1
        found[index] = (number, stack[-1][1] if stack else None)
        stack.append((event.end_ns, number))
    return found
