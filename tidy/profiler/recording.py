"""From what a recorder kept to the events of a trace, in the order in which they began.

Times are Unix time in nanoseconds from here on. An operator's sequence number is the one that its
thread's next node had when the operator began, if it made a node; it is found from the numbers
that operators saw when they ended.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ..trace.kinds import EventKind
from .calls import FrameTexts, shown_path
from .inputs import settle
from .memory import Memory
from .python_functions import PythonRecord
from .recorder import NodeRecord, OpRecord, RangeRecord, Recorder

_RUNS_FIRST = 2**64 - 1  # the sequence number of AccumulateGrad


@dataclass(slots=True)
class RecordedEvent:
    """One event on a host thread.

    `call_stack` is `file(line): function` of the call, "" where it is not known. `forward_thread`
    is PyTorch's small number of the thread that made a backward's node, 0 for all else.
    """

    kind: EventKind
    name: str
    start_ns: int
    end_ns: int
    tid: int
    sequence_nr: int = -1
    forward_thread: int = 0
    signature: Any = None
    call_stack: str = ""
    module_id: int | None = None  # of `nn.Module: Linear_0`: which one it is, from 0


@dataclass(slots=True)
class Recording:
    """All that one recording holds, and which of it was asked for.

    `arrows` are (index of the forward event, index of the backward one).
    """

    events: list[RecordedEvent] = field(default_factory=list)
    memory: list[Memory] = field(default_factory=list)
    arrows: list[tuple[int, int]] = field(default_factory=list)
    thread_names: dict[int, str] = field(default_factory=dict)
    start_ns: int = 0
    end_ns: int = 0
    pid: int = 0


def finish(recorder: Recorder) -> Recording:
    """The recording of a recorder that was stopped."""
    shift = recorder.start_unix_ns - recorder.start_ns
    tids = _Tids(recorder)
    events = _by_start(recorder, tids)
    _number(events, recorder)
    found = [event for event, _ in events]
    arrows = _link(found, recorder)
    for event in found:
        event.start_ns += shift
        event.end_ns += shift
    memory = [
        Memory(*change)._replace(time_ns=change[0] + shift, ident=tids[change[1]])
        for change in sorted(recorder.memory.changes if recorder.memory else ())
    ]
    names = {tid: recorder.thread_names.get(tid, f"thread {tid}") for tid in tids.values()}
    start, end = recorder.start_ns + shift, recorder.end_ns + shift
    return Recording(found, memory, arrows, names, start, end, os.getpid())


class _Tids(dict[int, int]):
    """The system's number of a thread; that of Python for one that has ended."""

    def __init__(self, recorder: Recorder) -> None:
        self._native = recorder.native_ids

    def __missing__(self, ident: int) -> int:
        self[ident] = tid = self._native.get(ident) or ident % 2**31
        return tid


Numbered = tuple[RecordedEvent, Any]  # and the record that it was made of


def _by_start(recorder: Recorder, tids: _Tids) -> list[Numbered]:
    small: dict[int, int] = {recorder.home: 1}
    events: list[Numbered] = []
    frames = FrameTexts()
    for record in list(recorder.records):
        if isinstance(record, RangeRecord):
            events.append((_of_range(record, tids, frames), record))
        elif len(record) == len(NodeRecord._fields):
            node = NodeRecord(*record)
            thread = small.setdefault(node.forward_ident, len(small) + 1)
            outer, inner = _of_node(node, tids, thread)
            events += ((outer, None), (inner, node))
        else:
            op = OpRecord(*record)
            event = RecordedEvent(
                EventKind.TorchOp, op.name, op.start_ns, op.end_ns, tids[op.ident]
            )
            event.call_stack = frames.of(op.place)
            event.signature = None if op.signature is None else settle(op.signature)
            events.append((event, op))
    counts: Counter[str] = Counter()
    modules: dict[tuple[str, int], int] = {}
    for each in sorted(recorder.python_records, key=lambda r: r.start_ns):
        events.append((_of_python(each, tids, counts, modules), None))
    # Of those that begin at one time the longest is outermost.
    return sorted(events, key=lambda pair: (pair[0].start_ns, -pair[0].end_ns))


def _of_range(record: RangeRecord, tids: _Tids, frames: FrameTexts) -> RecordedEvent:
    name, start, end, ident, _, args, place = record
    event = RecordedEvent(EventKind.Annotation, name, start, end, tids[ident])
    event.call_stack = frames.of(place)
    event.signature = args or None
    return event


def _of_node(node: NodeRecord, tids: _Tids, thread: int) -> tuple[RecordedEvent, RecordedEvent]:
    number = -1 if node.sequence_nr == _RUNS_FIRST else node.sequence_nr
    outer = f"autograd::engine::evaluate_function: {node.name}"
    both = [
        RecordedEvent(EventKind.TorchOp, name, node.start_ns, end, tids[node.ident], number, thread)
        for name, end in ((outer, node.end_ns), (node.name, node.applied_ns))
    ]
    both[1].signature = node.signature
    return both[0], both[1]


def _of_python(
    record: PythonRecord,
    tids: _Tids,
    counts: Counter[str],
    modules: dict[tuple[str, int], int],
) -> RecordedEvent:
    code = record.code
    name = f"{shown_path(code.co_filename)}({code.co_firstlineno}): {code.co_name}"
    number = None
    if record.module is not None:
        if record.module not in modules:
            modules[record.module] = counts[record.module[0]]
            counts[record.module[0]] += 1
        number = modules[record.module]
        name = f"nn.Module: {record.module[0]}_{number}"
    tid = tids[record.ident]
    event = RecordedEvent(EventKind.PyCall, name, record.start_ns, record.end_ns, tid)
    event.module_id = number
    return event


def _number(events: list[Numbered], recorder: Recorder) -> None:
    """Give each operator that made a node the sequence number of the first one it made."""
    seen: dict[int, list[tuple[int, int]]] = {}  # thread: (end of a call, next number then)
    for _, record in events:
        if record is not None:
            at = (record.end_ns, record.next_sequence_nr)
            seen.setdefault(record.ident, []).append(at)
    ends: dict[int, tuple[list[int], list[int]]] = {}
    for ident, pairs in seen.items():
        pairs.sort()
        ends[ident] = [end for end, _ in pairs], [number for _, number in pairs]
    for event, record in events:
        if not isinstance(record, OpRecord):
            continue
        times, numbers = ends[record.ident]
        before = bisect_right(times, record.start_ns) - 1
        if before >= 0:
            number = numbers[before]
        elif record.ident == recorder.home:
            number = recorder.home_sequence_nr
        elif record.ident not in recorder.known_idents:
            number = 0  # a thread begins with it
        else:
            continue
        if record.next_sequence_nr > number:
            event.sequence_nr = number


def _link(events: list[RecordedEvent], recorder: Recorder) -> list[tuple[int, int]]:
    """Arrows from forward to backward, along which the lines of calls go too.

    Where several forward operators share a number (`aten::linear`, `aten::t` within it) the last to
    begin made the node (PyTorch PR #62553).
    """
    forward: dict[int, dict[int, int]] = {}  # tid: sequence number: index
    arrows: list[tuple[int, int]] = []
    tid_of = _forward_tids(recorder)
    until: dict[int, tuple[int, str]] = {}  # tid: end of the backward node that runs, its line
    for index, event in enumerate(events):
        if event.kind != EventKind.TorchOp:
            continue
        if event.forward_thread:
            source = forward.get(tid_of.get(event.forward_thread, -1), {}).get(event.sequence_nr)
            if source is not None:
                event.call_stack = events[source].call_stack
                until[event.tid] = (event.end_ns, event.call_stack)
                if not event.name.startswith("autograd::engine::"):
                    arrows.append((source, index))
            continue
        if not event.call_stack and event.tid in until:
            end, stack = until[event.tid]
            if event.end_ns <= end:
                event.call_stack = stack
        if event.sequence_nr >= 0:
            forward.setdefault(event.tid, {})[event.sequence_nr] = index
    return arrows


def _forward_tids(recorder: Recorder) -> dict[int, int]:
    tids = _Tids(recorder)
    small: dict[int, int] = {recorder.home: 1}
    for record in recorder.records:
        if not isinstance(record, RangeRecord) and len(record) == len(NodeRecord._fields):
            small.setdefault(record[7], len(small) + 1)
    return {number: tids[ident] for ident, number in small.items()}
